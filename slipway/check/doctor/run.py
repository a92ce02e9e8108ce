"""One run of `slipway doctor`."""

from collections.abc import Iterator

import typer

from slipway.assembly.environment_files import WrongChoiceError, environment_file
from slipway.check.doctor.look import Finding, look
from slipway.config import InvalidEnvironment, load_environment
from slipway.errors import RefusedError
from slipway.project import PROJECT

FOUND = 1
"""Exit code when something is missing or too old."""


def run(choice: str | None, *, as_json: bool) -> None:
    """Look at this machine.

    Args:
        choice: name or file of an environment whose needs are checked, too.
        as_json: print it as JSON.

    Raises:
        RefusedError: the environment file is missing or invalid.
        typer.Exit: something is missing or too old.
    """
    try:
        environment = load_environment(environment_file(choice)) if choice else None
    except (WrongChoiceError, InvalidEnvironment) as invalid:
        raise RefusedError(str(invalid)) from invalid
    findings = []
    for finding in look(PROJECT, environment):
        findings.append(finding)
        if not as_json:
            typer.echo("\n".join(_lines(finding)))
    if as_json:
        typer.echo("[\n" + ",\n".join(finding.model_dump_json(indent=2) for finding in findings) + "\n]")
    if any(finding.is_bad for finding in findings):
        raise typer.Exit(FOUND)


def _lines(finding: Finding) -> Iterator[str]:
    wanted = f" (wanted: {finding.wanted})" if finding.is_bad and finding.wanted != "any" else ""
    yield f"{finding.state:<13}  {finding.name} {finding.found or ''}".rstrip() + f"{wanted}: {finding.purpose}"
    if finding.is_bad:
        yield f"{'':<15}{finding.install}"
