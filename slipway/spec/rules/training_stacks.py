"""Rules about training stacks: which Neuron release runs on which operating system, Python and chip."""

from collections.abc import Iterator

from slipway import facts
from slipway.spec.environment import Environment
from slipway.spec.problems import Finding, Path, listed, near_names, shown
from slipway.spec.queues import ComputeResource, Queue
from slipway.spec.rules.registry import compute_resource_rule, environment_rule, queue_rule

_CLUSTER_STACK = ("training", "training_stack")
_OPERATING_SYSTEM = ("training", "operating_system")


def _unknown_stack(path: Path, name: str) -> Iterator[Finding]:
    known = facts.training_stacks()
    if name not in known:
        fix = near_names(name, known) or f"Write {listed(known)}."
        yield Finding(path, f"there are no facts about a training stack {shown(name)}", fix)


@environment_rule
def training_stack_known(environment: Environment) -> Iterator[Finding]:
    """The training stack is one whose packages the facts pin."""
    yield from _unknown_stack(_CLUSTER_STACK, environment.training.training_stack)


@queue_rule
def queue_training_stack_known(environment: Environment, path: Path, queue: Queue) -> Iterator[Finding]:
    """A queue's own training stack is one whose packages the facts pin."""
    if queue.training_stack is not None:
        yield from _unknown_stack((*path, "training_stack"), queue.training_stack)


def _wrong_system(path: Path, stack: str, environment: Environment) -> Iterator[Finding]:
    pins = facts.training_stack(stack)
    system = facts.operating_system(environment.training.operating_system)
    if system.name not in pins.operating_systems:
        message = (
            f"{pins.name} does not run on {system.name} with its Python {system.python_version} "
            f"and glibc {system.glibc_version} (facts of {pins.as_of})"
        )
        others = [row.name for row in facts.training_stacks().values() if system.name in row.operating_systems]
        other = f", or take training_stack {listed(others)}" if others else ""
        yield Finding(path, message, f"Write operating_system {listed(pins.operating_systems)}{other}.")


@environment_rule
def training_stack_on_operating_system(environment: Environment) -> Iterator[Finding]:
    """The training stack runs on the operating system, with its Python and C library."""
    yield from _wrong_system(_OPERATING_SYSTEM, environment.training.training_stack, environment)


@queue_rule
def queue_training_stack_on_operating_system(environment: Environment, path: Path, queue: Queue) -> Iterator[Finding]:
    """A queue's own training stack runs on the cluster's operating system."""
    if queue.training_stack is not None:
        yield from _wrong_system((*path, "training_stack"), queue.training_stack, environment)


@queue_rule
def training_stack_on_accelerated_queue(environment: Environment, path: Path, queue: Queue) -> Iterator[Finding]:
    """Only a queue with accelerators has a training stack of its own."""
    if queue.training_stack is not None and not queue.accelerated:
        message = "nodes without accelerator have no training stack"
        yield Finding((*path, "training_stack"), message, "Remove this line.")


@compute_resource_rule
def training_stack_on_node(
    environment: Environment, path: Path, queue: Queue, resource: ComputeResource
) -> Iterator[Finding]:
    """The training stack of the queue supports the nodes' chip."""
    if not resource.accelerated:
        return
    pins = facts.training_stack(queue.training_stack or environment.training.training_stack)
    instance_type = facts.instance_type(resource.instance_type)
    if instance_type.family not in pins.instance_families:
        message = f"{pins.name} does not support {instance_type.name} (facts of {pins.as_of})"
        rows = facts.training_stacks().values()
        others = [row.name for row in rows if instance_type.family in row.instance_families]
        other = f", or give the queue training_stack {listed(others)}" if others else ""
        fix = f"Write a type of the family {listed(pins.instance_families)}{other}."
        yield Finding((*path, "instance_type"), message, fix)
