"""`slipway cluster-update`."""

import sys
from pathlib import Path
from typing import Annotated

import typer

from slipway.assembly.choice import AssemblyOption, EnvironmentOption
from slipway.console import reports_errors

NOT_COMPARED = 2
"""Exit code when there is no answer."""


@reports_errors()
def cluster_update(
    *,
    environment: EnvironmentOption = None,
    assembly: AssemblyOption = None,
    against: Annotated[
        Path | None,
        typer.Option(help="Compare with this assembly or training template; else with the deployed stacks."),
    ] = None,
) -> None:
    """Say whether the next deployment can update the cluster.

    ParallelCluster's own update policies decide. Nothing is changed; from AWS only templates are read.

    Exit codes: 0 it can; 2 not known; 3 nodes must be stopped first; 4 it cannot.
    """
    # What they import takes half a second that no other command should wait for.
    from slipway.review.cluster_update.report import print_comparison  # noqa: PLC0415
    from slipway.review.cluster_update.run import UPDATE_DIRECTORY, NoComparison, run  # noqa: PLC0415
    from slipway.terminal import screen  # noqa: PLC0415

    try:
        comparison = run(environment, assembly, against, UPDATE_DIRECTORY)
    except NoComparison as problem:
        print(problem, file=sys.stderr)
        raise typer.Exit(NOT_COMPARED) from problem
    print_comparison(comparison, screen())
    raise typer.Exit(int(comparison.verdict))
