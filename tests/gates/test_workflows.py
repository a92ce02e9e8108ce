"""Our workflows, and those that `slipway init` writes: the linters are clean, and they can do no more than they say."""

import os
import re
import subprocess
import sys
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any, NamedTuple

import pytest
import yaml
from typer.main import get_command

from slipway.cli import app
from tests.assembly import PROJECT

WRITTEN = PROJECT / "slipway" / "start" / "templates" / "workflows"
FILES = [*sorted((PROJECT / ".github" / "workflows").glob("*.yaml")), *sorted(WRITTEN.glob("*.yaml"))]
PROGRAMS = Path(sys.executable).parent
PINNED = re.compile(r"[\w-]+/[\w-]+@[0-9a-f]{40} # v\d+\.\d+\.\d+")


def name_of(file: Path) -> str:
    """`deploy` is ours, `written deploy` is the one that `slipway init` writes."""
    return f"written {file.stem}" if file.parent == WRITTEN else file.stem


each_file = pytest.mark.parametrize("file", FILES, ids=name_of)


class Step(NamedTuple):
    """A step of a workflow that runs something in a shell."""

    workflow: str
    name: str
    script: str
    variables: Mapping[str, str]


def workflow(file: Path) -> dict[str, Any]:
    # `on` is true to YAML 1.1.
    content: dict[str, Any] = yaml.safe_load(file.read_text())
    return content


def steps() -> Iterator[Step]:
    for file in FILES:
        for job in workflow(file)["jobs"].values():
            for step in job["steps"]:
                if "run" in step:
                    yield Step(name_of(file), step.get("name", ""), step["run"], step.get("env", {}))


def script(name: str, of: str) -> str:
    """The script of the step with this name: it is the same in every job that has one."""
    (found,) = {step.script for step in steps() if (step.workflow, step.name) == (of, name)}
    return found


def actionlint(file: Path) -> subprocess.CompletedProcess[str]:
    command = [str(PROGRAMS / "actionlint"), "-no-color", "-shellcheck", str(PROGRAMS / "shellcheck"), str(file)]
    return subprocess.run(command, capture_output=True, text=True, check=False)


def test_all_are_there() -> None:
    assert [name_of(file) for file in FILES] == [
        *("ci", "deploy", "destroy", "nightly", "pages", "release", "review"),
        *("written deploy", "written destroy", "written review"),
    ]


@pytest.mark.skipif(sys.platform != "linux", reason="actionlint's package has programs for Linux and Windows only")
@each_file
def test_actionlint_and_shellcheck_are_clean(file: Path) -> None:
    run = actionlint(file)

    assert run.stdout + run.stderr == ""
    assert run.returncode == 0


@pytest.mark.skipif(sys.platform != "linux", reason="actionlint's package has programs for Linux and Windows only")
def test_actionlint_and_shellcheck_would_find_something(tmp_path: Path) -> None:
    broken = tmp_path / "broken.yaml"
    broken.write_text(
        "on: push\njobs:\n  one:\n    runs-on: ubuntu-24.04\n    steps:\n"
        "      - run: echo ${{ github.event.head_commit.message }}\n      - run: rm -rf $FOLDER/*\n"
    )
    run = actionlint(broken)

    assert "potentially untrusted" in run.stdout
    assert "SC2086" in run.stdout


@each_file
def test_every_action_is_pinned_to_a_commit_with_its_version(file: Path) -> None:
    uses = re.findall(r"uses: (.+)", file.read_text())

    assert [line for line in uses if not PINNED.fullmatch(line)] == []


def test_an_action_has_one_version() -> None:
    lines = {line for file in FILES for line in re.findall(r"uses: (.+)", file.read_text())}
    actions = [line.partition("@")[0] for line in lines]

    assert sorted(actions) == sorted(set(actions))


@each_file
def test_no_secret_and_no_trigger_that_gives_strangers_one(file: Path) -> None:
    text = file.read_text()

    assert "pull_request_target" not in text
    assert "workflow_run" not in text
    assert re.findall(r"secrets\s*[.\[:]", text) == []
    assert re.findall(r"AKIA|aws-access-key|aws-secret", text) == []


