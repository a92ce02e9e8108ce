"""The command line as a whole: its list of commands, and completion."""

import os
import re
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import click
import pytest
import typer
from typer.testing import CliRunner

from slipway.cli import app
from slipway.command_reference import commands

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


SHELLS: dict[str, Callable[[str], dict[str, str]]] = {
    "bash": lambda line: {"COMP_WORDS": line, "COMP_CWORD": str(len(line.split(" ")) - 1)},
    "zsh": lambda line: {"_TYPER_COMPLETE_ARGS": line},
}
"""What Typer's script for each shell sets: typer/_completion_shared.py, COMPLETION_SCRIPT_BASH and _ZSH of 0.29."""


def completed(shell: str, line: str, folder: Path) -> list[str]:
    """What a shell offers for the last word of a line. The words are all that zsh's answer has in quotes."""
    asked = {"_SLIPWAY_COMPLETE": f"complete_{shell}", **SHELLS[shell](line)}
    said = subprocess.run(
        [sys.executable, "-c", "from slipway.cli import app; app(prog_name='slipway')"],
        cwd=folder,
        env=os.environ | asked,
        capture_output=True,
        text=True,
        check=False,
    )
    assert said.stderr == ""
    return re.findall(r'"([^"]+)"', said.stdout) if shell == "zsh" else said.stdout.split()


@pytest.mark.parametrize("shell", SHELLS)
def test_a_shell_completes_commands(shell: str, tmp_path: Path) -> None:
    assert "preflight" in completed(shell, "slipway prefl", tmp_path)


@pytest.fixture(scope="module")
def project(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A user's repository with two environments."""
    folder = tmp_path_factory.mktemp("project")
    (folder / "environments").mkdir()
    for name in ("cdk.json", "environments/team.yaml", "environments/trial.yaml"):
        (folder / name).write_text("{}")
    return folder


@pytest.mark.parametrize("shell", SHELLS)
def test_a_shell_completes_names_of_this_projects_environments(shell: str, project: Path) -> None:
    assert completed(shell, "slipway deploy -e t", project) == ["team", "trial"]
    assert completed(shell, "slipway judge tr", project) == ["trial"]


def test_every_command_with_an_environment_completes_its_name(project: Path) -> None:
    options = {
        name: parameter
        for name, command in commands()
        for parameter in command.params
        if parameter.name == "environment"
    }

    assert len(options) > 15
    for name, option in options.items():
        offered = option.shell_complete(click.Context(click.Command(name)), "small")
        assert [item.value for item in offered] == ["small"], name


def test_a_file_with_a_name_that_no_command_takes_completes_nothing_and_says_nothing(tmp_path: Path) -> None:
    (tmp_path / "environments").mkdir()
    for name in ("cdk.json", "environments/my environment.yaml", "environments/team.yaml"):
        (tmp_path / name).write_text("{}")
    assert completed("bash", "slipway deploy -e t", tmp_path) == []
