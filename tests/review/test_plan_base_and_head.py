"""The two sides of a plan, with a small app in the place of the CDK's: whose code runs, and what is left behind."""

import json
import os
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

import pytest

from slipway.assembly.synthesis import start_synthesis
from slipway.errors import FailedError
from slipway.review import base_and_head
from slipway.review.base_and_head import Question, synthesized
from slipway.review.errors import NotPlannedError

# Writes whose packages it got; `slipway` and `neuron_constructs` are installed in this environment too.
APP = """
import json, os, sys
from pathlib import Path
import slipway.word, neuron_constructs
choice = json.loads(os.environ["CDK_CONTEXT_JSON"])["environment"]
said = Path(choice if choice.endswith(".yaml") else f"environments/{choice}.yaml").read_text()
if said.startswith("broken"):
    sys.exit(f"{choice}:1:1: what is this")
folder = Path(os.environ["CDK_OUTDIR"])
folder.mkdir()
(folder / "said").write_text(f"{slipway.word.WORD} {neuron_constructs.WORD} {said.strip()}")
if said.startswith("open"):
    (folder / "validation-report.json").write_text("{}")
    sys.exit("ValidationFailed")
"""


def git(folder: Path, *arguments: str) -> None:
    identity = ("-c", "user.name=Test", "-c", "user.email=test@example.com")
    subprocess.run(["git", "-C", folder, *identity, *arguments], capture_output=True, check=True)


def say(project: Path, word: str) -> None:
    """Let all code and the environment of the project say a word."""
    (project / "slipway" / "word.py").write_text(f"WORD = {word!r}\n")
    (project / "constructs" / "neuron_constructs" / "__init__.py").write_text(f"WORD = {word!r}\n")
    (project / "environments" / "default.yaml").write_text(f"{word}\n")


def cannot_be_installed(requirements: bytes) -> Path:
    raise FailedError(f"there is no {requirements.decode().strip()}")


@pytest.fixture
def project(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    project = tmp_path / "project"
    for folder in ("slipway", "constructs/neuron_constructs", "environments", ".venv"):
        (project / folder).mkdir(parents=True)
    (project / "slipway" / "__init__.py").touch()
    (project / "app.py").write_text(APP)
    (project / "cdk.json").write_text(json.dumps({"app": f"{sys.executable} app.py"}))
    (project / "requirements.txt").write_text("one==1\n")
    (project / ".gitignore").write_text("__pycache__/\n.venv\n/.plan/\n")
    say(project, "old")
    git(project, "init", "--quiet", "--initial-branch=main")
    git(project, "add", ".")
    git(project, "commit", "--quiet", "-m", "old")
    (tmp_path / "temporary").mkdir()
    monkeypatch.setattr(base_and_head, "PROJECT", project)
    monkeypatch.setattr(base_and_head, "programs_of", cannot_be_installed)
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path / "temporary"))
    monkeypatch.delenv("PYTHONPATH", raising=False)
    return project


@pytest.fixture
def plans(project: Path) -> Path:
    return project / ".plan" / "plans" / "default"


def said(folder: Path | None) -> str:
    assert folder
    return (folder / "said").read_text()


def test_each_side_runs_its_own_code_on_its_own_environment(project: Path, plans: Path) -> None:
    say(project, "new")

    with synthesized(Question("default", base="main"), plans) as wait:
        both = wait()

    assert both.base
    assert said(both.assembly) == "new new new"
    assert said(both.base.assembly) == "old old old"
    assert both.title.endswith("with uncommitted changes")
    assert both.base.title.startswith("main (")
    assert both.base.notes == ()
    assert sorted(path.name for path in plans.iterdir()) == ["base", "base.log", "head", "head.log"]


def test_an_environment_that_the_base_has_not_is_new(project: Path, plans: Path) -> None:
    (project / "environments" / "second.yaml").write_text("second\n")

    with synthesized(Question("second", base="main"), plans) as wait:
        both = wait()

    assert both.base
    assert both.base.assembly is None
    assert both.base.notes == ("main has no environments/second.yaml: everything is new.",)


def test_a_file_outside_the_project_is_in_no_revision(project: Path, plans: Path, tmp_path: Path) -> None:
    file = tmp_path / "mine.yaml"
    file.write_text("mine\n")

    with synthesized(Question(str(file), base="main"), plans) as wait:
        both = wait()

    assert both.base
    assert both.base.assembly is None
    assert said(both.assembly) == "old old mine"


def test_a_path_is_from_the_folder_of_the_user(project: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "mine.yaml").write_text("mine\n")
    monkeypatch.chdir(tmp_path)

    start_synthesis("mine.yaml", tmp_path / "assembly", tmp_path / "app.log", project).wait()

    assert said(tmp_path / "assembly") == "old old mine"


def test_other_requirements_in_the_base_are_said(project: Path, plans: Path) -> None:
    """Of a repository that uses the wheel they are installed (tests/start); where pip cannot, the plan says so."""
    (project / "requirements.txt").write_text("one==2\n")

    with synthesized(Question("default", base="main"), plans) as wait:
        both = wait()

    assert both.base
    assert "has another requirements.txt" in both.base.notes[0]
    assert "there is no one==1" in both.base.notes[0]


def test_other_line_ends_are_no_other_requirements(project: Path, plans: Path) -> None:
    (project / "requirements.txt").write_bytes(b"one==1\r\n")

    with synthesized(Question("default", base="main"), plans) as wait:
        both = wait()

    assert both.base
    assert both.base.notes == ()


