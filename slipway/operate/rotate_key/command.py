"""`slipway rotate-key`."""

from typing import Annotated

import typer

from slipway.assembly.choice import RequiredEnvironment
from slipway.console import reports_errors


@reports_errors(interrupted="no longer followed; the same command again goes on where this one stopped")
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
    from slipway.operate.rotate_key.run import run  # noqa: PLC0415

    run(environment, finish=finish, yes=yes, timeout_seconds=timeout_minutes * 60)
