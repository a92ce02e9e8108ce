"""Rules about the compute nodes: instance types, EFA, counts."""

from collections.abc import Iterator

from slipway import facts
from slipway.spec.environment import Environment
from slipway.spec.problems import Finding, Path
from slipway.spec.queues import ComputeResource, Queue
from slipway.spec.rules.offerings import not_offered, unknown_type
from slipway.spec.rules.registry import compute_resource_rule, queue_rule


@compute_resource_rule
def node_type_known(environment: Environment, path: Path, queue: Queue, resource: ComputeResource) -> Iterator[Finding]:
    """The nodes' instance type is one that the facts describe."""
    yield from unknown_type((*path, "instance_type"), resource.instance_type, accelerated=True)


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
    instance_type = facts.instance_type(resource.instance_type)
    if resource.efa and not instance_type.efa_interfaces:
        message = f"{instance_type.name} has no EFA (facts of {instance_type.as_of})"
        yield Finding((*path, "efa"), message, "Remove this line, or take a type with EFA such as trn1.32xlarge.")


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
