"""Instance types as EC2 describes them."""

from collections.abc import Sequence
from typing import Any

from slipway.aws.account import Account


def describe_types(names: Sequence[str], account: Account) -> dict[str, Any]:
    """Return what EC2 says of instance types, by name, without those that the Region does not know.

    Raises:
        ClientError, BotoCoreError: AWS refuses, or does not answer.
    """
    if not names:
        return {}
    # A filter, because asking for a type that the Region does not know is an error.
    filters = [{"Name": "instance-type", "Values": list(names)}]
    listed = account.listing("ec2", "describe_instance_types", "InstanceTypes", Filters=filters)
    return {found["InstanceType"]: found for found in listed}
