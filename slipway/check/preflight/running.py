"""The EC2 instances that run in the account now, and which of them are the environment's own."""

from collections.abc import Mapping
from typing import Any

from slipway.assembly.stacks import ENVIRONMENT_TAG
from slipway.aws.account import Account
from slipway.check.preflight.needs import Needs

RUNNING_ACTIONS = ("ec2:DescribeInstances",)
"""The IAM actions that `running_instances` needs."""

_FILTERS = [{"Name": "instance-state-name", "Values": ["pending", "running"]}]
_CLUSTER_TAGS = ("parallelcluster:cluster-name", "eks:cluster-name")
_STACK_TAG = "aws:cloudformation:stack-name"


def running_instances(account: Account) -> list[Any]:
    """Return the running instances as EC2 describes them.

    Raises:
        ClientError, BotoCoreError: AWS refuses, or does not answer.
    """
    return account.listing("ec2", "describe_instances", "Reservations[].Instances[]", Filters=_FILTERS)


def is_ours(instance: Mapping[str, Any], needs: Needs) -> bool:
    """Return whether the chosen stacks launched an instance, so that their highest counts have it in them.

    Nodes are known by their cluster's name, other instances by the tags of their stack.
    """
    tags = {tag["Key"]: tag["Value"] for tag in instance.get("Tags", [])}
    for key in _CLUSTER_TAGS:
        if key in tags:
            return tags[key] in {*needs.slurm_clusters, *needs.kubernetes_clusters}
    chosen = {None, *(stack.name for stack in needs.stacks)}
    return tags.get(ENVIRONMENT_TAG) == needs.environment and tags.get(_STACK_TAG) in chosen
