"""The CDK's bootstrap: its roles that a deployment of an assembly takes on, and the command that makes it."""

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from slipway.assembly.bootstrap import bootstrap_command, read_qualifier
from slipway.assembly.stacks import read_artifacts
from slipway.aws.account import Account


def command(assembly: Path, account: Account) -> str:
    """Return the command that bootstraps the account's Region for an assembly, or renews what exists.

    Raises:
        NoAssemblyError: the folder is not a cloud assembly.
        ClientError, BotoCoreError: AWS does not say which account it is.
    """
    return bootstrap_command(account.caller.account_id, account.region, read_qualifier(assembly))


def deployer_roles(assembly: Path) -> tuple[str, ...]:
    """Return the ARNs of the roles that the CDK CLI takes on, with `${AWS::Partition}` and `${AWS::AccountId}` open.

    The role for look-ups is not one of them: the CLI does without it.

    Raises:
        NoAssemblyError: the folder is not a cloud assembly.
    """
    return tuple(dict.fromkeys([*_of_stacks(assembly, "assumeRoleArn"), *_of_assets(assembly)]))


def execution_roles(assembly: Path) -> tuple[str, ...]:
    """Return the ARNs of the roles that CloudFormation makes the resources with, open in the same way.

    Raises:
        NoAssemblyError: the folder is not a cloud assembly.
    """
    return tuple(dict.fromkeys(_of_stacks(assembly, "cloudFormationExecutionRoleArn")))


def _of_stacks(assembly: Path, key: str) -> Iterator[str]:
    for artifact in read_artifacts(assembly, "aws:cloudformation:stack").values():
        properties = artifact["properties"]
        if key in properties:
            yield properties[key]


def _of_assets(assembly: Path) -> Iterator[str]:
    for artifact in read_artifacts(assembly, "cdk:asset-manifest").values():
        manifest: Any = json.loads((assembly / artifact["properties"]["file"]).read_text(encoding="utf-8"))
        for kind in ("files", "dockerImages"):
            for asset in manifest.get(kind, {}).values():
                for destination in asset["destinations"].values():
                    if "assumeRoleArn" in destination:
                        yield destination["assumeRoleArn"]
