"""`slipway roll-out`."""

from typing import Annotated

import typer

FAILED = 1
"""Exit code when the update did not end with the version."""

REFUSED = 2
"""Exit code when nothing was changed."""

INTERRUPTED = 130
"""Exit code of Ctrl-C."""


def roll_out(
    version: Annotated[
        str | None, typer.Argument(help="MODEL/VERSION, as it was published. Without it: say what is served.")
    ] = None,
    *,
    environment: Annotated[
        str, typer.Option("--environment", "-e", help="A name in environments/, or a file that ends in .yaml.")
    ] = "default",
    back: Annotated[bool, typer.Option("--back", help="Serve what was served before.")] = False,
    yes: Annotated[bool, typer.Option("--yes", help="Ask nothing: for scripts.")] = False,
    timeout_minutes: Annotated[
        int, typer.Option(min=1, help="How long the update is followed; CloudFormation goes on after that.")
    ] = 180,
) -> None:
    """Serve another published version of the model, or go back; without a version, say what is served.

    Exit codes: 0 it is served; 1 it is not, the version before is; 2 nothing was changed.
    """
    # What these import takes seconds that no other command should wait for.
    from slipway.roll_out.errors import FailedError, RefusedError  # noqa: PLC0415
    from slipway.roll_out.run import Wish, run  # noqa: PLC0415

    try:
        run(environment, Wish(version, back, yes, timeout_minutes * 60))
    except RefusedError as error:
        typer.echo(str(error), err=True)
        raise typer.Exit(REFUSED) from error
    except FailedError as error:
        typer.echo(str(error), err=True)
        raise typer.Exit(FAILED) from error
    except KeyboardInterrupt as interrupt:
        typer.echo("\nno longer followed; an update that has begun goes on: `slipway roll-out` tells", err=True)
        raise typer.Exit(INTERRUPTED) from interrupt