@each_file
def test_permissions_are_the_least(file: Path) -> None:
    content = workflow(file)
    granted = {
        (name, permission, access)
        for name, job in content["jobs"].items()
        for permission, access in job.get("permissions", content["permissions"]).items()
        if (permission, access) != ("contents", "read")
    }

    expected = {
        "review": {("comment", "pull-requests", "write")},
        "deploy": {("deploy", "id-token", "write")},
        "destroy": {("destroy", "id-token", "write")},
        "ci": set(),
        "nightly": set(),
        "release": {("publish", access, "write") for access in ("contents", "id-token", "attestations")},
        "pages": {("publish", "pages", "write"), ("publish", "id-token", "write")},
        "written review": set(),
        "written deploy": {("deploy", "id-token", "write")},
        "written destroy": {("destroy", "id-token", "write")},
    }
    assert granted == expected[name_of(file)]


@each_file
def test_no_token_stays_in_the_checkout_and_no_job_runs_for_ever(file: Path) -> None:
    for job in workflow(file)["jobs"].values():
        assert job["timeout-minutes"] <= 180
        for step in job["steps"]:
            if step.get("uses", "").startswith("actions/checkout@"):
                assert step["with"]["persist-credentials"] is False


def test_no_expression_stands_in_a_script() -> None:
    assert [step for step in steps() if "${{" in step.script] == []


def test_who_can_write_does_not_run_the_code_of_a_pull_request() -> None:
    job = workflow(PROJECT / ".github" / "workflows" / "review.yaml")["jobs"]["comment"]

    checkout = job["steps"][0]
    assert checkout["with"]["ref"] == "${{ github.event.pull_request.base.sha }}"
    assert "head.repo.full_name == github.repository" in job["if"]


def test_no_other_job_passes_for_the_review() -> None:
    """Branch rules know a required check by the job's name alone, in whichever workflow it ran."""
    for files in (FILES[:-3], FILES[-3:]):
        names = [job.get("name", key) for file in files for key, job in workflow(file)["jobs"].items()]

        assert names.count("plan") == 1


@pytest.mark.parametrize("planned", [("default", "team"), ()])
def test_the_comment_is_given_all_plans_also_when_there_is_none(planned: tuple[str, ...], tmp_path: Path) -> None:
    review = tmp_path / ".plan" / "review"
    review.mkdir(parents=True)
    for name in planned:
        (review / f"{name}.json").touch()
    python = tmp_path / "bin" / "python3"
    python.parent.mkdir()
    python.write_text('#!/bin/sh\necho "$@"\n')
    python.chmod(0o755)

    run = in_runner(
        script("Comment", "review"), tmp_path, {"PATH": f"{python.parent}:{os.environ['PATH']}", "NUMBER": "7"}
    )

    files = [f".plan/review/{name}.json" for name in planned]
    assert run.stdout.split() == ["-m", "slipway.review.comment", "--pull-request", "7", "--all", *files]


@pytest.mark.parametrize("file", [file for file in FILES if file.stem in {"deploy", "destroy"}], ids=name_of)
def test_aws_is_reached_after_an_approval_and_never_cancelled(file: Path) -> None:
    content, name = workflow(file), file.stem
    job = content["jobs"][name]
    environment = "${{ matrix.environment }}" if "strategy" in job else "${{ inputs.environment }}"

    assert content.get("concurrency", job.get("concurrency")) == {
        "group": f"environment-{environment}",
        "cancel-in-progress": False,
    }
    assert job["environment"] == environment
    (credentials,) = (step for step in job["steps"] if "configure-aws-credentials" in step.get("uses", ""))
    assert credentials["with"]["role-to-assume"] == "${{ vars.AWS_DEPLOY_ROLE }}"
    others = [step for key, other in content["jobs"].items() if key != name for step in other["steps"]]
    assert not [step for step in others if "aws-actions" in step.get("uses", "")]


def test_every_make_target_exists() -> None:
    lines = "\n".join(step.script for step in steps())
    matrix = targets_of("ci", "others") + targets_of("nightly", "prove-offline")
    targets = {word for line in re.findall(r"make (.*)", lines) for word in line.split() if re.match(r"[a-z.]", word)}
    for target in sorted(targets | set(matrix)):
        run = subprocess.run(["make", "--dry-run", target], cwd=PROJECT, capture_output=True, text=True, check=False)
        assert run.returncode == 0, run.stderr


def test_ci_runs_all_that_the_ci_script_runs() -> None:
    wanted = set(re.findall(r"(?<=[ \t\n])(?:test|judge|rehearse|docs)[a-z-]*", (PROJECT / ".ci" / "run").read_text()))

    assert wanted == {"test", *targets_of("ci", "others")}


