"""What machines bill, whoever launches them: themselves, and their volumes."""

from collections.abc import Iterable, Mapping

from slipway.machines import Machines
from slipway.plan.cost.bill import Bill

_BLOCK = "paid when the Capacity Block is bought, at the price of the offer"
_SPOT = "the list price on demand, which Spot stays below"
_RESERVED = "its capacity reservation bills this price for all that it holds, whether nodes run or not"
_SERVED = "as if a version were served, at the time of day when schedules keep the most"

INFERENCE = "AWS::AutoScaling::AutoScalingGroup"
"""Resource type that launches hosts of models."""


def machine_bills(machines: Machines, resource_type: str) -> Iterable[Bill]:
    """Yield what machines bill.

    Args:
        machines: instances of one type for one purpose.
        resource_type: type of the resource that launches them.
    """
    yield Bill(
        f"{machines.purpose}, {machines.instance_type}",
        None if machines.purchase == "capacity_block" else machines.instance_type,
        machines.idle_count,
        machines.peak_count,
        _note(machines, resource_type),
    )
    yield Bill(
        f"volumes of {machines.purpose}, {machines.volume_gib} GiB gp3 each",
        "gp3_gb_month",
        machines.idle_count * machines.volume_gib,
        machines.peak_count * machines.volume_gib,
    )


def warm_pool_bills(pool: Mapping[str, int], machines: Machines) -> Iterable[Bill]:
    """Yield what stopped hosts of a model bill: their volumes.

    Args:
        pool: properties of the warm pool.
        machines: the hosts of its group.
    """
    volumes = pool["MinSize"] * machines.volume_gib
    yield Bill(f"volumes of stopped {machines.purpose}, {machines.volume_gib} GiB gp3 each", "gp3_gb_month", volumes)


def _note(machines: Machines, resource_type: str) -> str | None:
    if machines.purchase == "capacity_block":
        return _BLOCK
    if machines.purchase == "spot":
        return _SPOT
    if machines.capacity_reservation:
        return _RESERVED
    return _SERVED if resource_type == INFERENCE else None
