"""The command line as a whole: its list of commands, and completion."""

import os
import subprocess
import sys

import typer
from typer.testing import CliRunner

from slipway.cli import app

COMMANDS = getattr(typer.main.get_command(app), "commands", {})


def test_each_command_is_described_in_one_line_of_a_narrow_terminal() -> None:
    listed = CliRunner().invoke(app, ["--help"], env={"COLUMNS": "80"}).output

    assert COMMANDS
    assert not [name for name, command in COMMANDS.items() if f" {command.short_help} " not in listed]


def test_the_version_names_the_commit_that_environments_are_deployed_from() -> None:
    commit = subprocess.run(["git", "rev-parse", "--short", "HEAD"], capture_output=True, text=True, check=True).stdout

    said = CliRunner().invoke(app, ["--version"])

    assert said.exit_code == 0
    assert said.output.startswith(f"slipway 0.1.0 ({commit.strip()}")


def test_a_shell_completes_commands() -> None:
    shell = {"_SLIPWAY_COMPLETE": "complete_bash", "COMP_WORDS": "slipway prefl", "COMP_CWORD": "1"}
    completed = subprocess.run(
        [sys.executable, "-c", "from slipway.cli import app; app(prog_name='slipway')"],
        env=os.environ | shell,
        capture_output=True,
        text=True,
        check=False,
    )

    assert completed.stdout.split() == ["preflight"]
