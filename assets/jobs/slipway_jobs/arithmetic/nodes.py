"""What a recipe asks of the nodes: enough of them, the right training stack, EFA between them."""

from __future__ import annotations

from collections.abc import Iterator

from slipway_jobs.arithmetic.placement import Placement
from slipway_jobs.recipe.problems import Finding, listed


def count(placement: Placement) -> Iterator[Finding]:
    """The queue can have as many nodes."""
    nodes, there = placement.recipe.hardware.nodes, placement.nodes_there
    if nodes > there:
        message = f"{nodes} nodes {placement.instance_type}, and the queue `{placement.queue.name}` has at most {there}"
        fix = f"Write {there} or less, or raise `max_count` in the environment file and deploy it."
        yield Finding(("hardware", "nodes"), message, fix)


def network(placement: Placement) -> Iterator[Finding]:
    """Workers on several nodes with accelerators need EFA: without it, compiled graphs do not load."""
    nodes = placement.recipe.hardware.nodes
    if nodes == 1 or not placement.on_neuron:
        return
    if placement.instance.efa_interfaces == 0:
        message = f"{nodes} nodes, and {placement.instance_type} has no EFA, which Neuron needs between nodes"
        yield Finding(("hardware", "nodes"), message, f"Write 1, or choose {listed(_with_efa(placement))}.")
    elif not placement.queue.efa:
        message = f"{nodes} nodes, and EFA is off in the queue `{placement.queue.name}`"
        yield Finding(("hardware", "nodes"), message, "Write 1, or switch EFA on for the queue and deploy it.")


def stack(placement: Placement) -> Iterator[Finding]:
    """The nodes' training stack is of the recipe's framework, and the kit's code runs with it."""
    name, framework = placement.stack_name, placement.recipe.hardware.framework
    if placement.stack.framework != framework:
        message = (
            f"`{framework}`, and the queue `{placement.queue.name}` has the training stack `{name}` of the framework "
            f"`{placement.stack.framework}`"
        )
        yield Finding(
            ("hardware", "framework"), message, f"Write {placement.stack.framework}, or choose another queue."
        )
    elif not placement.stack.job_kit:
        message = f"the kit's training code does not run with the training stack `{name}`"
        fix = f"Those it runs with: {listed(_with_kit(placement), 'and')}."
        yield Finding(("hardware", "queue"), message, fix)


def workers(placement: Placement) -> Iterator[Finding]:
    """No more training processes than logical NeuronCores."""
    cores, asked = placement.instance.logical_neuron_cores, placement.workers_per_node
    if placement.on_neuron and asked > cores:
        message = f"{asked} workers, and {placement.instance_type} has {cores} logical NeuronCores"
        yield Finding(("hardware", "workers_per_node"), message, f"Write {cores}, or leave it out.")


def idle_cores(placement: Placement) -> Iterator[Finding]:
    """Notice: paid cores without a worker."""
    cores, asked = placement.instance.logical_neuron_cores, placement.workers_per_node
    if placement.on_neuron and asked < cores:
        message = f"{asked} workers on {cores} logical NeuronCores: {cores - asked} stay idle"
        yield Finding(("hardware", "workers_per_node"), message, "Leave it out to use all.")


def prepare_place(placement: Placement) -> Iterator[Finding]:
    """Notice: jobs that need no accelerator hold one."""
    if placement.on_neuron and placement.cpu_queue.training_stack is not None:
        message = f"no queue without accelerators: prepare, convert and publish run in `{placement.cpu_queue.name}`"
        yield Finding(("hardware", "queue"), message, "Add a queue of cheaper nodes to the environment file.")


def _with_efa(placement: Placement) -> list[str]:
    return sorted(
        {
            name
            for queue in placement.environment.queues
            for name in queue.instance_types
            if queue.efa and placement.environment.instance_types[name].efa_interfaces
        }
    )


def _with_kit(placement: Placement) -> list[str]:
    return [name for name, stack in placement.environment.training_stacks.items() if stack.job_kit]
