"""The deploy workflow deploys what `synthesize` made: its own scripts run here, with an attacker between them."""

import io
import json
import os
import shutil
import subprocess
import tarfile
from pathlib import Path
from typing import Any

import pytest
import yaml

from tests.assembly import PROJECT
from tests.gates.test_workflows import in_runner, script

JOBS: dict[str, Any] = yaml.safe_load((PROJECT / ".github" / "workflows" / "deploy.yaml").read_text())["jobs"]
VERIFY = "Verify and unpack the assembly"
OF_SYNTHESIZE = "${{ needs.synthesize.outputs.digest }}"
TEMPLATE = "training.template.json"


@pytest.fixture
def machine(tmp_path: Path) -> Path:
    """The folder of `synthesize` after its synth: an assembly with a script that must stay executable."""
    head = tmp_path / "synthesize" / ".plan" / "plans" / "team" / "head"
    (head / "asset").mkdir(parents=True)
    (head / "asset" / "node.sh").write_text("#!/bin/sh\n")
    (head / "asset" / "node.sh").chmod(0o755)
    (head / TEMPLATE).write_text('{"Resources": {}}')
    return tmp_path / "synthesize"


def variables(folder: Path, **more: str) -> dict[str, str]:
    files = {"GITHUB_OUTPUT": f"{folder}/output", "GITHUB_STEP_SUMMARY": f"{folder}/summary", "GITHUB_SHA": "c0ffee"}
    return {"PATH": os.environ["PATH"], "ENVIRONMENT": "team", **files, **more}


def pack(machine: Path) -> str:
    """Run the job's last step and return its output."""
    run = in_runner(script("Pack", "deploy"), machine, variables(machine))
    assert run.returncode == 0, run.stderr
    return (machine / "output").read_text().removeprefix("digest=").strip()


def unpack(machine: Path, archive: Path, digest: str) -> subprocess.CompletedProcess[str]:
    """Verify an archive on another machine, as `compare` and `deploy` do."""
    other = machine.parent / "deploy"
    (other / "artifact").mkdir(parents=True)
    shutil.copy(archive, other / "artifact" / "assembly.tar")
    return in_runner(script(VERIFY, "deploy"), other, variables(other, DIGEST=digest))


def step(job: str, part: str) -> int:
    """The place of a job's step that has this in its name, script or action."""
    (found,) = (
        i for i, step in enumerate(JOBS[job]["steps"]) if part in json.dumps([step.get("name"), step.get("uses")])
    )
    return found


def test_what_was_synthesized_is_what_is_deployed(machine: Path) -> None:
    digest = pack(machine)
    run = unpack(machine, machine / "assembly.tar", digest)

    assert run.returncode == 0, run.stderr
    head = machine.parent / "deploy" / "head"
    assert (head / TEMPLATE).read_text() == '{"Resources": {}}'
    assert os.access(head / "asset" / "node.sh", os.X_OK)
    assert f"`sha256:{digest}`" in (machine / "summary").read_text()
    assert "--app head " in script("Deploy", "deploy")
    assert "--assembly head" in script("Preflight", "deploy")


def test_the_same_files_have_the_same_digest(machine: Path) -> None:
    first = pack(machine)
    os.utime(machine / ".plan" / "plans" / "team" / "head" / TEMPLATE, (1, 1))
    (machine / "output").unlink()

    assert pack(machine) == first


def with_an_administrator(file: tarfile.TarFile) -> None:
    role = {"Type": "AWS::IAM::Role", "Properties": {"AssumeRolePolicyDocument": {"Statement": [
        {"Effect": "Allow", "Action": "sts:AssumeRole", "Principal": {"AWS": "arn:aws:iam::999999999999:root"}}
    ]}, "ManagedPolicyArns": ["arn:aws:iam::aws:policy/AdministratorAccess"]}}  # fmt: skip
    content = json.dumps({"Resources": {"Evil": role}}).encode()
    member = tarfile.TarInfo(f"./{TEMPLATE}")
    member.size = len(content)
    file.addfile(member, io.BytesIO(content))


