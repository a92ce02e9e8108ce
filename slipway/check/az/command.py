"""`slipway az`."""

from typing import Annotated

import typer

from slipway.assembly.choice import RequiredEnvironment
from slipway.console import reports_errors

NONE_FITS = 1
"""Exit code when no choice of zones has everything, or it cannot be written."""

NOTHING_ASKED = 2
"""Exit code when nothing could be found out."""


@reports_errors()
def az(
    *,
    environment: RequiredEnvironment,
    dry_run: Annotated[bool, typer.Option("--dry-run", help="Show the evidence and write nothing.")] = False,
    region: Annotated[
        str | None, typer.Option(help="Look at this Region; another than the file's is looked at only.")
    ] = None,
    offline: Annotated[
        bool, typer.Option("--offline", help="Do not ask AWS: take the zones that Slipway's own data name.")
    ] = False,
) -> None:
    """Choose the availability zones of an environment by what AWS says about them, and write them into its file.

    Exit codes: 0 the file has zones that fit; 1 none fit, or they could not be written; 2 nothing could be found out.
    """
    # What these import takes seconds that no other command should wait for.
    from slipway.assembly.environment_files import environment_file  # noqa: PLC0415
    from slipway.check.az.run import NothingAskedError, run  # noqa: PLC0415
    from slipway.config import InvalidEnvironment  # noqa: PLC0415
    from slipway.terminal import screen  # noqa: PLC0415

    try:
        found = run(environment_file(environment), region=region, offline=offline, dry_run=dry_run, console=screen())
    except (InvalidEnvironment, NothingAskedError) as error:
        typer.echo(str(error), err=True)
        raise typer.Exit(NOTHING_ASKED) from error
    if not found:
        raise typer.Exit(NONE_FITS)
