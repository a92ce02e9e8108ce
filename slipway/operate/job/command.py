"""`slipway job`."""

from typing import Annotated

import typer

from slipway.assembly.choice import RequiredEnvironment
from slipway.console import reports_errors


@reports_errors()
def job(
    arguments: Annotated[
        list[str], typer.Argument(help="What `slipway-job` gets, for example `submit small-llama --name v1`.")
    ],
    *,
    environment: RequiredEnvironment,
    print_only: Annotated[bool, typer.Option("--print", help="Show the command, run nothing.")] = False,
) -> None:
    """Run `slipway-job` on the head node, or in the shell of the Kubernetes cluster: `slipway job -e mine -- jobs`.

    Exit codes: the exit code of `slipway-job`; also 2 if the environment has no cluster or a program is missing, and 1
    if the session ends before `slipway-job` does.
    """
    # What these import takes seconds that no other command should wait for.
    from slipway.operate.job.run import run  # noqa: PLC0415

    run(environment, arguments, print_only=print_only)
