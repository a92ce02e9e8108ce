"""Rules and notices about training stacks: which Neuron release runs on which operating system, Python and chip."""

from collections.abc import Iterator

from slipway import facts
from slipway.config.environment import Environment
from slipway.config.problems import Finding, Path, listed, near_names, shown
from slipway.config.queues import ComputeResource, Queue
from slipway.config.rules.offerings import trains
from slipway.config.rules.registry import compute_resource_rule, environment_rule, queue_notice, queue_rule
from slipway.config.rules.slurm import slurm_cluster
from slipway.facts import OperatingSystem, TrainingStack

_CLUSTER_STACK = ("training", "training_stack")
_OPERATING_SYSTEM = ("training", "operating_system")


def unknown_stack(path: Path, name: str) -> Iterator[Finding]:
    """Yield a finding when the facts have no such training stack; it names those they have."""
    known = facts.training_stacks()
    if name not in known:
        fix = near_names(name, known) or f"Write {listed(known)}."
        yield Finding(path, f"Slipway does not know the training stack {shown(name)}", fix)


@environment_rule
def training_stack_known(environment: Environment) -> Iterator[Finding]:
    """The training stack is one whose packages Slipway pins."""
    yield from unknown_stack(_CLUSTER_STACK, slurm_cluster(environment).training_stack)


@queue_rule
def queue_training_stack_known(environment: Environment, path: Path, queue: Queue) -> Iterator[Finding]:
    """A queue's own training stack is one whose packages Slipway pins."""
    if queue.training_stack is not None:
        yield from unknown_stack((*path, "training_stack"), queue.training_stack)


def _wrong_system(path: Path, stack: str, environment: Environment) -> Iterator[Finding]:
    pins = facts.training_stack(stack)
    system = facts.operating_system(slurm_cluster(environment).operating_system)
    if not _runs_on(pins, system):
        message = (
            f"{pins.name} has packages for Python {listed(pins.python_versions, 'and')} on "
            f"{listed(pins.operating_systems, 'and')}; {system.name} has Python {system.python_version} and glibc "
            f"{system.glibc_version} (facts of {pins.as_of})"
        )
        systems = [row.name for row in facts.operating_systems().values() if _runs_on(pins, row)]
        others = [row.name for row in facts.training_stacks().values() if _runs_on(row, system)]
        other = f", or training_stack {listed(others)}" if others else ""
        yield Finding(path, message, f"Write operating_system {listed(systems)}{other}.")


def _runs_on(pins: TrainingStack, system: OperatingSystem) -> bool:
    return system.name in pins.operating_systems and system.python_version in pins.python_versions


@environment_rule
def training_stack_on_operating_system(environment: Environment) -> Iterator[Finding]:
    """The training stack has packages for the operating system and for the Python that comes with it."""
    yield from _wrong_system(_OPERATING_SYSTEM, slurm_cluster(environment).training_stack, environment)


@queue_rule
def queue_training_stack_on_operating_system(environment: Environment, path: Path, queue: Queue) -> Iterator[Finding]:
    """A queue's own training stack has packages for the cluster's operating system and its Python."""
    if queue.training_stack is not None:
        yield from _wrong_system((*path, "training_stack"), queue.training_stack, environment)


@queue_rule
def training_stack_on_accelerated_queue(environment: Environment, path: Path, queue: Queue) -> Iterator[Finding]:
    """Only a queue with accelerators has a training stack of its own."""
    if queue.training_stack is not None and not queue.accelerated:
        message = "nodes without accelerator have no training stack"
        yield Finding((*path, "training_stack"), message, "Remove this line.")


@queue_rule
def driver_fits_runtime(environment: Environment, path: Path, queue: Queue) -> Iterator[Finding]:
    """The Neuron driver of a queue's training stack works with the runtime library of that stack."""
    pins = facts.training_stack(queue.training_stack or slurm_cluster(environment).training_stack)
    problem = facts.driver_problem(pins.driver, pins.runtime) if queue.accelerated else None
    if problem:
        others = [
            row.name for row in facts.training_stacks().values() if facts.drivers_for(row.runtime).has(row.driver)
        ]
        place = (*path, "training_stack") if queue.training_stack else _CLUSTER_STACK
        message = f"{problem} ({pins.name}, facts of {facts.drivers_for(pins.runtime).as_of})"
        yield Finding(place, message, f"Write training_stack {listed(others)}.")


@compute_resource_rule
def training_stack_on_node(
    environment: Environment, path: Path, queue: Queue, resource: ComputeResource
) -> Iterator[Finding]:
    """The training stack of the queue supports the nodes' chip."""
    instance_type = facts.instance_type(resource.instance_type)
    if not (instance_type.neuron_devices and trains(instance_type)):
        return
    pins = facts.training_stack(queue.training_stack or slurm_cluster(environment).training_stack)
    if instance_type.family not in pins.instance_families:
        message = f"{pins.name} does not support {instance_type.name} (facts of {pins.as_of})"
        others = [row.name for row in facts.training_stacks().values() if instance_type.family in row.instance_families]
        families = [name for name in pins.instance_families if facts.instance_family(name).trains]
        other = f", or give the queue training_stack {listed(others)}" if others else ""
        yield Finding((*path, "instance_type"), message, f"Write a type of the family {listed(families)}{other}.")


@queue_notice
def training_stack_chosen(environment: Environment, path: Path, queue: Queue) -> Iterator[Finding]:
    """PyTorch/XLA came by default to nodes that have TorchNeuron too: AWS ended XLA training with SDK 2.28."""
    written = queue.training_stack is not None or "training_stack" in slurm_cluster(environment).model_fields_set
    if written or not queue.accelerated:
        return
    pins = facts.training_stack(slurm_cluster(environment).training_stack)
    families = {facts.instance_type(resource.instance_type).family for resource in queue.compute_resources}
    native = [
        row.name
        for row in facts.training_stacks().values()
        if row.framework == "native" and families.issubset(row.instance_families)
    ]
    if pins.framework == "xla" and native:
        first = queue.compute_resources[0].instance_type
        message = f"{first} gets {pins.name} by default, and AWS supports no later XLA training (facts of {pins.as_of})"
        fix = f"Write `training_stack: {pins.name}` to stay with it, or {listed(native)} (beta)."
        yield Finding((*path, "training_stack"), message, fix)