def with_another_mode(file: tarfile.TarFile) -> None:
    member = tarfile.TarInfo("./asset/node.sh")
    member.mode = 0o644
    file.addfile(member)


def with_an_absolute_path(file: tarfile.TarFile) -> None:
    file.addfile(tarfile.TarInfo("/tmp/slipway-evil"))


def with_a_path_out_of_the_folder(file: tarfile.TarFile) -> None:
    file.addfile(tarfile.TarInfo("../slipway-evil"))


def with_a_link_out_of_the_folder(file: tarfile.TarFile) -> None:
    member = tarfile.TarInfo("./out")
    member.type, member.linkname = tarfile.SYMTYPE, "/"
    file.addfile(member)


@pytest.mark.parametrize(
    "change",
    [
        with_an_administrator,
        with_another_mode,
        with_an_absolute_path,
        with_a_path_out_of_the_folder,
        with_a_link_out_of_the_folder,
    ],
)
def test_an_assembly_that_was_exchanged_is_not_unpacked(machine: Path, change: Any) -> None:
    """What the code of the base can do: it has the run's token for artifacts, and writes another assembly."""
    digest = pack(machine)
    with tarfile.open(machine / "assembly.tar", "a") as file:
        change(file)

    run = unpack(machine, machine / "assembly.tar", digest)

    assert run.returncode != 0
    assert "FAILED" in run.stdout
    assert [path.name for path in (machine.parent / "deploy").iterdir()] == ["artifact"]


@pytest.mark.parametrize("digest", ["", "0" * 64, "no digest"])
def test_without_the_digest_nothing_is_unpacked(machine: Path, digest: str) -> None:
    pack(machine)
    assert unpack(machine, machine / "assembly.tar", digest).returncode != 0
    assert not (machine.parent / "deploy" / "head").exists()


def test_nothing_is_unpacked_over_anything(machine: Path) -> None:
    digest = pack(machine)
    (machine.parent / "deploy" / "head").mkdir(parents=True)

    assert unpack(machine, machine / "assembly.tar", digest).returncode != 0


@pytest.mark.parametrize("job", ["compare", "deploy"])
def test_the_digest_is_of_synthesize_and_comes_first(job: str) -> None:
    verify = JOBS[job]["steps"][step(job, VERIFY)]
    later = "Plan" if job == "compare" else "configure-aws-credentials"

    assert verify["env"] == {"DIGEST": OF_SYNTHESIZE}
    assert step(job, VERIFY) < step(job, later)
    assert "if" not in verify
    assert "continue-on-error" not in verify


def test_only_one_job_runs_another_revision_and_nothing_of_it_is_deployed() -> None:
    for name, job in JOBS.items():
        checkouts = [step for step in job["steps"] if "actions/checkout" in step.get("uses", "")]
        assert not [step for step in checkouts if "ref" in step["with"]]
        assert ("git checkout" in json.dumps(job)) == (name == "base")
        assert "--base" not in json.dumps(job)
    assert set(JOBS["base"]) == {"if", "runs-on", "timeout-minutes", "permissions", "steps"}
    assert "needs" not in JOBS["synthesize"]
    assert JOBS["deploy"]["needs"] == ["synthesize", "compare"]
    assert "needs.compare.result == 'success'" in JOBS["deploy"]["if"]
    assert "artifact/assembly.tar" in script(VERIFY, "deploy")


def test_an_artifact_is_laid_beside_our_files_not_over_them() -> None:
    """One that was exchanged may hold `.venv/bin/slipway`."""
    tracked = subprocess.run(["git", "ls-files"], cwd=PROJECT, capture_output=True, text=True, check=True).stdout
    ours = {line.partition("/")[0] for line in tracked.splitlines()} | {".venv", "node_modules", ".tools"}
    downloads = [
        step["with"] for job in JOBS.values() for step in job["steps"] if "download-artifact" in step.get("uses", "")
    ]

    assert len(downloads) == 3
    assert all(download["path"] not in ours for download in downloads)
    assert "base" not in [download["name"] for download in downloads[2:]]