def test_the_nightly_run_has_every_part_of_prove_offline() -> None:
    parts = re.search(r"^prove-offline: (.*?) ##", (PROJECT / "Makefile").read_text(), re.MULTILINE)

    assert parts
    assert parts[1].split() == targets_of("nightly", "prove-offline")


def targets_of(name: str, job: str) -> list[str]:
    """The make targets that a job of a workflow runs side by side."""
    content = workflow(PROJECT / ".github" / "workflows" / f"{name}.yaml")
    found: list[str] = content["jobs"][job]["strategy"]["matrix"]["target"]
    return found


def test_every_command_and_option_of_slipway_exists() -> None:
    group: Any = get_command(app)
    scripts = "\n".join(step.script for step in steps())
    found = re.findall(r"^ *(?:\.venv/bin/)?slipway ([a-z-]+)((?:[^\n\\]|\\\n)*)", scripts, re.MULTILINE)

    assert {name for name, _ in found} == {"plan", "judge", "preflight", "deploy", "destroy", "setup"}
    for name, rest in found:
        known = {option for parameter in group.commands[name].params for option in parameter.opts}
        assert set(re.findall(r"--[a-z-]+", rest)) <= known


each_destroy = pytest.mark.parametrize("of", ["destroy", "written destroy"])


@each_destroy
@pytest.mark.parametrize(("typed", "expected"), [("team", 0), ("teams", 1), ("", 1), ("$(exit 0)", 1)])
def test_a_name_that_is_typed_wrongly_deletes_nothing(of: str, typed: str, expected: int) -> None:
    variables = {"PATH": os.environ["PATH"], "ENVIRONMENT": "team", "CONFIRMATION": typed}
    run = in_runner(script("Compare the names", of), PROJECT, variables)

    assert run.returncode == expected
    assert run.stdout.startswith("::error::") == bool(expected)


@each_destroy
@pytest.mark.parametrize(
    ("ticked", "flags"),
    [
        ({"RUNNING": "", "UNEXPORTED": "", "PROTECTED": ""}, []),
        (
            {"RUNNING": "yes", "UNEXPORTED": "yes", "PROTECTED": "yes"},
            ["--with-running-jobs", "--without-export", "--unprotect"],
        ),
    ],
)
def test_only_what_is_ticked_is_forced(of: str, ticked: dict[str, str], flags: list[str], tmp_path: Path) -> None:
    variables = {"PATH": path_with_slipway(tmp_path, 'echo "$@"'), "ENVIRONMENT": "team", **ticked}

    run = in_runner(script("Destroy", of), tmp_path, variables)

    assert run.stdout.split() == ["destroy", "--environment", "team", "--yes", *flags]


def test_the_summary_shows_every_plan(tmp_path: Path) -> None:
    review = tmp_path / ".plan" / "review"
    review.mkdir(parents=True)
    for name in ("default", "team"):
        (review / f"{name}.md").write_text(f"plan of {name}\n")

    run = summarize(tmp_path)

    assert run.returncode == 0, run.stderr
    assert (tmp_path / "summary").read_text() == "plan of default\nplan of team\n"
    assert (tmp_path / "output").read_text() == "planned=true\n"


def test_the_summary_says_that_nothing_was_planned(tmp_path: Path) -> None:
    run = summarize(tmp_path)

    assert run.returncode == 0, run.stderr
    assert (tmp_path / "summary").read_text() == "No environment was planned.\n"
    assert not (tmp_path / "output").exists()


def summarize(folder: Path) -> subprocess.CompletedProcess[str]:
    variables = {
        "PATH": os.environ["PATH"],
        "GITHUB_STEP_SUMMARY": str(folder / "summary"),
        "GITHUB_OUTPUT": str(folder / "output"),
    }
    return in_runner(script("Summary", "review"), folder, variables)


def path_with_slipway(folder: Path, does: str) -> str:
    """Put a `slipway` that does this where both kinds of workflows look; answer the PATH that finds it."""
    slipway = folder / ".venv" / "bin" / "slipway"
    slipway.parent.mkdir(parents=True)
    slipway.write_text(f"#!/bin/sh\n{does}\n")
    slipway.chmod(0o755)
    return f"{slipway.parent}:{os.environ['PATH']}"


def in_runner(script: str, folder: Path, variables: Mapping[str, str]) -> subprocess.CompletedProcess[str]:
    """Run a step as a runner of GitHub does: bash that ends at the first failure."""
    command = ["bash", "-e", "-c", script]
    return subprocess.run(command, cwd=folder, env=variables, capture_output=True, text=True, check=False)
