"""The tables of docs/commands.md: `python -m slipway.command_reference` rewrites them from the commands."""

import re
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import typer

from slipway.cli import app

COMMANDS_FILE = Path(__file__).parents[1] / "docs" / "commands.md"

SHARED = ("environment", "assembly", "as_json", "yes")
"""Parameters that several commands have, in the order of their columns."""

_BEGIN, _END = "<!-- begin: commands -->", "<!-- end: commands -->"


def commands(group: Any = None, before: str = "") -> Iterator[tuple[str, Any]]:
    """Yield each command that can be run, with its name behind `slipway`.

    Args:
        group: Typer's group of commands; all of `slipway` without.
        before: names of the groups that it is in, with a space behind.
    """
    found: Mapping[str, Any] = getattr(group or typer.main.get_command(app), "commands", {})
    for name, command in found.items():
        if hasattr(command, "commands"):
            yield from commands(command, f"{before}{name} ")
        else:
            yield before + name, command


def exit_codes(command: Any) -> str:
    """Return what a command's help says of its exit codes, in one line; nothing if it says nothing."""
    said = re.search(r"Exit codes: (.+?)\.(\s|$)", command.help or "", re.DOTALL)
    return " ".join(said[1].split()) if said else ""


def with_commands(text: str) -> str:
    """Return the document with its generated part renewed.

    Args:
        text: The document; the generated part stands between `<!-- begin: commands -->` and `<!-- end: commands -->`.
    """
    before, _, rest = text.partition(_BEGIN)
    after = rest.partition(_END)[2]
    return "\n".join([f"{before}{_BEGIN}", "", *_options(), "", *_exit_codes(), "", f"{_END}{after}"])


def _options() -> Iterator[str]:
    yield "| command | `-e` | `--assembly` | `--json` | `--yes` | its own |"
    yield "|---|---|---|---|---|---|"
    for name, command in commands():
        parameters = {parameter.name: parameter for parameter in command.params}
        shared = [_presence(parameters.get(column)) for column in SHARED]
        own = ", ".join(_name(parameter) for key, parameter in parameters.items() if key not in SHARED)
        yield f"| `slipway {name}` | {' | '.join(shared)} | {own} |"


def _exit_codes() -> Iterator[str]:
    yield "| command | exit codes |"
    yield "|---|---|"
    for name, command in commands():
        yield f"| `slipway {name}` | {exit_codes(command)} |"


def _presence(parameter: Any | None) -> str:
    if parameter is None:
        return ""
    return "required" if parameter.required else "optional"


def _name(parameter: Any) -> str:
    is_option = parameter.opts[0].startswith("-")
    return f"`{parameter.opts[0] if is_option else parameter.metavar or parameter.name.upper()}`"


if __name__ == "__main__":
    COMMANDS_FILE.write_text(with_commands(COMMANDS_FILE.read_text(encoding="utf-8")), encoding="utf-8")
