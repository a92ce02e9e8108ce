"""`slipway pause` and `slipway resume`."""

from typing import Annotated

import typer

from slipway.assembly.choice import AssemblyOption, EnvironmentOption
from slipway.console import reports_errors

_Yes = Annotated[bool, typer.Option("--yes", help="Ask nothing: for scripts.")]


_INTERRUPTED = "stopped in the middle; run this again to finish"


@reports_errors(_INTERRUPTED)
def pause(*, environment: EnvironmentOption = None, assembly: AssemblyOption = None, yes: _Yes = False) -> None:
    """Stop training and inference of an environment as its budget does, for a night for example.

    Nodes of jobs are terminated, models have no host; data, head node and network stay and continue to bill.

    Exit codes: 0 stopped; 1 not all of it; 2 nothing was changed.
    """
    # What these import takes seconds that no other command should wait for.
    from slipway.operate.resume import run  # noqa: PLC0415

    run.pause(environment, assembly, yes=yes)


@reports_errors(_INTERRUPTED)
def resume(*, environment: EnvironmentOption = None, assembly: AssemblyOption = None, yes: _Yes = False) -> None:
    """Start what an environment's budget, or `slipway pause`, has stopped, as it ran before.

    Exit codes: 0 started; 1 not all of it; 2 nothing was changed, for example because nothing was stopped.
    """
    from slipway.operate.resume import run  # noqa: PLC0415

    run.resume(environment, assembly, yes=yes)
