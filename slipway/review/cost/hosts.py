"""What EC2 instances bill, whoever launches them: themselves, and their volumes."""

from collections.abc import Callable, Iterable, Mapping
from typing import Any

from slipway.assembly.instances import InstanceGroup
from slipway.assembly.stacks import CLUSTER_TYPE
from slipway.review.cost.bill import Bill

Launched = Mapping[str, list[InstanceGroup]]
"""The instance groups of a stack by the logical id of what launches them."""

_BLOCK = "paid when the Capacity Block is bought, at the price of the offer"
_SPOT = "the list price on demand, which Spot stays below"
_RESERVED = "its capacity reservation bills this price for all that it holds, whether nodes run or not"
_SERVED = "as if a version were served, at the time of day when schedules keep the most"


def _nodes(logical_id: str, properties: Mapping[str, Any], launched: Launched) -> Iterable[Bill]:
    for group in _known(logical_id, launched):
        note = _SPOT if group.purchase == "spot" else _RESERVED if group.capacity_reservation else None
        yield from _bills(group, note)


def _hosts(logical_id: str, properties: Mapping[str, Any], launched: Launched) -> Iterable[Bill]:
    for group in _known(logical_id, launched):
        note = _RESERVED if group.capacity_reservation else _SERVED if group.serves_a_model else None
        yield from _bills(group, note)


def _stopped_hosts(logical_id: str, properties: Mapping[str, Any], launched: Launched) -> Iterable[Bill]:
    for group in _known(properties["AutoScalingGroupName"]["Ref"], launched):
        stopped = properties.get("MinSize", 0)
        yield from _volumes(group, f"stopped {group.purpose}", stopped, stopped)


MACHINES: Mapping[str, Callable[[str, Mapping[str, Any], Launched], Iterable[Bill]]] = {
    "AWS::AutoScaling::AutoScalingGroup": _hosts,
    "AWS::AutoScaling::WarmPool": _stopped_hosts,
    "AWS::EKS::Nodegroup": _nodes,
    CLUSTER_TYPE: _nodes,
}
"""By type of the resource that launches or keeps them: logical id, properties and the instance groups of its stack."""


def _known(logical_id: str, launched: Launched) -> list[InstanceGroup]:
    """Return the instance groups of a resource that launches some.

    Raises:
        ValueError: the template does not say of which one instance type they are, or how many.
    """
    if not launched.get(logical_id):
        raise ValueError(f"{logical_id} does not name one instance type, or not how many")
    return launched[logical_id]


def _bills(group: InstanceGroup, note: str | None) -> Iterable[Bill]:
    is_block = group.purchase == "capacity_block"
    yield Bill(
        f"{group.purpose}, {group.instance_type}",
        None if is_block else group.instance_type,
        group.idle_count,
        group.peak_count,
        _BLOCK if is_block else note,
    )
    yield from _volumes(group, group.purpose, group.idle_count, group.peak_count)


def _volumes(group: InstanceGroup, whose: str, idle: int, peak: int) -> Iterable[Bill]:
    size, throughput, iops = (
        group.volume_gib,
        group.extra_throughput_mib_s,
        group.extra_iops,
    )
    yield Bill(f"volumes of {whose}, {size} GiB gp3 each", "gp3_gb_month", idle * size, peak * size)
    if throughput:
        what = f"volumes of {whose}, {throughput} MiB/s beyond the base each"
        yield Bill(what, "gp3_mbps_month", idle * throughput, peak * throughput)
    if iops:
        what = f"volumes of {whose}, {iops} IOPS beyond the base each"
        yield Bill(what, "gp3_iops_month", idle * iops, peak * iops)
