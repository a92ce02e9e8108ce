"""`slipway deploy`."""

from slipway.assembly.choice import AssemblyOption, EnvironmentOption
from slipway.console import reports_errors


@reports_errors(interrupted="stopped. Nothing was changed")
def deploy(*, environment: EnvironmentOption = None, assembly: AssemblyOption = None) -> None:
    """Deploy an environment with the CDK CLI: a line for each stack, time left, cost so far, the first cause.

    It asks nothing: `slipway plan` shows before what will change.

    Exit codes: 0 deployed; 1 a stack failed; 2 nothing was changed; 130 interrupted, CloudFormation goes on.
    """
    # What these import takes seconds that no other command should wait for.
    from slipway.operate.deploy.run import run  # noqa: PLC0415

    run(environment, assembly)
