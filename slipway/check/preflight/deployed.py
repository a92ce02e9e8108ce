"""What of the environment stands already: an update needs no second VPC."""

from collections.abc import Mapping
from typing import Any

from slipway.assembly.stacks import ENVIRONMENT_TAG
from slipway.aws.account import Account
from slipway.check.preflight.needs import Needs

DEPLOYED_ACTIONS = ("cloudformation:DescribeStacks", "cloudformation:ListStackResources")
"""The IAM actions that `own_ids` needs."""


def deployed_stacks(account: Account) -> dict[str, Mapping[str, Any]]:
    """Return CloudFormation's description of every stack in the Region by name, deleted ones left out.

    Raises:
        ClientError, BotoCoreError: AWS refuses, or does not answer.
    """
    return {stack["StackName"]: stack for stack in account.listing("cloudformation", "describe_stacks", "Stacks")}


def is_own(stack: Mapping[str, Any], environment: str) -> bool:
    """Return whether a stack belongs to an environment: by its tag."""
    tags = {tag["Key"]: tag["Value"] for tag in stack.get("Tags", [])}
    return tags.get(ENVIRONMENT_TAG) == environment


def own_ids(needs: Needs, account: Account) -> frozenset[str]:
    """Return the physical ids of everything in the environment's own deployed stacks.

    What a stack could not create, or has left behind, is listed with it too, but is not its own: the next deployment
    meets it as somebody else's.

    Raises:
        ClientError, BotoCoreError: AWS refuses, or does not answer.
    """
    deployed = deployed_stacks(account)
    own = [stack.name for stack in needs.stacks if is_own(deployed.get(stack.name, {}), needs.environment)]
    return frozenset(
        resource["PhysicalResourceId"]
        for name in own
        for resource in account.listing("cloudformation", "list_stack_resources", _SUMMARIES, StackName=name)
        if resource.get("PhysicalResourceId") and resource["ResourceStatus"] not in _NOT_OWNED
    )


_NOT_OWNED = frozenset({"CREATE_FAILED", "DELETE_COMPLETE", "DELETE_SKIPPED"})
_SUMMARIES = "StackResourceSummaries"
