"""Rules and notices about the compute nodes: instance types, EFA, counts."""

from collections.abc import Iterator

from slipway import facts
from slipway.config.environment import Environment
from slipway.config.problems import Finding, Path, listed
from slipway.config.queues import ComputeResource, Queue
from slipway.config.rules.offerings import (
    no_efa,
    node_types,
    not_offered,
    trains,
    unknown_type,
    unpriced_type,
    unused_efa,
)
from slipway.config.rules.registry import compute_resource_notice, compute_resource_rule, queue_rule


@compute_resource_rule
def node_type_known(environment: Environment, path: Path, queue: Queue, resource: ComputeResource) -> Iterator[Finding]:
    """The nodes' instance type is one that Slipway knows."""
    yield from unknown_type((*path, "instance_type"), resource.instance_type, node_types(), any_cpu_type=True)


@compute_resource_rule
def node_type_trains(
    environment: Environment, path: Path, queue: Queue, resource: ComputeResource
) -> Iterator[Finding]:
    """The nodes' accelerator is one for training: AWS has Inferentia for inference alone, and it has no EFA."""
    instance_type = facts.instance_type(resource.instance_type)
    if instance_type.neuron_devices and not trains(instance_type):
        family = facts.instance_family(instance_type.family)
        message = f"{instance_type.name} is for inference, not for training (facts of {family.as_of})"
        possible = [row.name for row in node_types() if row.neuron_devices]
        yield Finding((*path, "instance_type"), message, f"Write {listed(possible)}.")


@queue_rule
def nodes_of_one_kind(environment: Environment, path: Path, queue: Queue) -> Iterator[Finding]:
    """A queue has only nodes with accelerators or only nodes without: they differ in set-up and in how jobs share."""
    first, *others = queue.compute_resources
    for index, resource in enumerate(others, start=1):
        if resource.accelerated != first.accelerated:
            message = f"{_kind(resource)} cannot be in one queue with {_kind(first)}"
            yield Finding((*path, "compute_resources", index, "instance_type"), message, "Give it a queue of its own.")


def _kind(resource: ComputeResource) -> str:
    return f"{resource.instance_type} {'with' if resource.accelerated else 'without'} accelerator"


@queue_rule
def accelerated_nodes_exclusive(environment: Environment, path: Path, queue: Queue) -> Iterator[Finding]:
    """Jobs get whole nodes where these have accelerators: ParallelCluster refuses GRES, so Slurm cannot share them."""
    if queue.job_exclusive_allocation is False and queue.accelerated:
        message = "two jobs on one node would take the same NeuronCores, which Slurm cannot count"
        fix = "Remove this line; share a node inside one job, with NEURON_RT_VISIBLE_CORES for each of its steps."
        yield Finding((*path, "job_exclusive_allocation"), message, fix)


@compute_resource_rule
def node_type_offered(
    environment: Environment, path: Path, queue: Queue, resource: ComputeResource
) -> Iterator[Finding]:
    """The queue's zone offers the nodes' instance type."""
    zone = queue.availability_zone_id or environment.network.training_availability_zone_id
    yield from not_offered((*path, "instance_type"), resource.instance_type, environment.region, (zone,))


@compute_resource_rule
def efa_available(environment: Environment, path: Path, queue: Queue, resource: ComputeResource) -> Iterator[Finding]:
    """EFA is asked for only where the instance type has it."""
    yield from no_efa((*path, "efa"), resource.instance_type, efa=resource.efa)


@compute_resource_rule
def efa_between_nodes(
    environment: Environment, path: Path, queue: Queue, resource: ComputeResource
) -> Iterator[Finding]:
    """EFA is off only for a single node where the type trains over several network cards: jobs of two would crawl."""
    yield from unused_efa((*path, "efa"), resource.instance_type, efa=resource.efa, nodes=resource.max_count)


@queue_rule
def efa_equal_for_type(environment: Environment, path: Path, queue: Queue) -> Iterator[Finding]:
    """Within a queue, all nodes of one instance type have EFA or none has: a node checks itself by its type."""
    first: dict[str, ComputeResource] = {}
    for index, resource in enumerate(queue.compute_resources):
        earlier = first.setdefault(resource.instance_type, resource)
        if earlier.uses_efa != resource.uses_efa:
            message = f"differs from compute resource {earlier.name}, which has the same instance type"
            fix = "Give both the same efa, or put them into queues of their own."
            yield Finding((*path, "compute_resources", index, "efa"), message, fix)


@compute_resource_rule
def counts_in_order(environment: Environment, path: Path, queue: Queue, resource: ComputeResource) -> Iterator[Finding]:
    """min_count is not larger than max_count."""
    if resource.min_count > resource.max_count:
        message = f"is larger than max_count (got {resource.min_count}, max_count is {resource.max_count})"
        yield Finding((*path, "min_count"), message, f"Write {resource.max_count} or less, or raise max_count.")


@compute_resource_notice
def node_type_unpriced(
    environment: Environment, path: Path, queue: Queue, resource: ComputeResource
) -> Iterator[Finding]:
    """The nodes' instance type is one without facts."""
    yield from unpriced_type((*path, "instance_type"), resource.instance_type)


@compute_resource_notice
def static_nodes_without_reservation(
    environment: Environment, path: Path, queue: Queue, resource: ComputeResource
) -> Iterator[Finding]:
    """min_count is not 0 for nodes with accelerators and nothing reserves them: creation waits for them, then fails."""
    if resource.min_count and resource.accelerated and not queue.reserved:
        message = (
            f"the cluster comes up only if EC2 has {resource.min_count} {resource.instance_type} at that moment, "
            "and nothing reserves them"
        )
        fix = "Write `min_count: 0` until the cluster is deployed, or name a reservation."
        yield Finding((*path, "min_count"), message, fix)