def git(folder: Path, *arguments: str) -> str:
    identity = ("-c", "user.name=Test", "-c", "user.email=test@example.com")
    command = ["git", "-C", str(folder), *identity, *arguments]
    return subprocess.run(command, capture_output=True, text=True, check=True).stdout.strip()


@pytest.fixture
def checkout(tmp_path: Path) -> Path:
    """A clone as `actions/checkout` makes it: `main` has two commits, and `attack` one that nobody reviewed."""
    origin = tmp_path / "origin"
    origin.mkdir()
    git(origin, "init", "--quiet", "--initial-branch=main")
    for branch, word in (("main", "first"), ("main", "second"), ("attack", "evil")):
        if branch == "attack":
            git(origin, "checkout", "--quiet", "-b", branch)
        (origin / "app.py").write_text(word)
        git(origin, "add", ".")
        git(origin, "commit", "--quiet", "-m", word)
        git(origin, "tag", word)
    git(origin, "checkout", "--quiet", "main")
    git(tmp_path, "clone", "--quiet", str(origin), "checkout")
    return tmp_path / "checkout"


def take(checkout: Path, deployed: str) -> subprocess.CompletedProcess[str]:
    given = variables(checkout, DEPLOYED=deployed, PROTECTED="main")
    return in_runner(script("Take the deployed revision", "deploy"), checkout, given)


@pytest.mark.parametrize("deployed", ["first", "origin/main~1", "main~1"])
def test_a_base_of_the_protected_branch_is_taken(checkout: Path, deployed: str) -> None:
    run = take(checkout, deployed)

    assert run.returncode == 0, run.stdout + run.stderr
    assert (checkout / "app.py").read_text() == "first"


@pytest.mark.parametrize(
    ("deployed", "said"),
    [
        ("evil", "is not in main: nobody reviewed its code"),
        ("origin/attack", "is not in main: nobody reviewed its code"),
        ("no-such", "There is no such revision"),
        ("--output=made", "There is no such revision"),
        ("$(touch made)", "There is no such revision"),
    ],
)
def test_a_base_that_nobody_reviewed_is_refused(checkout: Path, deployed: str, said: str) -> None:
    run = take(checkout, deployed)

    assert run.returncode == 1
    assert said in run.stdout
    assert (checkout / "app.py").read_text() == "second"
    assert not (checkout / "made").exists()


def test_the_plan_shows_the_digest_and_compares_with_the_base(tmp_path: Path) -> None:
    slipway = tmp_path / ".venv" / "bin" / "slipway"
    slipway.parent.mkdir(parents=True)
    slipway.write_text('#!/bin/sh\necho "$@" > asked\necho the plan > plan.md\n')
    slipway.chmod(0o755)

    run = in_runner(script("Plan", "deploy"), tmp_path, variables(tmp_path, DIGEST="d1", DEPLOYED="v1"))

    assert run.returncode == 0, run.stderr
    assert (tmp_path / "asked").read_text().startswith("plan --assembly head --against base ")
    summary = (tmp_path / "summary").read_text()
    assert summary == "Commit `c0ffee` compared with `v1`: assembly `sha256:d1`\n\nthe plan\n"


@pytest.mark.parametrize(("code", "expected"), [(0, 0), (1, 0), (2, 1)])
def test_a_base_with_findings_is_compared_and_one_without_an_assembly_stops(
    tmp_path: Path, code: int, expected: int
) -> None:
    slipway = tmp_path / ".venv" / "bin" / "slipway"
    slipway.parent.mkdir(parents=True)
    slipway.write_text(f"#!/bin/sh\nmkdir -p .plan/plans/team/head\nexit {code}\n")
    slipway.chmod(0o755)

    run = in_runner(script("Synthesize the deployed revision", "deploy"), tmp_path, variables(tmp_path))

    assert run.returncode == expected
    assert run.stdout.startswith("::error::") == bool(expected)
    assert (tmp_path / "base").is_dir() == (not expected)
