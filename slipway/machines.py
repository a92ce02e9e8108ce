"""The EC2 instances that a cloud assembly can launch, whoever launches them: Slurm, EKS, ECS."""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Literal

from slipway.assembly import Stack

Purchase = Literal["on_demand", "spot", "capacity_block"]


@dataclass(frozen=True)
class Machines:
    """Instances of one type for one purpose.

    Attributes:
        stack: the stack whose template has them.
        logical_id: the resource that launches them.
        purpose: what they are for, for example `head node` or `queue trn1, trn1-32xl`.
        instance_type: EC2 instance type.
        purchase: how they are paid.
        idle_count: how many run while nobody uses the environment.
        peak_count: how many run at most.
        availability_zone_ids: where they can be; empty when the template names the zone by other means.
        capacity_reservation: id of their reservation, or ARN of the resource group of their reservations.
        volume_gib: size of the EBS volumes of each, in GiB.
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


def machines(stacks: tuple[Stack, ...]) -> Iterator[Machines]:
    """Yield everything that the stacks of an environment can launch.

    Args:
        stacks: the stacks of one assembly; a queue's subnet may be in another stack than the queue.
    """
    raise NotImplementedError
