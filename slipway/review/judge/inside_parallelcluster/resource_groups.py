"""Resource groups of capacity reservations, which moto's AWS Resource Groups does not have."""

import json
from collections.abc import Mapping, Sequence
from typing import Any

from moto.resourcegroups.exceptions import BadRequestException
from moto.resourcegroups.responses import ResourceGroupsResponse
from moto.resourcegroups.urls import url_paths

from slipway.review.judge.inside_parallelcluster.answer import MotoPatch

_CONFIGURATION = [
    {"Type": "AWS::EC2::CapacityReservationPool"},
    {
        "Type": "AWS::ResourceGroups::Generic",
        "Parameters": [{"Name": "allowed-resource-types", "Values": ["AWS::EC2::CapacityReservation"]}],
    },
]
"""What makes a group one of capacity reservations (EC2 User Guide, "Create a Capacity Reservation group")."""


def bridge(reservations: Sequence[Mapping[str, Any]]) -> MotoPatch:
    """Let moto answer for the groups that reservations belong to; call once, before moto starts.

    Args:
        reservations: rows of the emulator's capacity_reservations.yaml.
    """
    groups: dict[str, list[str]] = {}
    for reservation in reservations:
        if reservation["resource_group"]:
            groups.setdefault(reservation["resource_group"], []).append(reservation["id"])

    def members(response: ResourceGroupsResponse) -> list[str]:
        name = response._get_param("Group").rpartition("/")[2]
        if name not in groups:
            raise BadRequestException(f"Cannot find the group {name}")
        return groups[name]

    def get_group_configuration(self: ResourceGroupsResponse) -> str:
        members(self)
        return json.dumps({"GroupConfiguration": {"Configuration": _CONFIGURATION}})

    def list_group_resources(self: ResourceGroupsResponse) -> str:
        arn = f"arn:aws:ec2:{self.region}:{self.current_account}:capacity-reservation"
        identifiers = [
            {"Identifier": {"ResourceArn": f"{arn}/{member}", "ResourceType": "AWS::EC2::CapacityReservation"}}
            for member in members(self)
        ]
        return json.dumps({"Resources": identifiers})

    ResourceGroupsResponse.get_group_configuration = get_group_configuration  # type: ignore[method-assign]
    ResourceGroupsResponse.list_group_resources = list_group_resources  # type: ignore[assignment,method-assign]
    url_paths["{0}/list-group-resources$"] = ResourceGroupsResponse.dispatch
    return MotoPatch(
        "resource groups",
        "moto has no groups of capacity reservations; it answers from the emulator's capacity_reservations.yaml",
    )
