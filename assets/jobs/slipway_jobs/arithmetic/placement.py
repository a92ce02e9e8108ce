"""Where a recipe runs: its queue, instance type and training stack in an environment."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from slipway_jobs.environment import Environment, InstanceType, Queue, TrainingStack
from slipway_jobs.recipe.model import Hardware, Recipe
from slipway_jobs.recipe.problems import Finding, listed, near_name


@dataclass(frozen=True)
class Placement:
    """A recipe and the nodes that train it."""

    recipe: Recipe
    environment: Environment
    queue: Queue
    cpu_queue: Queue
    instance_type: str
    stack_name: str

    @property
    def instance(self) -> InstanceType:
        """What a node is."""
        return self.environment.instance_types[self.instance_type]

    @property
    def stack(self) -> TrainingStack:
        """The Neuron release on it."""
        return self.environment.training_stacks[self.stack_name]

    @property
    def on_neuron(self) -> bool:
        """Whether it trains on the accelerator."""
        return self.recipe.hardware.device == "neuron"

    @property
    def workers_per_node(self) -> int:
        """Training processes on a node."""
        return self.recipe.hardware.workers_per_node or (self.instance.logical_neuron_cores if self.on_neuron else 1)

    @property
    def world_size(self) -> int:
        """Training processes of the job."""
        return self.recipe.hardware.nodes * self.workers_per_node

    @property
    def nodes_there(self) -> int:
        """Nodes of the instance type that the queue can have."""
        return self.queue.instance_types[self.instance_type]


class NoPlacement(Exception):  # noqa: N818 (a user's mistake, not an error of the program)
    """An environment has no place for a recipe; `findings` say why."""

    def __init__(self, findings: list[Finding]) -> None:
        self.findings = findings
        super().__init__("; ".join(finding.message for finding in findings))


def place(recipe: Recipe, environment: Environment) -> Placement:
    """Find the queue, the instance type and the training stack for a recipe.

    Raises:
        NoPlacement: the environment has none.
    """
    findings = list(_unusable(recipe.hardware, environment))
    if findings:
        raise NoPlacement(findings)
    queue, instance_type = next(_candidates(recipe.hardware, environment))
    stack = queue.training_stack if recipe.hardware.device == "neuron" else None
    return Placement(
        recipe,
        environment,
        queue,
        cpu_queue=cpu_queue(environment) or queue,
        instance_type=instance_type,
        stack_name=stack or next(_stacks_of(recipe.hardware.framework, environment)),
    )


def _unusable(hardware: Hardware, environment: Environment) -> Iterator[Finding]:
    """Say why no queue will do."""
    queues = {queue.name: queue for queue in environment.queues}
    if hardware.queue is not None and hardware.queue not in queues:
        message = f"the cluster `{environment.cluster_name}` has no queue `{hardware.queue}`"
        yield Finding(("hardware", "queue"), message, near_name(hardware.queue, queues))
    elif (candidate := next(_candidates(hardware, environment), None)) is None:
        yield _no_nodes(hardware, environment)
    elif hardware.device == "neuron" and candidate[0].training_stack is None:
        message = f"the nodes {candidate[1]} of the queue `{candidate[0].name}` have no training stack"
        yield Finding(("hardware", "instance_type"), message, "Choose a type with Trainium, or write `device: cpu`.")
    if hardware.device == "neuron" and hardware.instance_type is None:
        types = _accelerated(environment)
        fix = f"Add `instance_type:`, one of {listed(types)}." if types else "Add nodes with Trainium to the cluster."
        yield Finding(("hardware", "instance_type"), "is missing, and `device: neuron` needs it", fix)
    if hardware.device == "cpu" and hardware.workers_per_node is None:
        yield Finding(("hardware", "workers_per_node"), "is missing, and `device: cpu` needs it", "For example 2.")
    if hardware.device == "cpu" and next(_stacks_of(hardware.framework, environment), None) is None:
        yield _no_stack(hardware, environment)


def _no_nodes(hardware: Hardware, environment: Environment) -> Finding:
    where = f"queue `{hardware.queue}`" if hardware.queue else f"any queue of the cluster `{environment.cluster_name}`"
    if hardware.instance_type is None:
        return Finding(("hardware", "device"), f"{where} has no node with Trainium", "Choose another queue.")
    types = sorted({name for queue in environment.queues for name in queue.instance_types})
    message = f"no node of the type `{hardware.instance_type}` in {where}"
    return Finding(("hardware", "instance_type"), message, f"The cluster has {listed(types, 'and')}.")


def _no_stack(hardware: Hardware, environment: Environment) -> Finding:
    stacks = [f"`{name}` ({stack.framework})" for name, stack in environment.training_stacks.items()]
    message = f"no training stack of the cluster is of the framework `{hardware.framework}`"
    return Finding(("hardware", "framework"), message, f"The cluster has {listed(stacks, 'and')}.")


def _candidates(hardware: Hardware, environment: Environment) -> Iterator[tuple[Queue, str]]:
    """Yield the queues and types that a recipe may mean; on processors, nodes without accelerator first."""
    queues = [queue for queue in environment.queues if hardware.queue in {None, queue.name}]
    if hardware.device == "cpu":
        queues.sort(key=lambda queue: queue.training_stack is not None)
    for queue in queues:
        for name in queue.instance_types:
            fits = environment.instance_types[name].neuron_devices > 0 or hardware.device == "cpu"
            if hardware.instance_type == name or (hardware.instance_type is None and fits):
                yield queue, name


def cpu_queue(environment: Environment) -> Queue | None:
    """Return the queue for jobs that need no accelerator, or None if every queue has accelerators."""
    return next((queue for queue in environment.queues if queue.training_stack is None), None)


def _stacks_of(framework: str, environment: Environment) -> Iterator[str]:
    """Yield the training stacks of a framework, those that the kit's code runs with first."""
    stacks = [name for name, stack in environment.training_stacks.items() if stack.framework == framework]
    yield from sorted(stacks, key=lambda name: not environment.training_stacks[name].job_kit)


def _accelerated(environment: Environment) -> list[str]:
    types = {name for queue in environment.queues for name in queue.instance_types}
    return sorted(name for name in types if environment.instance_types[name].neuron_devices)