ATTACK = """
import json, os, pathlib
folder = pathlib.Path(os.environ["CDK_OUTDIR"])
folder.mkdir()
(folder / "said").write_text("old")
(folder / "environ").write_text(json.dumps(dict(os.environ)))
(folder / "found").write_text(json.dumps([str(path) for path in (
    pathlib.Path.home() / ".aws" / "credentials", pathlib.Path("../.aws/credentials"), pathlib.Path("../head/said"),
    folder.parent / "head" / "said", pathlib.Path("../../plans"), pathlib.Path("../.git"),
) if path.exists()]))
"""


def test_the_code_of_a_base_sees_no_credentials(
    project: Path, plans: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It writes down its environment, and looks for credentials and for our files where they would be."""
    (project / "app.py").write_text(ATTACK)
    git(project, "commit", "--quiet", "-a", "-m", "attack")
    (project / "app.py").write_text(APP)
    home = tmp_path / "home"
    (home / ".aws").mkdir(parents=True)
    (home / ".aws" / "credentials").write_text("aws_secret_access_key = SECRET")
    monkeypatch.setenv("HOME", str(home))
    for name in (
        "AWS_SECRET_ACCESS_KEY",
        "AWS_WEB_IDENTITY_TOKEN_FILE",
        "GITHUB_TOKEN",
        "MY_PASSWORD",
        "SSH_AUTH_SOCK",
    ):
        monkeypatch.setenv(name, "SECRET")
    for name in ("ACTIONS_ID_TOKEN_REQUEST_TOKEN", "ACTIONS_RUNTIME_TOKEN"):
        monkeypatch.setenv(name, "SECRET")

    with synthesized(Question("default", base="main"), plans) as wait:
        both = wait()

    assert both.base
    assert both.base.assembly == plans / "base"
    seen = json.loads((plans / "base" / "environ").read_text())
    assert "SECRET" not in seen.values()
    assert [name for name in seen if name.startswith(("AWS_", "ACTIONS_", "GITHUB_"))] == []
    assert json.loads((plans / "base" / "found").read_text()) == []
    assert not Path(seen["CDK_OUTDIR"]).is_relative_to(project)


def test_both_sides_say_why_they_do_not_synthesize(project: Path, plans: Path) -> None:
    say(project, "broken")
    git(project, "commit", "--quiet", "-a", "-m", "broken")

    with (
        synthesized(Question("default", base="main"), plans) as wait,
        pytest.raises(NotPlannedError) as problem,
    ):
        wait()

    text = str(problem.value)
    assert text.count("does not synthesize") == 2
    assert text.count("what is this") == 2
    assert "Traceback" not in text


def test_what_mends_the_base_is_planned_alone(project: Path, plans: Path, capsys: pytest.CaptureFixture[str]) -> None:
    say(project, "broken")
    git(project, "commit", "--quiet", "-a", "-m", "broken")
    say(project, "fixed")
    (project / "requirements.txt").write_text("one==2\n")

    with synthesized(Question("default", base="main"), plans) as wait:
        both = wait()

    assert said(both.assembly) == "fixed fixed fixed"
    assert both.base is None
    assert both.not_compared
    assert both.not_compared.startswith("main (")
    assert "has another requirements.txt" in both.not_compared
    assert "what is this" in capsys.readouterr().err


def test_what_scanners_refuse_is_planned_all_the_same(project: Path, plans: Path) -> None:
    say(project, "open")

    with synthesized(Question("default"), plans) as wait:
        assert said(wait().assembly) == "open open open"


def test_assemblies_that_are_there_are_not_synthesized(tmp_path: Path, plans: Path) -> None:
    question = Question("default", assembly=tmp_path / "new", against=tmp_path / "old")
    with synthesized(question, plans) as wait:
        both = wait()

    assert both.base
    assert (both.assembly, both.base.assembly) == (tmp_path / "new", tmp_path / "old")
    assert list(plans.iterdir()) == []


def test_an_interrupt_ends_the_synths_and_removes_the_copy(project: Path, plans: Path) -> None:
    (project / "app.py").write_text(
        "import os, pathlib, time; pathlib.Path('pid').write_text(str(os.getpid())); time.sleep(60)"
    )
    git(project, "commit", "--quiet", "-a", "-m", "slow")

    pids: list[int] = []
    with pytest.raises(KeyboardInterrupt):
        interrupted(project, plans, pids)

    until(lambda: not any(is_running(pid) for pid in pids))
    assert len(pids) == 2
    assert list(Path(tempfile.gettempdir()).glob("slipway-base-*")) == []


def interrupted(project: Path, plans: Path, pids: list[int]) -> None:
    """Press Ctrl-C when the apps of both sides run."""
    with synthesized(Question("default", base="main"), plans):
        files = [project / "pid", next(Path(tempfile.gettempdir()).glob("slipway-base-*")) / "project" / "pid"]
        until(lambda: all(file.is_file() and file.read_text() for file in files))
        pids += [int(file.read_text()) for file in files]
        raise KeyboardInterrupt


def until(reached: Callable[[], bool]) -> None:
    """Wait until something is so."""
    deadline = time.monotonic() + 20
    while not reached():
        assert time.monotonic() < deadline, "it never came"
        time.sleep(0.02)


def is_running(pid: int) -> bool:
    try:
        os.kill(pid, signal.SIG_DFL)
    except ProcessLookupError:
        return False
    return "\nState:\tZ" not in Path(f"/proc/{pid}/status").read_text()
