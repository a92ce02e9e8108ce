"""Instances of one type for one purpose, and what every launcher's settings are read with."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Literal

from slipway.assembly.sections import Section, UnknownValue, is_open

Purchase = Literal["on_demand", "spot", "capacity_block"]
"""How instances are paid."""


@dataclass(frozen=True)
class InstanceGroup:
    """Instances of one type for one purpose.

    Attributes:
        stack: the stack whose template has them.
        logical_id: the resource that launches them.
        purpose: what they are for, for example `head node` or `queue trn1, trn1-32xl`.
        instance_type: EC2 instance type.
        purchase: how they are paid.
        idle_count: how many run while the environment is idle. Hosts of a model: as if a version of it were served,
            at the time of day when its schedules keep the most.
        peak_count: how many run at most.
        availability_zone_ids: where they can be; empty when the template names the zone by other means.
        capacity_reservation: id of their reservation, or ARN of the resource group of their reservations.
        placement_group: name of the placement group that is there before the deployment and that they start in.
        volume_gib: size of the EBS volumes of each, in GiB.
        extra_iops: operations a second of the volumes of each, beyond those that come with a gp3 volume.
        extra_throughput_mib_s: throughput of the volumes of each in MiB/s, beyond what comes with a gp3 volume.
        serves_a_model: whether they are the hosts of an ECS service, which has them only while it has tasks.
    """

    stack: str
    logical_id: str
    purpose: str
    instance_type: str
    purchase: Purchase
    idle_count: int
    peak_count: int
    availability_zone_ids: tuple[str, ...]
    capacity_reservation: str | None
    volume_gib: int
    placement_group: str | None = None
    extra_iops: int = 0
    extra_throughput_mib_s: int = 0
    serves_a_model: bool = False


Zones = Mapping[str, str | None]
"""Reference to a subnet -> its zone id, where the templates say it."""


def zone_ids(references: list[str], zones: Zones) -> tuple[str, ...]:
    """Return the zones of subnets in their order; none of those that are not in the templates."""
    return tuple(dict.fromkeys(zone for reference in references if (zone := zones.get(reference))))


def one_type(*names: str | None) -> str:
    """Return the one instance type that is named.

    Raises:
        UnknownValue: there are several, of which AWS takes any, or only a parameter has it.
    """
    named = [name for name in names if name]
    if len(named) != 1 or is_open(named[0]):
        raise UnknownValue("no single instance type is named")
    return named[0]


def reservation_of(target: Section) -> str | None:
    """Return the id of the reservation, or the ARN of the group of reservations, that instances start in."""
    return target.hint("CapacityReservationId") or target.hint("CapacityReservationResourceGroupArn")


def placement_group_of(placement: Section, key: str) -> str | None:
    """Return the name of a placement group, or none of one that the deployment makes."""
    name = placement.hint(key)
    return None if name is None or is_open(name) else name
