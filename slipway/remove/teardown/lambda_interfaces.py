"""Network interfaces of the environment's Lambda functions, which outlive their functions.

CloudFormation is done with a function long before its interfaces go: for 20 to 45 minutes they hold subnets and
security groups (seen by go-to-k/delstack#637 in 2026). They are in use first, `available` later, and then anyone may
delete them. The functions that install software in a Kubernetes cluster are in the private subnets, with a security
group of the environment, which tells them apart from those of others in an existing VPC.
"""

import time
from collections.abc import Callable

from botocore.exceptions import ClientError

from slipway.assembly.stacks import ENVIRONMENT_TAG
from slipway.aws.account import Account

POLL_SECONDS = 30.0
"""How often EC2 is asked."""


def lambda_interfaces(account: Account, environment: str) -> dict[str, str]:
    """Return the states of the interfaces by their ids."""
    tagged = [{"Name": f"tag:{ENVIRONMENT_TAG}", "Values": [environment]}]
    paginator = account.client("ec2").get_paginator("describe_security_groups")
    groups = [row["GroupId"] for page in paginator.paginate(Filters=tagged) for row in page["SecurityGroups"]]
    if not groups:
        return {}
    filters = [
        {"Name": "group-id", "Values": groups},
        {"Name": "description", "Values": ["AWS Lambda VPC ENI-*"]},
    ]
    pages = account.client("ec2").get_paginator("describe_network_interfaces").paginate(Filters=filters)
    return {row["NetworkInterfaceId"]: row["Status"] for page in pages for row in page["NetworkInterfaces"]}


def release_lambda_interfaces(
    account: Account, environment: str, *, timeout_seconds: float, tell: Callable[[str], None]
) -> None:
    """Delete the interfaces as they become available, until none is left or the time is over.

    Args:
        account: where the environment is.
        environment: its name.
        timeout_seconds: longest wait; what is left then is left to the next deletion of the stacks.
        tell: called with how many are left, as often as EC2 is asked.
    """
    deadline = time.monotonic() + timeout_seconds
    while interfaces := lambda_interfaces(account, environment):
        for interface in [id_ for id_, status in interfaces.items() if status == "available"]:
            try:
                account.client("ec2").delete_network_interface(NetworkInterfaceId=interface)
            except ClientError as error:
                # Lambda was faster, or still holds it after all.
                tell(f"network interface {interface} is in use, another try follows: {error}")
        if time.monotonic() >= deadline:
            return
        tell(f"waiting for Lambda to let go of network interfaces: {len(interfaces)}")
        time.sleep(POLL_SECONDS)
