"""`slipway cost`."""

import json

import typer

from slipway.assembly.choice import AssemblyOption, EnvironmentOption
from slipway.console import JsonOption, reports_errors


@reports_errors()
def cost(
    *, environment: EnvironmentOption = None, assembly: AssemblyOption = None, as_json: JsonOption = False
) -> None:
    """Print what an environment costs by list prices, line by line, while it is idle and at most. Talks to no AWS.

    Exit codes: 0 printed; 2 not.
    """
    # What these import takes seconds that no other command should wait for.
    from datetime import UTC, datetime  # noqa: PLC0415

    from slipway.assembly.choice import NotChosenError, chosen_assembly  # noqa: PLC0415
    from slipway.assembly.stacks import NoAssemblyError, read_stacks  # noqa: PLC0415
    from slipway.errors import RefusedError  # noqa: PLC0415
    from slipway.review.cost.estimate import estimate  # noqa: PLC0415
    from slipway.review.cost.table import print_cost  # noqa: PLC0415
    from slipway.terminal import screen  # noqa: PLC0415

    try:
        stacks = read_stacks(chosen_assembly(environment, assembly, "cost", despite_findings=True))
    except (NotChosenError, NoAssemblyError) as error:
        raise RefusedError(str(error)) from error
    found = estimate(stacks)
    if as_json:
        sums = {"idle_usd_per_hour": found.idle_usd_per_hour, "peak_usd_per_hour": found.peak_usd_per_hour}
        typer.echo(json.dumps({**sums, **found.model_dump(mode="json")}, indent=2))
    else:
        print_cost(found, screen(), datetime.now(tz=UTC).date())
