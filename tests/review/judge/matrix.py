"""Every kind of node that the facts allow, spread over as few clusters as hold them all.

A kind is an instance type, how it is bought, its training stack and the operating system. ParallelCluster takes 50
compute resources in a cluster, so a handful of clusters in zones that offer the types holds everything.
"""

import itertools
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from slipway import facts
from slipway_emulator.capacity_reservations import CapacityReservation

RELEASE = facts.parallelcluster_release("3.16.1")

CAPACITY = {
    "on demand": "on-demand",
    "spot": "spot",
    "reservation": "on-demand",
    "reservation in a placement group": "on-demand",
    "reservation group": "on-demand",
    "capacity block": "capacity-block",
}
"""How nodes are bought, with the usage class that EC2 must sell the instance type in."""

CAPACITY_TYPES = {"spot": "spot", "capacity block": "capacity_block"}
"""`capacity_type` in the environment file where it is not `on_demand`."""


@dataclass(frozen=True)
class Kind:
    """One kind of node."""

    instance_type: str
    capacity: str
    training_stack: str | None
    operating_system: str

    def __str__(self) -> str:
        return f"{self.instance_type} {self.capacity} {self.training_stack or 'no stack'} {self.operating_system}"


@dataclass(frozen=True)
class Site:
    """A cluster: where it is, its operating system, and its queues in order, one for each kind."""

    region: str
    zone: str
    operating_system: str
    kinds: tuple[Kind, ...]

    @property
    def environment(self) -> dict[str, Any]:
        """The values of its environment file."""
        other = next(zone for zone in facts.region(self.region).availability_zone_ids if zone != self.zone)
        stacks = [kind.training_stack for kind in self.kinds if kind.training_stack]
        return {
            "name": "matrix",
            "region": self.region,
            "network": {"training_availability_zone_id": self.zone, "other_availability_zone_ids": [other]},
            "storage": {"lustre": {"capacity_gib": 1200, "throughput_mb_s_per_tib": 125}},
            "training": {
                "cluster_name": "matrix",
                "operating_system": self.operating_system,
                "training_stack": stacks[0],
                "queues": [self._queue(number, kind) for number, kind in enumerate(self.kinds)],
            },
        }

    def _queue(self, number: int, kind: Kind) -> dict[str, Any]:
        block = kind.capacity == "capacity block"
        resource = {"name": "nodes", "instance_type": kind.instance_type, "min_count": int(block), "max_count": 1}
        queue: dict[str, Any] = {"name": f"q{number}", "compute_resources": [resource]}
        if kind.capacity in CAPACITY_TYPES:
            queue["capacity_type"] = CAPACITY_TYPES[kind.capacity]
        if kind.training_stack:
            queue["training_stack"] = kind.training_stack
        if kind.capacity == "reservation group":
            queue["capacity_reservation_resource_group_arn"] = group_arn(self.region, number)
        elif "reservation" in kind.capacity or block:
            queue["capacity_reservation_id"] = reservation_id(number)
        if kind.capacity == "reservation in a placement group":
            queue["placement_group"] = placement_group(number)
        return queue

    @property
    def reservations(self) -> list[CapacityReservation]:
        """What its account holds."""
        return [
            CapacityReservation(
                id=reservation_id(number),
                type="capacity-block" if kind.capacity == "capacity block" else "default",
                instance_type=kind.instance_type,
                availability_zone_id=self.zone,
                instances=1,
                resource_group=f"group-{number}" if kind.capacity == "reservation group" else None,
                placement_group=placement_group(number) if "placement group" in kind.capacity else None,
            )
            for number, kind in enumerate(self.kinds)
            if "reservation" in kind.capacity or kind.capacity == "capacity block"
        ]


def reservation_id(number: int) -> str:
    """The reservation of the queue with this number."""
    return f"cr-{number:017x}"


def placement_group(number: int) -> str:
    """The placement group of the reservation of the queue with this number."""
    return f"placement-{number}"


def group_arn(region: str, number: int) -> str:
    """The resource group of the queue with this number."""
    return f"arn:aws:resource-groups:{region}:111122223333:group/group-{number}"


def _stacks(instance_type: facts.InstanceType, system: str) -> list[str | None]:
    """The training stacks of a type on an operating system; a single none for a type without accelerator."""
    if not instance_type.neuron_devices:
        return [None]
    rows = facts.training_stacks().values()
    return [
        row.name for row in rows if instance_type.family in row.instance_families and system in row.operating_systems
    ]


def _kinds_of(instance_type: facts.InstanceType, system: str) -> Iterator[Kind]:
    """On the first operating system that a type can have, all ways to buy it; on others, one for each training stack.

    How nodes are bought, what they run and on what system know nothing of each other, so not all triples are needed.
    """
    stacks = _stacks(instance_type, system)
    sold = [capacity for capacity, usage_class in CAPACITY.items() if usage_class in instance_type.usage_classes]
    first = next(name for name in facts.operating_systems() if _stacks(instance_type, name))
    count = max(len(sold), len(stacks)) if system == first else len(stacks)
    for capacity, stack in itertools.islice(zip(itertools.cycle(sold), itertools.cycle(stacks), strict=False), count):
        yield Kind(instance_type.name, capacity, stack, system)


CPU_TYPE = "c6i.4xlarge"
"""Stands for all types without accelerator: only its size distinguishes it from them."""


def _kinds_at(region: str, zone: str, system: str) -> set[Kind]:
    """All kinds that a zone offers; none where nothing in it can train."""
    offered = [row for row in facts.instance_types().values() if zone in facts.offered_zone_ids(row.name, region)]
    trainium = [row for row in offered if (facts.instance_family(row.family).accelerator or "").startswith("Trainium")]
    found = {kind for row in trainium for kind in _kinds_of(row, system)}
    return found | set(_kinds_of(facts.instance_type(CPU_TYPE), system)) if found else set()


def sites() -> list[Site]:
    """Return clusters that hold every kind: again and again the one that adds the most, spread over the Regions."""
    possible = {
        (region, zone, system): kinds
        for region in RELEASE.regions
        if region in facts.regions()
        for zone in facts.region(region).availability_zone_ids
        for system in facts.operating_systems()
        if (kinds := _kinds_at(region, zone, system))
    }
    left = set().union(*possible.values())
    chosen: list[Site] = []
    while left:
        regions, zones = [site.region for site in chosen], [site.zone for site in chosen]
        place = max(
            possible,
            key=lambda one: (len(possible[one] & left), -regions.count(one[0]), -zones.count(one[1])),
        )
        added = sorted(possible[place] & left, key=str)[: RELEASE.max_compute_resources]
        chosen.append(Site(*place, tuple(added)))
        left -= set(added)
    return chosen
