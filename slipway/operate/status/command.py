"""`slipway status`."""

from slipway.assembly.choice import RequiredEnvironment
from slipway.console import JsonOption, reports_errors


@reports_errors()
def status(
    *,
    environment: RequiredEnvironment,
    as_json: JsonOption = False,
) -> None:
    """Show stacks, nodes, jobs, served versions, spend, alarms and links of a deployed environment. It changes nothing.

    Exit codes: 0 fine; 1 it is not deployed, a stack failed, or an alarm is in ALARM; 2 a part could not be read.
    """
    # What these import takes seconds that no other command should wait for.
    from slipway.operate.status.run import run  # noqa: PLC0415

    run(environment, as_json=as_json)
