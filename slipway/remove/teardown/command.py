"""`slipway destroy`."""

from typing import Annotated

import typer

from slipway.assembly.choice import AssemblyOption, EnvironmentOption
from slipway.console import reports_errors


@reports_errors(interrupted="stopped. Nothing was changed")
def destroy(
    *,
    environment: EnvironmentOption = None,
    assembly: AssemblyOption = None,
    yes: Annotated[bool, typer.Option("--yes", help="Ask nothing: for scripts.")] = False,
    with_running_jobs: Annotated[bool, typer.Option("--with-running-jobs", help="Go on although jobs run.")] = False,
    without_export: Annotated[
        bool,
        typer.Option("--without-export", help="Go on although files are not, or may not be, in their bucket."),
    ] = False,
    unprotect: Annotated[
        bool, typer.Option("--unprotect", help="Take protection off the stacks and load balancers that have it.")
    ] = False,
    fleet_timeout_minutes: Annotated[
        int,
        typer.Option(min=0, help="Longest wait for compute nodes, and for inference hosts, to terminate, in minutes."),
    ] = 45,
) -> None:
    """Delete an environment: compute fleet and endpoint to zero, wait for hosts, `cdk destroy`, look what is left.

    Exit codes: 0 nothing is left but what is documented; 1 something is, run it again; 2 nothing was changed, or it is
    destroyed and it is unknown whether something is left; 130 interrupted, CloudFormation goes on.
    """
    # What these import takes seconds that no other command should wait for.
    from slipway.remove.teardown.run import Answers, run  # noqa: PLC0415

    answers = Answers(yes=yes, with_running_jobs=with_running_jobs, without_export=without_export, unprotect=unprotect)
    run(environment, assembly, answers, node_timeout_seconds=fleet_timeout_minutes * 60)
