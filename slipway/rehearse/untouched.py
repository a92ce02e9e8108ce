"""An existing VPC as EC2 describes it: what a rehearsal must leave as it was."""

from collections.abc import Mapping
from typing import Any

import boto3
from botocore.exceptions import BotoCoreError, ClientError

from slipway.rehearse.inventory import InventoryError
from slipway.rehearse.isolation import require_loopback

_LISTED = (
    ("describe_vpcs", "Vpcs", "vpc-id"),
    ("describe_subnets", "Subnets", "vpc-id"),
    ("describe_route_tables", "RouteTables", "vpc-id"),
    ("describe_security_groups", "SecurityGroups", "vpc-id"),
    ("describe_network_acls", "NetworkAcls", "vpc-id"),
    ("describe_vpc_endpoints", "VpcEndpoints", "vpc-id"),
    ("describe_nat_gateways", "NatGateways", "vpc-id"),
    ("describe_internet_gateways", "InternetGateways", "attachment.vpc-id"),
    ("describe_flow_logs", "FlowLogs", "resource-id"),
)
"""EC2's operations with what they list and the filter for a VPC; descriptions have tags, policies and routes."""

_ATTRIBUTES = ("enableDnsSupport", "enableDnsHostnames")


def describe_vpc(vpc_id: str, endpoint: str, region: str) -> Mapping[str, Any]:
    """Return a VPC and all that belongs to it, by kind.

    Args:
        vpc_id: its id.
        endpoint: URL of the emulator.
        region: AWS Region.

    Raises:
        InventoryError: a call got no answer.
        NotLoopbackError: the endpoint is not on this machine.
    """
    require_loopback(endpoint)
    ec2: Any = boto3.client("ec2", endpoint_url=endpoint, region_name=region)
    try:
        found: dict[str, Any] = {
            kind: getattr(ec2, operation)(Filters=[{"Name": name, "Values": [vpc_id]}])[kind]
            for operation, kind, name in _LISTED
        }
        for attribute in _ATTRIBUTES:
            found[attribute] = ec2.describe_vpc_attribute(VpcId=vpc_id, Attribute=attribute)[f"E{attribute[1:]}"]
    except (BotoCoreError, ClientError) as error:
        raise InventoryError(f"no description of {vpc_id}: {error}") from error
    return found


def differences(before: Mapping[str, Any], after: Mapping[str, Any]) -> list[str]:
    """Return the kinds of which something was added, changed or deleted."""
    return [kind for kind, rows in before.items() if after.get(kind) != rows]
