"""`slipway roll-out`."""

from typing import Annotated

import typer

from slipway.assembly.choice import RequiredEnvironment
from slipway.console import reports_errors


@reports_errors(
    interrupted="no longer followed; an update that has begun continues: `slipway roll-out` shows it. When it is over, "
    "--canary, --promote and --abort go on where they were"
)
def roll_out(
    version: Annotated[
        str | None,
        typer.Argument(
            metavar="[MODEL/VERSION]",
            help="As it was published; MODEL alone with an option. Without: say what is served.",
        ),
    ] = None,
    *,
    environment: RequiredEnvironment,
    back: Annotated[bool, typer.Option("--back", help="Serve what was served before.")] = False,
    canary: Annotated[
        int | None,
        typer.Option(min=0, max=100, help="Send so many of a hundred requests to the version, on a host of its own."),
    ] = None,
    promote: Annotated[
        bool, typer.Option("--promote", help="Serve the candidate's version, then end the candidate.")
    ] = False,
    abort: Annotated[bool, typer.Option("--abort", help="Take the requests off the candidate, then end it.")] = False,
    yes: Annotated[bool, typer.Option("--yes", help="Ask nothing: for scripts.")] = False,
    timeout_minutes: Annotated[
        int, typer.Option(min=1, help="How long each update is followed; CloudFormation goes on after that.")
    ] = 180,
) -> None:
    """Serve another published version of a model, go back, or try one on a part of the requests (a canary).

    Exit codes: 0 it is done; 1 it is not, the message says what is served; 2 nothing was changed.
    """
    # What these import takes seconds that no other command should wait for.
    from slipway.operate.roll_out.request import Request  # noqa: PLC0415
    from slipway.operate.roll_out.run import run  # noqa: PLC0415

    request = Request(version, back, canary, promote, abort)
    run(environment, request, yes=yes, timeout_seconds=timeout_minutes * 60)
