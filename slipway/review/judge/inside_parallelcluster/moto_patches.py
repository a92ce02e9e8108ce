"""Where moto differs from AWS in what ParallelCluster asks, and how each difference is bridged.

Every bridge changes moto, none changes ParallelCluster: its schema, validators and template builder run as released.
"""

import functools
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from moto.core.responses import ActionResult
from moto.ec2.exceptions import EC2ClientError
from moto.ec2.responses import EC2Response
from moto.ec2.responses.instances import InstanceResponse
from moto.iam.access_control import IAMPolicyStatement, PermissionResult

from slipway.review.judge.inside_parallelcluster import file_systems, resource_groups
from slipway.review.judge.inside_parallelcluster.answer import MotoPatch


def bridge(capacity_reservations: Sequence[Mapping[str, Any]]) -> list[MotoPatch]:
    """Bridge every difference but those of machine images; call once, before moto starts.

    Args:
        capacity_reservations: the reservations that the account holds: the emulator's capacity_reservations.yaml.

    Returns:
        What was bridged and why, for the report.
    """
    return [
        *file_systems.bridge(),
        _instance_store_volumes(),
        _bucket_policies(),
        _capacity_reservations(capacity_reservations),
        _placement_groups(capacity_reservations),
        resource_groups.bridge(capacity_reservations),
    ]


def _instance_store_volumes() -> MotoPatch:
    plain: Callable[[dict[str, Any]], None] = InstanceResponse._validate_block_device_mapping

    def validate(device_mapping: dict[str, Any]) -> None:
        if "VirtualName" not in device_mapping:
            plain(device_mapping)

    InstanceResponse._validate_block_device_mapping = staticmethod(validate)  # type: ignore[method-assign]
    return MotoPatch(
        "instance store volumes", "moto's RunInstances refuses block devices with a VirtualName; they are let through"
    )


def _bucket_policies() -> MotoPatch:
    plain = IAMPolicyStatement.is_action_permitted

    @functools.wraps(plain)
    def is_action_permitted(
        self: IAMPolicyStatement,
        action: str,
        resource: str = "*",
        principal: str | None = None,
        incoming_condition_values: dict[str, str] | None = None,
    ) -> PermissionResult:
        statement_principal = self._statement.get("Principal")
        for_a_service = isinstance(statement_principal, dict) and "Service" in statement_principal
        if for_a_service or (self._statement.get("Condition") and not incoming_condition_values):
            return PermissionResult.NEUTRAL
        return plain(self, action, resource, principal, incoming_condition_values)

    IAMPolicyStatement.is_action_permitted = is_action_permitted  # type: ignore[method-assign]
    return MotoPatch(
        "bucket policies",
        "moto applies statements with conditions that it cannot evaluate and those for AWS services to every request, "
        "so that `deny plain HTTP` denies all; such statements are left out",
    )


def _capacity_reservations(reservations: Sequence[Mapping[str, Any]]) -> MotoPatch:
    by_id = {reservation["id"]: reservation for reservation in reservations}

    def describe_capacity_reservations(self: EC2Response) -> ActionResult:
        wanted = self._get_param("CapacityReservationIds", []) or list(by_id)
        for unknown in set(wanted) - set(by_id):
            raise EC2ClientError(
                "InvalidCapacityReservationId.NotFound", f"The capacity reservation {unknown} does not exist"
            )
        zones = {zone.zone_id: zone.name for zone in self.ec2_backend.describe_availability_zones()}
        arn = f"arn:aws:ec2:{self.region}:{self.current_account}:capacity-reservation"
        described = [_described(by_id[reservation], zones, arn) for reservation in wanted]
        return ActionResult({"CapacityReservations": described})

    EC2Response.describe_capacity_reservations = describe_capacity_reservations  # type: ignore[attr-defined]
    return MotoPatch(
        "capacity reservations",
        "moto has no DescribeCapacityReservations; it answers from the emulator's capacity_reservations.yaml",
    )


def _described(reservation: Mapping[str, Any], zones: Mapping[str, str], arn: str) -> dict[str, Any]:
    """Give EC2's description of a reservation; `zones` maps zone ids to names, `arn` is without the id."""
    block = reservation["type"] == "capacity-block"
    return {
        "CapacityReservationId": reservation["id"],
        "CapacityReservationArn": f"{arn}/{reservation['id']}",
        "ReservationType": reservation["type"],
        "InstanceType": reservation["instance_type"],
        "InstancePlatform": "Linux/UNIX",
        "AvailabilityZoneId": reservation["availability_zone_id"],
        "AvailabilityZone": zones[reservation["availability_zone_id"]],
        "Tenancy": "default",
        "TotalInstanceCount": reservation["instances"],
        "AvailableInstanceCount": reservation["instances"],
        "State": "active",
        "InstanceMatchCriteria": "targeted" if block else "open",
        **_made_in(reservation, arn.removesuffix("capacity-reservation")),
    }


def _made_in(reservation: Mapping[str, Any], arn: str) -> dict[str, str]:
    group = reservation["placement_group"]
    return {"PlacementGroupArn": f"{arn}placement-group/{group}"} if group else {}


def _placement_groups(reservations: Sequence[Mapping[str, Any]]) -> MotoPatch:
    there = {reservation["placement_group"] for reservation in reservations} - {None}

    def describe_placement_groups(self: EC2Response) -> ActionResult:
        wanted = self._get_param("GroupNames", []) or sorted(there)
        for unknown in set(wanted) - there:
            raise EC2ClientError("InvalidPlacementGroup.Unknown", f"The Placement Group '{unknown}' is unknown.")
        groups = [{"GroupName": name, "State": "available", "Strategy": "cluster"} for name in wanted]
        return ActionResult({"PlacementGroups": groups})

    EC2Response.describe_placement_groups = describe_placement_groups  # type: ignore[attr-defined]
    return MotoPatch(
        "placement groups",
        "moto has no DescribePlacementGroups; its groups are those of the emulator's capacity_reservations.yaml",
    )
