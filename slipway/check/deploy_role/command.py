"""`slipway deploy-role`."""

from pathlib import Path
from typing import Annotated

import typer

from slipway.assembly.choice import AssemblyOption, EnvironmentOption
from slipway.console import reports_errors


@reports_errors()
def deploy_role(
    *,
    environment: EnvironmentOption = None,
    assembly: AssemblyOption = None,
    account: Annotated[str, typer.Option(metavar="ID", help="Id of the AWS account, 12 digits.")],
    github: Annotated[
        str | None,
        typer.Option(
            metavar="OWNER/NAME",
            help="Write the trust policy for this GitHub repository's workflows, too. OWNER@ID/NAME@ID where GitHub "
            "sends the ids, as it does for newer repositories: `slipway docs deploy-role`.",
        ),
    ] = None,
    destroyer: Annotated[
        bool, typer.Option("--destroyer", help="Write the policy for whoever runs `slipway destroy`, too.")
    ] = False,
    output: Annotated[Path, typer.Option(help="Folder for the documents.")] = Path(".plan/deploy-role"),
) -> None:
    """Write the least IAM policies that deploy an environment, read from its templates, and say what to do with them.

    Exit codes: 0 written; 2 not.
    """
    from slipway.check.deploy_role.run import run  # noqa: PLC0415

    run(
        environment,
        assembly,
        account=account,
        github=github,
        to_destroy=destroyer,
        output=output,
        tell=typer.echo,
    )
