"""Capacity reservations as EC2 describes them: On-Demand Capacity Reservations and Capacity Blocks alike."""

from collections.abc import Iterator
from dataclasses import dataclass
from datetime import datetime
from typing import Any, Literal

from botocore.exceptions import ClientError

from slipway.aws.account import Account

LINUX, SHARED = "Linux/UNIX", "default"
"""Platform and tenancy of all nodes: their systems are Ubuntu and Amazon Linux, their hardware is nobody's alone."""

_POOL = "AWS::EC2::CapacityReservationPool"
_UNKNOWN = frozenset({"InvalidCapacityReservationId.NotFound", "InvalidCapacityReservationId.Malformed"})
_UNKNOWN_GROUP = frozenset({"NotFoundException", "NotFound"})


@dataclass(frozen=True)
class Reservation:
    """One capacity reservation.

    Attributes:
        id: for example `cr-0123456789abcdef0`.
        state: in EC2's words: `active`, `scheduled`, `payment-pending`, `expired`, ...
        zone_id: Availability Zone id.
        instance_type: EC2 instance type.
        platform: in EC2's words; nodes of Ubuntu and Amazon Linux are `Linux/UNIX`.
        tenancy: `default`, or `dedicated`.
        match: `open` when every instance of the account that fits takes a slot, `targeted` when it must be named.
        kind: `default` for an On-Demand Capacity Reservation.
        placement_group: name of the placement group that it was made in.
        total: slots.
        available: slots that no instance has.
        start: when a block begins; none where it began when it was made.
        end: when it ends; none where it stays until it is cancelled.
    """

    id: str
    state: str
    zone_id: str
    instance_type: str
    platform: str
    tenancy: str
    match: Literal["open", "targeted"]
    kind: Literal["default", "capacity-block"]
    placement_group: str | None
    total: int
    available: int
    start: datetime | None
    end: datetime | None


def read_reservation(account: Account, reservation_id: str) -> Reservation | None:
    """Ask EC2 about one reservation.

    Returns:
        The reservation, or none when the account and Region have none of this id.

    Raises:
        ClientError: EC2 refuses to answer.
    """
    try:
        described = account.client("ec2").describe_capacity_reservations(CapacityReservationIds=[reservation_id])
    except ClientError as error:
        if error.response["Error"]["Code"] in _UNKNOWN:
            return None
        raise
    found = described["CapacityReservations"]
    return _reservation(found[0]) if found else None


def live_reservations(account: Account) -> list[Any]:
    """Return the active On-Demand Capacity Reservations that the account pays for, as EC2 describes them.

    Raises:
        ClientError: EC2 refuses to answer.
    """
    active = [{"Name": "state", "Values": ["active"]}]
    listed = account.listing("ec2", "describe_capacity_reservations", "CapacityReservations", Filters=active)
    return [
        found
        for found in listed
        # Those that other accounts share count against the quotas of these.
        if found.get("ReservationType", "default") == "default" and found["OwnerId"] == account.caller.account_id
    ]


def is_group(target: str) -> bool:
    """Return whether a queue's target is the ARN of a resource group, not the id of a reservation."""
    return target.startswith("arn:")


def reservation_ids(account: Account, target: str) -> tuple[str, ...] | None:
    """Return the reservations that a queue's target means.

    Args:
        account: who is asked.
        target: id of a reservation, or ARN of a resource group of reservations.

    Returns:
        Their ids, or none when there is no such resource group.

    Raises:
        ClientError: Resource Groups refuses to answer.
    """
    if not is_group(target):
        return (target,)
    try:
        return tuple(_group_members(account, target))
    except ClientError as error:
        if error.response["Error"]["Code"] in _UNKNOWN_GROUP:
            return None
        raise


def is_pool(account: Account, group_arn: str) -> bool:
    """Return whether EC2 can launch into a resource group: it was made as a pool of reservations (EC2 User Guide).

    Raises:
        ClientError: Resource Groups refuses to answer.
    """
    asked = account.client("resource-groups").get_group_configuration(Group=group_arn)
    parts = asked.get("GroupConfiguration", {}).get("Configuration", [])
    return any(part["Type"] == _POOL for part in parts)


def _group_members(account: Account, group_arn: str) -> Iterator[str]:
    pages = account.client("resource-groups").get_paginator("list_group_resources").paginate(Group=group_arn)
    for page in pages:
        for resource in page.get("Resources", []):
            if resource["Identifier"]["ResourceType"] == "AWS::EC2::CapacityReservation":
                yield resource["Identifier"]["ResourceArn"].rpartition("/")[2]


def _reservation(described: dict[str, Any]) -> Reservation:
    return Reservation(
        id=described["CapacityReservationId"],
        state=described["State"],
        zone_id=described["AvailabilityZoneId"],
        instance_type=described["InstanceType"],
        platform=described.get("InstancePlatform", LINUX),
        tenancy=described.get("Tenancy", SHARED),
        match=described.get("InstanceMatchCriteria", "open"),
        kind=described.get("ReservationType", "default"),
        # arn:aws:ec2:us-west-2:111122223333:placement-group/trn1-reserved
        placement_group=described.get("PlacementGroupArn", "").partition("/")[2] or None,
        total=described["TotalInstanceCount"],
        available=described["AvailableInstanceCount"],
        start=described.get("StartDate"),
        end=described.get("EndDate"),
    )
