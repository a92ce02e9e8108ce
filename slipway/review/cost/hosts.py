"""What machines bill, whoever launches them: themselves, and their volumes."""

from collections.abc import Callable, Iterable, Mapping
from typing import Any

from slipway.assembly.instances import Machines
from slipway.assembly.stacks import CLUSTER_TYPE
from slipway.review.cost.bill import Bill

Launched = Mapping[str, list[Machines]]
"""The machines of a stack by the logical id of what launches them."""

_BLOCK = "paid when the Capacity Block is bought, at the price of the offer"
_SPOT = "the list price on demand, which Spot stays below"
_RESERVED = "its capacity reservation bills this price for all that it holds, whether nodes run or not"
_SERVED = "as if a version were served, at the time of day when schedules keep the most"


def _nodes(logical_id: str, properties: Mapping[str, Any], launched: Launched) -> Iterable[Bill]:
    for machines in _known(logical_id, launched):
        note = _SPOT if machines.purchase == "spot" else _RESERVED if machines.capacity_reservation else None
        yield from _bills(machines, note)


def _hosts(logical_id: str, properties: Mapping[str, Any], launched: Launched) -> Iterable[Bill]:
    for machines in _known(logical_id, launched):
        yield from _bills(machines, _SERVED if machines.serves_a_model else None)


def _stopped_hosts(logical_id: str, properties: Mapping[str, Any], launched: Launched) -> Iterable[Bill]:
    for machines in _known(properties["AutoScalingGroupName"]["Ref"], launched):
        stopped = properties.get("MinSize", 0)
        yield from _volumes(machines, f"stopped {machines.purpose}", stopped, stopped)


MACHINES: Mapping[str, Callable[[str, Mapping[str, Any], Launched], Iterable[Bill]]] = {
    "AWS::AutoScaling::AutoScalingGroup": _hosts,
    "AWS::AutoScaling::WarmPool": _stopped_hosts,
    "AWS::EKS::Nodegroup": _nodes,
    CLUSTER_TYPE: _nodes,
}
"""By type of the resource that launches or keeps them: its logical id, its properties and the machines of its stack."""


def _known(logical_id: str, launched: Launched) -> list[Machines]:
    """Return the machines of a resource that launches some.

    Raises:
        ValueError: the template does not say of which one instance type they are, or how many.
    """
    if not launched.get(logical_id):
        raise ValueError(f"{logical_id} does not name one instance type, or not how many")
    return launched[logical_id]


def _bills(machines: Machines, note: str | None) -> Iterable[Bill]:
    is_block = machines.purchase == "capacity_block"
    yield Bill(
        f"{machines.purpose}, {machines.instance_type}",
        None if is_block else machines.instance_type,
        machines.idle_count,
        machines.peak_count,
        _BLOCK if is_block else note,
    )
    yield from _volumes(machines, machines.purpose, machines.idle_count, machines.peak_count)


def _volumes(machines: Machines, whose: str, idle: int, peak: int) -> Iterable[Bill]:
    size, throughput, iops = machines.volume_gib, machines.extra_throughput_mib_s, machines.extra_iops
    yield Bill(f"volumes of {whose}, {size} GiB gp3 each", "gp3_gb_month", idle * size, peak * size)
    if throughput:
        what = f"volumes of {whose}, {throughput} MiB/s beyond the base each"
        yield Bill(what, "gp3_mbps_month", idle * throughput, peak * throughput)
    if iops:
        what = f"volumes of {whose}, {iops} IOPS beyond the base each"
        yield Bill(what, "gp3_iops_month", idle * iops, peak * iops)
