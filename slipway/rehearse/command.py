"""`slipway rehearse`."""

from pathlib import Path
from typing import Annotated

import typer

from slipway.assembly.choice import RequiredEnvironment
from slipway.console import JsonOption, reports_errors
from slipway.project import PROJECT


@reports_errors()
def rehearse(
    *,
    environment: RequiredEnvironment,
    directory: Annotated[
        Path, typer.Option(help="Folder for everything that is written.", show_default=".rehearsal")
    ] = PROJECT / ".rehearsal",
    as_json: JsonOption = False,
) -> None:
    """Deploy and destroy an environment on an emulated AWS on this machine, with the real CDK CLI.

    Exit codes: 0 passed; 1 it failed; 2 it could not start; 130 interrupted.
    """
    # What these import takes seconds that no other command should wait for.
    from slipway.rehearse import run  # noqa: PLC0415

    raise typer.Exit(run.rehearse(environment, directory, as_json=as_json))
