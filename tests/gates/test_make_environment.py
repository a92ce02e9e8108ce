"""What `make` does with names that users give: an empty one is refused, and no text of theirs is run by a shell."""

import os
import re
import subprocess
from pathlib import Path

import pytest

from tests.assembly import PROJECT

RECIPE = re.compile(r"^([a-z][a-z-]*):[^=\n]*\n((?:\t.*\n)+)", re.MULTILINE)
OWN = re.findall(r"^(?:override |export )*([A-Z_]+) *:?=", (PROJECT / "Makefile").read_text(), re.MULTILINE)
"""The variables that the Makefile sets."""

OF_ENVIRONMENTS = [
    target for target, recipe in RECIPE.findall((PROJECT / "Makefile").read_text()) if "ENVIRONMENT" in recipe
]
WITHOUT_A_NAME = {
    "rehearse": "rehearse --environment default",
    "review": "judge -- default",
}
"""What runs when no name is given, where nothing is changed, deleted or paid for."""

HOSTILE = """$(shell touch made) $(touch made) `touch made` '"; touch made; " a  b"""


def make(folder: Path, target: str, *variables: str, **environment: str) -> subprocess.CompletedProcess[str]:
    command = ["make", "--file", str(PROJECT / "Makefile"), "--assume-old", "setup", target, *variables]
    kept = {name: value for name, value in os.environ.items() if name in {"PATH", "HOME", "JSII_RUNTIME_PACKAGE_CACHE"}}
    return subprocess.run(command, cwd=folder, env=kept | environment, capture_output=True, text=True, check=False)


@pytest.fixture
def real(tmp_path: Path) -> Path:
    """A folder with the project's files and programs in it, but nothing that an earlier run wrote."""
    for entry in (".venv", ".tools", "node_modules", "bin", "app.py", "cdk.json", "environments"):
        (tmp_path / entry).symlink_to(PROJECT / entry)
    return tmp_path


@pytest.fixture
def noted(tmp_path: Path) -> Path:
    """A folder in which every program writes down its arguments, one on a line."""
    (tmp_path / "environments").mkdir()
    (tmp_path / "environments" / "default.yaml").touch()
    programs = [tmp_path / ".venv" / "bin" / "python", tmp_path / ".venv" / "bin" / "slipway"]
    for program in (*programs, tmp_path / "node_modules" / ".bin" / "cdk"):
        program.parent.mkdir(parents=True, exist_ok=True)
        program.write_text('#!/bin/sh\nprintf "%s\\n" "$@" >> asked\n')
        program.chmod(0o755)
    return tmp_path


def test_the_targets_are_found() -> None:
    assert {"destroy", "cost", "diff", "review", "rehearse"} <= set(OF_ENVIRONMENTS)


@pytest.mark.parametrize("target", OF_ENVIRONMENTS)
@pytest.mark.parametrize("name", ["", " "])
def test_an_empty_name_is_refused(real: Path, target: str, name: str) -> None:
    run = make(real, target, f"ENVIRONMENT={name}")

    assert run.returncode == 2, run.stdout
    assert "empty" in run.stderr or "no environment ''" in run.stderr or "no environment ' '" in run.stderr
    assert "Traceback" not in run.stderr
    assert not list(real.glob(".plan/*"))


@pytest.mark.parametrize("target", [target for target in OF_ENVIRONMENTS if target not in WITHOUT_A_NAME])
def test_no_name_is_as_an_empty_one(noted: Path, target: str) -> None:
    make(noted, target)

    (named,) = {line for line in (noted / "asked").read_text().splitlines() if not line or "environment=" in line}
    assert named.removeprefix("environment=") == ""


@pytest.mark.parametrize(("target", "runs"), WITHOUT_A_NAME.items())
def test_what_changes_nothing_needs_no_name(noted: Path, target: str, runs: str) -> None:
    make(noted, target)

    assert runs in (noted / "asked").read_text().replace("\n", " ")


@pytest.mark.parametrize("target", OF_ENVIRONMENTS)
@pytest.mark.parametrize("from_shell", [False, True])
def test_no_name_is_run_or_taken_apart(noted: Path, target: str, from_shell: bool) -> None:
    names = {"ENVIRONMENT": HOSTILE, "BASE": HOSTILE, "FAIL_ON": HOSTILE}
    run = make(noted, target, **names) if from_shell else make(noted, target, *(f"{k}={v}" for k, v in names.items()))

    asked = (noted / "asked").read_text().splitlines()
    assert not (noted / "made").exists(), run.stderr
    assert HOSTILE in [line.removeprefix("environment=") for line in asked]


