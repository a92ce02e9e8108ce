"""`slipway sbom`."""

from pathlib import Path
from typing import Annotated

import typer

from slipway.assembly.choice import RequiredEnvironment
from slipway.console import reports_errors
from slipway.errors import RefusedError


@reports_errors()
def sbom(
    *,
    environment: RequiredEnvironment,
    output: Annotated[Path, typer.Option(metavar="FILE", help="File to write.")],
) -> None:
    """Write what Slipway and an environment run, as a bill of materials: CycloneDX 1.6 in JSON. Talks to no AWS.

    Exit codes: 0 written; 2 the environment file is invalid, or the file cannot be written.
    """
    # What this imports takes seconds that no other command should wait for.
    try:
        from slipway.review.sbom.run import run  # noqa: PLC0415
    except ModuleNotFoundError as missing:
        # An installation that only deploys lacks the packages of the tests, to which CycloneDX's belong.
        raise RefusedError(f"the package {missing.name} is not installed: run `make setup`") from missing
    run(environment, output)
