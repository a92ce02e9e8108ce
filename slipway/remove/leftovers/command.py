"""`slipway leftovers`."""

from typing import Annotated

import typer

from slipway.assembly.choice import AssemblyOption, EnvironmentOption
from slipway.console import JsonOption, reports_errors

EXIT_CODES = {"clean": 0, "found": 1, "unknown": 2}
"""By verdict."""


@reports_errors()
def leftovers(
    *,
    environment: EnvironmentOption = None,
    assembly: AssemblyOption = None,
    name: Annotated[
        str | None, typer.Option(help="Name of an environment whose file is gone, instead; with --region.")
    ] = None,
    region: Annotated[str | None, typer.Option(help="AWS Region, with --name.")] = None,
    as_json: JsonOption = False,
) -> None:
    """Find what an environment left in the account: what it costs a month, and the command that removes it.

    Exit codes: 0 nothing but what is documented and free; 1 something is left; 2 unknown.
    """
    # What this imports takes seconds that no other command should wait for.
    from slipway.remove.leftovers.environment import find_subject  # noqa: PLC0415
    from slipway.remove.leftovers.run import run  # noqa: PLC0415

    found = run(find_subject(environment, assembly, name, region), as_json=as_json)
    raise typer.Exit(EXIT_CODES[found.verdict])
