"""`slipway connect`."""

from typing import Annotated

import typer

from slipway.assembly.choice import RequiredEnvironment
from slipway.console import reports_errors
from slipway.operate.connect.place import Place


@reports_errors()
def connect(
    place: Annotated[
        Place | None,
        typer.Argument(
            help="head-node, login (a login node), user (as your own Linux user), shell (Kubernetes); endpoint and "
            "cluster (the Kubernetes API) are tunnels. Left out: the head node, or the shell.",
            show_default=False,
        ),
    ] = None,
    *,
    environment: RequiredEnvironment,
    print_only: Annotated[bool, typer.Option("--print", help="Show the command, run nothing.")] = False,
) -> None:
    """Open a shell in an environment, or a tunnel to it, with the command that its stacks have as an output.

    Exit codes: the exit code of the session; 2 the environment has no such place, or a program is missing.
    """
    # What these import takes seconds that no other command should wait for.
    from slipway.operate.connect.run import run  # noqa: PLC0415

    run(environment, place, print_only=print_only)
