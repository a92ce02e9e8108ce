"""What the system refuses ends a command with one sentence and exit code 2; real processes, as a user runs them."""

import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
import typer

from slipway import console
from slipway.assembly import choice
from slipway.cli import app
from tests.assembly import PROJECT

SLIPWAY = [sys.executable, "-m", "slipway"]
FULL = pytest.mark.skipif(not Path("/dev/full").exists(), reason="only Linux has a device that is always full")


def slipway(*arguments: str, **options: Any) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [*SLIPWAY, *arguments], cwd=PROJECT, stderr=subprocess.PIPE, text=True, check=False, **options
    )


@FULL
@pytest.mark.parametrize("command", [["--help"], ["lint", "--explain", "quotas-allow-all-nodes"]])
def test_a_full_disk_is_one_sentence(command: list[str]) -> None:
    with Path("/dev/full").open("w") as full:
        run = slipway(*command, stdout=full)

    assert run.returncode == 2
    assert run.stderr == "slipway: No space left on device\n"


@FULL
def test_both_outputs_may_be_full() -> None:
    with Path("/dev/full").open("w") as full:
        run = subprocess.run([*SLIPWAY, "lint"], cwd=PROJECT, stdout=full, stderr=full, check=False)

    assert run.returncode == 2


@pytest.mark.parametrize(
    "command",
    [["--help"], ["lint", "--explain", "quotas-allow-all-nodes"], ["az", "-e", "default", "--offline", "--dry-run"]],
    ids=["typer", "print", "rich"],
)
def test_a_closed_pipe_is_silent(command: list[str]) -> None:
    reader, writer = os.pipe()
    os.close(reader)
    try:
        run = slipway(*command, stdout=writer)
    finally:
        os.close(writer)

    assert (run.returncode, run.stderr) == (2, "")


def test_no_standard_input_is_one_sentence() -> None:
    run = subprocess.run(
        ["/bin/sh", "-c", 'exec "$@" <&-', "sh", *SLIPWAY, "lint", "-"],
        cwd=PROJECT,
        capture_output=True,
        text=True,
        check=False,
    )

    assert run.returncode == 2
    assert run.stderr == "slipway lint: the standard input is empty: pipe a file into it, or name a file\n"


def ended(program: Callable[..., Any], *arguments: object) -> int | str | None:
    with pytest.raises(SystemExit) as end:
        program(*arguments)
    return end.value.code


@pytest.mark.parametrize("command", ["pause", "destroy", "preflight", "leftovers"])
def test_a_folder_that_cannot_be_written_is_one_sentence(
    command: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    """A file stands where the folder is to be: what root is refused, too."""
    (tmp_path / "file").touch()
    monkeypatch.setattr(choice, "FOLDER", tmp_path / "file")

    assert ended(app, [command, "-e", "default"]) == 2
    assert capfd.readouterr().err == f"slipway: {tmp_path / 'file' / command}: Not a directory\n"


@pytest.fixture
def stops() -> Iterator[None]:
    """The handler of SIGTERM that was there is back afterwards."""
    before = signal.getsignal(signal.SIGTERM)
    signal.signal(signal.SIGTERM, signal.SIG_DFL)
    yield
    assert signal.getsignal(signal.SIGTERM) is signal.SIG_DFL
    signal.signal(signal.SIGTERM, before)


@pytest.mark.usefixtures("stops")
def test_a_cancelled_job_cleans_up_as_ctrl_c_does(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "argv", ["work"])
    cleaned = []

    def work() -> None:
        try:
            os.kill(os.getpid(), signal.SIGTERM)
            time.sleep(60)
        finally:
            cleaned.append(True)

    assert ended(console.run, work) == 130
    assert cleaned == [True]


def test_ctrl_c_before_a_command_begins_ends_without_a_traceback(monkeypatch: pytest.MonkeyPatch) -> None:
    def interrupted(*_: object) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr(console.Program, "_run", interrupted)

    with pytest.raises(SystemExit) as end:
        console.Program()()

    assert end.value.code == 130


@pytest.mark.parametrize(
    ("interrupt", "said"), [(KeyboardInterrupt(), "as usual"), (KeyboardInterrupt("stop here"), "stop here")]
)
def test_ctrl_c_says_how_to_go_on(interrupt: KeyboardInterrupt, said: str, capsys: pytest.CaptureFixture[str]) -> None:
    @console.reports_errors(interrupted="as usual")
    def work() -> None:
        raise interrupt

    with pytest.raises(typer.Exit) as end:
        work()

    assert end.value.exit_code == 130
    assert capsys.readouterr().err == f"\n{said}\n"


@pytest.mark.parametrize("arguments", [["az", "--help"], ["az", "--unknown"]], ids=["help", "error"])
@pytest.mark.parametrize(
    ("variables", "is_coloured"),
    [
        ({}, False),
        ({"GITHUB_ACTIONS": "true"}, False),
        ({"GITHUB_ACTIONS": "true", "FORCE_COLOR": "1"}, True),
        ({"FORCE_COLOR": "1"}, True),
        ({"FORCE_COLOR": "1", "NO_COLOR": "1"}, False),
        ({"GITHUB_ACTIONS": "true", "FORCE_COLOR": "1", "NO_COLOR": "1"}, False),
    ],
    ids=lambda value: "+".join(value) or "none" if isinstance(value, dict) else "",
)
def test_a_pipe_has_colours_only_with_force_color_and_without_no_color(
    arguments: list[str], variables: dict[str, str], is_coloured: bool
) -> None:
    about_colours = {"GITHUB_ACTIONS", "FORCE_COLOR", "NO_COLOR", "PY_COLORS", "TERM"}
    inherited = {name: value for name, value in os.environ.items() if name not in about_colours}

    done = slipway(*arguments, stdout=subprocess.PIPE, env={**inherited, "TERM": "xterm", **variables})

    assert ("\x1b" in done.stdout + done.stderr) is is_coloured


def documented(command: Any, name: str = "") -> Iterator[tuple[str, Any]]:
    """Every command with its name as it is typed."""
    yield name, command
    for inner_name, inner in getattr(command, "commands", {}).items():
        yield from documented(inner, f"{name} {inner_name}".strip())


@pytest.mark.parametrize(("name", "command"), [*documented(typer.main.get_command(app))])
@pytest.mark.parametrize("columns", [40, 60])
def test_help_cuts_no_option_on_a_narrow_terminal(
    name: str, command: Any, columns: int, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("COLUMNS", str(columns))
    monkeypatch.setattr(app, "rich_markup_mode", app.rich_markup_mode)
    with pytest.raises(SystemExit):
        app([*name.split(), "--help"], prog_name="slipway")

    said = capsys.readouterr().out
    options = [option for parameter in command.params for option in parameter.opts if option.startswith("-")]
    assert [option for option in options if option not in said] == []
