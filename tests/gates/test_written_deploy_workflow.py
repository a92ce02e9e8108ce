"""The deploy workflow that `slipway init` writes: what it chooses, plans and deploys; its own scripts run here."""

import json
import os
import subprocess
from pathlib import Path

import pytest

from tests.gates.test_deploy_workflow import git
from tests.gates.test_workflows import WRITTEN, in_runner, path_with_slipway, script, workflow

OF = "written deploy"
JOBS = workflow(WRITTEN / "deploy.yaml")["jobs"]
NO_COMMIT = "0" * 40
"""What GitHub calls the commit before the first push."""


@pytest.fixture
def repository(tmp_path: Path) -> Path:
    """One whose newest commit changes `a`, adds `c` and removes `b`; another before it changes `d`."""
    environments = tmp_path / "repository" / "environments"
    environments.mkdir(parents=True)
    git(environments.parent, "init", "--quiet", "--initial-branch=main")
    for made, gone in (("abd", ""), ("d", ""), ("ac", "b")):
        for name in made:
            (environments / f"{name}.yaml").write_text(f"{len(git_log(environments))}{name}")
        for name in gone:
            (environments / f"{name}.yaml").unlink()
        (environments / "schema.json").write_text(made)
        git(environments, "add", "--all", "..")
        git(environments, "commit", "--quiet", "--message", made)
    return environments.parent


def git_log(folder: Path) -> str:
    return subprocess.run(
        ["git", "-C", str(folder), "log", "--oneline"], capture_output=True, text=True, check=False
    ).stdout


def choose(repository: Path, chosen: str, before: str) -> tuple[list[str], str]:
    """Run the step; answer the environments that it chooses, and what it says."""
    output = repository.parent / "output"
    variables = {"PATH": os.environ["PATH"], "GITHUB_OUTPUT": str(output), "CHOSEN": chosen, "BEFORE": before}
    run = in_runner(script("Choose", OF), repository, variables)
    assert run.returncode == 0, run.stderr
    key, _, found = output.read_text().partition("=")
    assert key == "environments"
    return json.loads(found), run.stdout


@pytest.mark.parametrize(("commits", "expected"), [(1, ["a", "c"]), (2, ["a", "c", "d"])])
def test_a_merge_deploys_the_environments_whose_files_it_changes(
    repository: Path, commits: int, expected: list[str]
) -> None:
    assert choose(repository, "", git(repository, "rev-parse", f"HEAD~{commits}")) == (expected, "")


def test_by_hand_one_environment_is_deployed(repository: Path) -> None:
    assert choose(repository, "d", "") == (["d"], "")


def test_a_first_push_deploys_nothing(repository: Path) -> None:
    chosen, said = choose(repository, "", NO_COMMIT)

    assert chosen == []
    assert said.startswith("::notice::Nothing is deployed")
    conditions = [step.get("if") for step in JOBS["synthesize"]["steps"] if step.get("id") == "pack"]
    assert conditions == ["${{ steps.choose.outputs.environments != '[]' }}"]
    assert JOBS["deploy"]["if"] == "${{ needs.synthesize.outputs.environments != '[]' }}"


def plan(folder: Path, before: str, does: str) -> subprocess.CompletedProcess[str]:
    variables = {
        **{"PATH": path_with_slipway(folder, does), "GITHUB_SHA": "c0ffee", "GITHUB_STEP_SUMMARY": f"{folder}/summary"},
        **{"ENVIRONMENTS": '["a", "c"]', "BEFORE": before},
    }
    return in_runner(script("Judge and plan", OF), folder, variables)


@pytest.mark.parametrize(("before", "base"), [("b4", " --base b4"), ("", "")])
def test_each_is_judged_and_planned_against_what_was_before(tmp_path: Path, before: str, base: str) -> None:
    run = plan(tmp_path, before, 'echo "$@" >> asked; echo "plan of $3" > plan.md')

    assert run.returncode == 0, run.stderr
    assert (tmp_path / "asked").read_text().splitlines() == [
        line for name in "ac" for line in (f"judge {name}", f"plan -e {name}{base} --markdown plan.md")
    ]
    assert (tmp_path / "summary").read_text().splitlines()[1:] == ["plan of a", "plan of c"]


@pytest.mark.parametrize("command", ["judge", "plan"])
def test_what_is_refused_is_not_deployed(tmp_path: Path, command: str) -> None:
    assert plan(tmp_path, "", f'touch plan.md; test "$1" != {command}').returncode == 1


def test_what_was_planned_is_deployed_and_nothing_else(tmp_path: Path) -> None:
    head = tmp_path / "one" / ".plan" / "plans" / "a" / "head"
    head.mkdir(parents=True)
    (head / "node.sh").write_text("#!/bin/sh\n")
    (head / "node.sh").chmod(0o755)
    variables = {"PATH": os.environ["PATH"], "GITHUB_OUTPUT": str(tmp_path / "output")}
    packed = in_runner(script("Pack", OF), tmp_path / "one", variables)
    assert packed.returncode == 0, packed.stderr
    digest = (tmp_path / "output").read_text().removeprefix("digest=").strip()
    other = tmp_path / "two"
    (other / "artifact").mkdir(parents=True)
    archive = other / "artifact" / "assemblies.tar"
    archive.write_bytes((tmp_path / "one" / "assemblies.tar").read_bytes())

    unpacked = in_runner(script("Verify and unpack", OF), other, variables | {"DIGEST": digest})

    assert unpacked.returncode == 0, unpacked.stderr
    assert os.access(other / "artifact" / "a" / "head" / "node.sh", os.X_OK)
    path = path_with_slipway(other, 'echo "$@" >> asked; test -x "$3/node.sh"')
    deployed = in_runner(script("Deploy", OF), other, {"PATH": path, "ENVIRONMENT": "a"})
    assert deployed.returncode == 0, deployed.stderr
    assert (other / "asked").read_text().splitlines() == [
        "preflight --assembly artifact/a/head",
        "deploy --assembly artifact/a/head",
    ]
    archive.write_bytes(archive.read_bytes() + b"\0")
    refused = in_runner(script("Verify and unpack", OF), other, variables | {"DIGEST": digest})
    assert refused.returncode == 1
    assert "FAILED" in refused.stdout


def test_it_is_verified_before_there_are_credentials() -> None:
    steps = [step.get("name") or step["uses"].partition("@")[0] for step in JOBS["deploy"]["steps"]]

    assert steps.index("Verify and unpack") < steps.index("aws-actions/configure-aws-credentials")
    assert steps[-1] == "Deploy"
