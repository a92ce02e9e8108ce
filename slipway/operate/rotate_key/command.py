"""`slipway rotate-key`."""

from typing import Annotated

import typer

from slipway.assembly.choice import RequiredEnvironment

FAILED = 1
"""Exit code when tasks did not take the keys; the same command again goes on."""

REFUSED = 2
"""Exit code when nothing was changed."""

INTERRUPTED = 130
"""Exit code of Ctrl-C."""


def rotate_key(
    *,
    environment: RequiredEnvironment,
    finish: Annotated[bool, typer.Option("--finish", help="Accept the previous key no longer.")] = False,
    yes: Annotated[bool, typer.Option("--yes", help="Ask nothing: for scripts.")] = False,
    timeout_minutes: Annotated[int, typer.Option(min=1, help="How long the tasks' replacement is followed.")] = 180,
) -> None:
    """Make a new API key; the endpoint takes it and the one before until --finish. No key is printed.

    Exit codes: 0 it is done; 1 it is not, the same command goes on; 2 nothing was changed.
    """
    # What these import takes seconds that no other command should wait for.
    from slipway.operate.endpoint.errors import RefusedError  # noqa: PLC0415
    from slipway.operate.rotate_key.run import run  # noqa: PLC0415
    from slipway.operate.rotate_key.tasks import FailedError  # noqa: PLC0415

    try:
        run(environment, finish=finish, yes=yes, timeout_seconds=timeout_minutes * 60)
    except RefusedError as error:
        typer.echo(str(error), err=True)
        raise typer.Exit(REFUSED) from error
    except FailedError as error:
        typer.echo(f"{error}. The same command again goes on where this one stopped", err=True)
        raise typer.Exit(FAILED) from error
    except KeyboardInterrupt as interrupt:
        typer.echo("\nno longer followed; the same command again goes on where this one stopped", err=True)
        raise typer.Exit(INTERRUPTED) from interrupt
