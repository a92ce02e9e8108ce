"""`slipway pause` and `slipway resume`."""

from collections.abc import Callable
from typing import Annotated

import typer

from slipway.assembly.choice import AssemblyOption, EnvironmentOption

FAILED = 1
"""Exit code when a part could not be stopped or started."""

REFUSED = 2
"""Exit code when nothing was changed."""

INTERRUPTED = 130
"""Exit code of Ctrl-C."""

_Yes = Annotated[bool, typer.Option("--yes", help="Ask nothing: for scripts.")]


def pause(*, environment: EnvironmentOption = None, assembly: AssemblyOption = None, yes: _Yes = False) -> None:
    """Stop training and inference of an environment as its budget does, for a night for example.

    Nodes of jobs are terminated, models have no host; data, head node and network stay and go on billing. Exit codes:
    0 stopped; 1 not all of it; 2 nothing was changed.
    """
    # What these import takes seconds that no other command should wait for.
    from slipway.operate.resume import run  # noqa: PLC0415

    _exit_as_it_ended(lambda: run.pause(environment, assembly, yes=yes))


def resume(*, environment: EnvironmentOption = None, assembly: AssemblyOption = None, yes: _Yes = False) -> None:
    """Start what an environment's budget, or `slipway pause`, has stopped, as it ran before.

    Exit codes: 0 started; 1 not all of it; 2 nothing was changed, for example because nothing was stopped.
    """
    from slipway.operate.resume import run  # noqa: PLC0415

    _exit_as_it_ended(lambda: run.resume(environment, assembly, yes=yes))


def _exit_as_it_ended(change: Callable[[], None]) -> None:
    from slipway.operate.resume.errors import RefusedError, UnfinishedError  # noqa: PLC0415

    try:
        change()
    except RefusedError as error:
        typer.echo(str(error), err=True)
        raise typer.Exit(REFUSED) from error
    except UnfinishedError as error:
        typer.echo(str(error), err=True)
        raise typer.Exit(FAILED) from error
    except KeyboardInterrupt as interrupt:
        typer.echo("\nstopped in the middle; run this again to finish", err=True)
        raise typer.Exit(INTERRUPTED) from interrupt
