"""Rules about how nodes are bought: on demand, as Spot capacity, from a reservation, in a Capacity Block."""

from collections.abc import Iterator

from slipway.config.environment import Environment
from slipway.config.problems import Finding, Path
from slipway.config.queues import ComputeResource, Queue
from slipway.config.rules.arns import other_region
from slipway.config.rules.offerings import not_sold
from slipway.config.rules.registry import compute_resource_rule, environment_rule, queue_rule
from slipway.config.rules.slurm import slurm_cluster


@compute_resource_rule
def capacity_type_sold(
    environment: Environment, path: Path, queue: Queue, resource: ComputeResource
) -> Iterator[Finding]:
    """EC2 sells the instance type in the way that the queue asks for."""
    yield from not_sold((*path, "instance_type"), resource.instance_type, queue.capacity_type, "the queue's")


@queue_rule
def capacity_block_has_reservation(environment: Environment, path: Path, queue: Queue) -> Iterator[Finding]:
    """A Capacity Block queue names the block by its reservation id."""
    if queue.capacity_type == "capacity_block" and queue.capacity_reservation_id is None:
        message = "capacity_block needs the id of the block"
        fix = "Add `capacity_reservation_id: cr-...`, which EC2 shows under Capacity Reservations."
        yield Finding((*path, "capacity_type"), message, fix)


@compute_resource_rule
def capacity_block_is_static(
    environment: Environment, path: Path, queue: Queue, resource: ComputeResource
) -> Iterator[Finding]:
    """In a Capacity Block queue min_count equals max_count: the block is paid whether it is used or not."""
    if queue.capacity_type == "capacity_block" and resource.min_count != resource.max_count:
        message = (
            "a capacity_block queue needs min_count = max_count > 0 "
            f"(got min_count {resource.min_count}, max_count {resource.max_count})"
        )
        yield Finding((*path, "min_count"), message, f"Write `min_count: {resource.max_count}`.")


@queue_rule
def spot_without_reservation(environment: Environment, path: Path, queue: Queue) -> Iterator[Finding]:
    """A Spot queue has no capacity reservation."""
    if queue.capacity_type == "spot" and queue.capacity_reservation_id is not None:
        fix = "Remove this line, or set the queue's capacity_type to on_demand."
        yield Finding((*path, "capacity_reservation_id"), "Spot capacity cannot come from a reservation", fix)


@queue_rule
def reservation_named_once(environment: Environment, path: Path, queue: Queue) -> Iterator[Finding]:
    """A queue names a reservation or a resource group of reservations, not both."""
    if queue.capacity_reservation_id and queue.capacity_reservation_resource_group_arn:
        message = "the queue names one reservation already"
        fix = "Keep this line or capacity_reservation_id."
        yield Finding((*path, "capacity_reservation_resource_group_arn"), message, fix)


@queue_rule
def reservation_group_on_demand(environment: Environment, path: Path, queue: Queue) -> Iterator[Finding]:
    """A resource group holds On-Demand Capacity Reservations, so its queue is on demand."""
    if queue.capacity_reservation_resource_group_arn and queue.capacity_type != "on_demand":
        message = f"{queue.capacity_type} capacity does not come from a group of reservations"
        fix = "Remove this line, or set the queue's capacity_type to on_demand."
        yield Finding((*path, "capacity_reservation_resource_group_arn"), message, fix)


@queue_rule
def reservation_group_in_region(environment: Environment, path: Path, queue: Queue) -> Iterator[Finding]:
    """The resource group of reservations is in the environment's partition and Region."""
    arn = queue.capacity_reservation_resource_group_arn
    if arn is not None:
        fix = "Name a group there: reservations are of one Region."
        yield from other_region((*path, "capacity_reservation_resource_group_arn"), arn, environment.region, fix)


@queue_rule
def placement_group_of_reservation(environment: Environment, path: Path, queue: Queue) -> Iterator[Finding]:
    """A queue's placement group is that of its reservation; nodes on demand get one of the queue's own with EFA."""
    if queue.placement_group is not None:
        yield from unreserved_placement((*path, "placement_group"), queue.capacity_type, reserved=queue.reserved)


def unreserved_placement(path: Path, capacity_type: str, *, reserved: bool) -> Iterator[Finding]:
    """Yield a finding when nodes have no reservation that can have been made in a placement group.

    A Capacity Block has none: EC2 places its instances close together itself (EC2 User Guide, Capacity Blocks for ML),
    and may find no capacity inside another group (aws-parallelcluster 3.16.1, PlacementGroupCapacityTypeValidator).

    Args:
        path: The field `placement_group`.
        capacity_type: `on_demand`, `spot` or `capacity_block`.
        reserved: Whether a reservation or a group of them is named.
    """
    if capacity_type == "capacity_block":
        message = "a Capacity Block is in no placement group: EC2 places its nodes close together itself"
        yield Finding(path, message, "Remove this line.")
    elif not reserved:
        message = "only nodes from a reservation start in a placement group that is there already"
        fix = "Name the reservation, or remove this line: other nodes with EFA get a placement group of their own."
        yield Finding(path, message, fix)


@environment_rule
def reservation_of_one_kind(environment: Environment) -> Iterator[Finding]:
    """A reservation id is used for one instance type and one capacity type only: it is one or the other."""
    users: dict[str, tuple[str, str]] = {}
    for index, queue in enumerate(slurm_cluster(environment).queues):
        path = ("training", "queues", index)
        reservation = queue.capacity_reservation_id
        for resource in queue.compute_resources if reservation else ():
            use = (resource.instance_type, queue.capacity_type)
            first = users.setdefault(str(reservation), use)
            if use != first:
                message = f"{reservation} is used for {' as '.join(first)} and for {' as '.join(use)}"
                fix = "Name another reservation, or one instance type and capacity type for this one."
                yield Finding((*path, "capacity_reservation_id"), message, fix)
                break