@pytest.mark.parametrize("target", ["cost", "diff"])
def test_a_run_leaves_no_folder_and_writes_nowhere_else(noted: Path, target: str) -> None:
    make(noted, target, "ENVIRONMENT=default")
    assert list((noted / ".plan").iterdir()) == []
    (noted / ".plan").rmdir()
    (noted / ".plan").touch()
    (noted / "asked").unlink()

    run = make(noted, target, "ENVIRONMENT=default")

    assert run.returncode == 2
    assert "Not a directory" in run.stderr
    assert not (noted / "asked").exists()


def test_no_name_in_a_target_is_run(noted: Path) -> None:
    make(noted, "rehearse-$(touch made)")

    assert not (noted / "made").exists()
    assert (noted / "asked").read_text().splitlines()[-1] == "$(touch made)"


def test_no_name_of_a_file_is_run(noted: Path) -> None:
    (noted / "environments" / "$(touch made).yaml").touch()
    (noted / "environments" / "a b.yaml").touch()

    make(noted, "review")

    asked = (noted / "asked").read_text().splitlines()
    assert not (noted / "made").exists()
    assert asked[2:5] == ["$(touch made)", "a b", "default"]


def test_nothing_is_planned_when_a_name_is_wrong(real: Path) -> None:
    (real / "environments").unlink()
    (real / "environments").mkdir()
    (real / "environments" / "$(touch made).yaml").touch()

    run = make(real, "review")

    assert run.returncode == 2
    assert "'environments/$(touch made).yaml' is not a name for an environment file" in run.stderr
    assert not list(real.glob(".plan/*"))


@pytest.mark.parametrize(
    "name", [*sorted({*OWN} - {"PATH", "SHELL"}), "ENVIRONMENT", "BASE", "FAIL_ON", "MAKEFILE_LIST"]
)
@pytest.mark.parametrize("from_shell", [False, True])
def test_no_variable_is_text_of_a_recipe(name: str, from_shell: bool) -> None:
    """As when a build server passes on what somebody gave it: `make test-slurm VENV="$VENV"`."""
    targets = {target for target, _ in RECIPE.findall((PROJECT / "Makefile").read_text())}
    command = ["make", "--file", str(PROJECT / "Makefile"), "--dry-run", "--always-make", "--keep-going", *targets]
    kept = {"PATH": os.environ["PATH"], **({name: HOSTILE} if from_shell else {})}
    given = () if from_shell else (f"{name}={HOSTILE}",)
    run = subprocess.run([*command, *given], cwd=PROJECT, env=kept, capture_output=True, text=True, check=False)

    assert "slipway destroy" in run.stdout
    assert "touch made" not in run.stdout
    assert not (PROJECT / "made").exists()


@pytest.mark.parametrize("name", ["python; touch made", "$(touch made)", "no such python"])
def test_no_name_of_an_interpreter_is_run_by_a_shell(tmp_path: Path, name: str) -> None:
    (tmp_path / "locks").mkdir()
    for packages in ("requirements-uv", "requirements", "requirements-node"):
        (tmp_path / "locks" / f"{packages}.txt").touch()
    (tmp_path / "pyproject.toml").touch()

    run = make(tmp_path, ".venv/.runtime", f"PYTHON={name}")

    assert run.returncode == 2
    assert "not found" in run.stderr or "No such file" in run.stderr
    assert not (tmp_path / "made").exists()


@pytest.mark.parametrize("variable", ["VENV=/", "BIN=/"])
def test_no_variable_leads_out_of_the_project(noted: Path, variable: str) -> None:
    command = ["make", "--file", str(PROJECT / "Makefile"), "--dry-run", "--no-print-directory", "clean", variable]
    said = subprocess.run(command, cwd=noted, capture_output=True, text=True, check=True).stdout

    assert said.startswith("rm -rf .venv ")


@pytest.mark.parametrize("from_shell", [False, True])
def test_no_name_of_a_training_stack_is_run_or_taken_apart(noted: Path, from_shell: bool) -> None:
    variables, environment = ((), {"STACK": HOSTILE}) if from_shell else ((f"STACK={HOSTILE}",), {})
    run = make(noted, "training-lock", *variables, **environment)

    assert (noted / "asked").read_text().splitlines() == ["-m", "slipway.training_lock", HOSTILE], run.stderr
    assert not (noted / "made").exists()


@pytest.mark.parametrize(("variables", "message"), [((), "Which training stack?"), (("STACK=no-such",), "no-such")])
def test_a_training_stack_is_asked_for(real: Path, variables: tuple[str, ...], message: str) -> None:
    run = make(real, "training-lock", *variables)

    assert run.returncode == 2
    assert message in run.stderr
    assert "Traceback" not in run.stderr
