"""`slipway prove`."""

from pathlib import Path
from typing import Annotated

import typer

from slipway.assembly.choice import RequiredEnvironment
from slipway.console import JsonOption, reports_errors

NOT_PROVEN = 1
"""Exit code when a probe did not pass, or something may be left."""


@reports_errors(interrupted="stopped; what is deployed is deleted at the deadline. `slipway destroy` does it now")
def prove(
    *,
    environment: RequiredEnvironment,
    ceiling: Annotated[
        float, typer.Option(metavar="USD", min=0.01, help="What it may cost, in US dollars by list prices.")
    ],
    evidence: Annotated[
        Path | None, typer.Option(metavar="FILE", help="Where the result goes; a dated file in evidence/ without it.")
    ] = None,
    as_json: JsonOption = False,
    yes: Annotated[bool, typer.Option("--yes", help="Ask nothing: for scripts.")] = False,
) -> None:
    """Deploy an environment, try what only a real account can prove, delete it: within a ceiling of cost and time.

    A state machine in the account deletes the environment at the deadline if this command cannot: `slipway docs prove`.

    Exit codes: 0 everything passed, and nothing is left; 1 not; 2 nothing was changed; 130 interrupted twice.
    """
    # What these import takes seconds that no other command should wait for.
    from slipway.prove.run import run  # noqa: PLC0415

    found = run(environment, ceiling, evidence, yes=yes)
    typer.echo(found.model_dump_json(indent=2) if as_json else "\n".join(found.lines()))
    if not found.is_complete:
        raise typer.Exit(NOT_PROVEN)
