"""`slipway doctor`."""

from slipway.assembly.choice import EnvironmentOption
from slipway.console import JsonOption, reports_errors


@reports_errors()
def doctor(
    *,
    environment: EnvironmentOption = None,
    as_json: JsonOption = False,
) -> None:
    """Name the local programs that are missing or too old, and the command that installs each.

    With `-e` it also looks at what that environment needs: kubectl, and the CDK's bootstrap of its Region.

    Exit codes: 0 all is there; 1 something is missing or too old; 2 the environment file cannot be read.
    """
    # What these import takes seconds that no other command should wait for.
    from slipway.check.doctor.run import run  # noqa: PLC0415

    run(environment, as_json=as_json)
