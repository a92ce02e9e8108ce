"""Turns a script into a run: decides nodes, training stack and paths, and says everything that is wrong at once."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from slipway_jobs.arithmetic.placement import cpu_queue
from slipway_jobs.arithmetic.training import SCRIPTS_OWN, SECRET
from slipway_jobs.check.resolve import shared_fields
from slipway_jobs.environment import Environment, InstanceType, Queue
from slipway_jobs.ownership import user_path
from slipway_jobs.recipe.model import Hardware, Restarts
from slipway_jobs.run import ScriptRun

_VARIABLE = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")
_THE_SCRIPTS_ALONE = "PYTHONPATH"
"""A variable that job scripts set and that a user's script does not get from them."""


class ScriptRefused(Exception):  # noqa: N818 (a user's mistake, not an error of the program)
    """The script cannot run here; the message says everything that is wrong and what to write."""


class UnknownQueue(Exception):  # noqa: N818 (a user's mistake, not an error of the program)
    """The nodes that shall be paid for are not said; the message says which there are."""


@dataclass(frozen=True, kw_only=True)
class Wish:
    """What the command line says.

    Attributes:
        script: the Python script.
        arguments: its arguments.
        compile_arguments: further arguments for the compile job, or None for no compile job.
        queue: partition, or node group on Kubernetes.
        instance_type: EC2 instance type of the nodes, or None if the queue has only one.
        nodes: how many.
        workers_per_node: processes on a node, or None for one on each logical NeuronCore.
        stack: training stack, or None for the queue's own.
        python: Python interpreter, or None for the training stack's.
        environment_variables: variables of the script.
        limits: failures and time limit.
        save_seconds: how long it may take to save a checkpoint after a signal.
        working_directory: folder that it starts in.
    """

    script: Path
    arguments: Sequence[str]
    compile_arguments: Sequence[str] | None
    queue: str
    instance_type: str | None
    nodes: int
    workers_per_node: int | None
    stack: str | None
    python: Path | None
    environment_variables: Mapping[str, str]
    limits: Restarts
    save_seconds: int
    working_directory: Path


def resolve_script(wish: Wish, environment: Environment, environment_file: Path, name: str) -> ScriptRun:
    """Decide everything about a script's run.

    Args:
        wish: what the command line says.
        environment: the cluster.
        environment_file: the file that it was read from.
        name: the run's name.

    Raises:
        UnknownQueue: the cluster has no such queue.
        ScriptRefused: it cannot run in this environment.
    """
    queue = next((queue for queue in environment.queues if queue.name == wish.queue), None)
    if queue is None:
        raise UnknownQueue(f"{wish.queue!r}: the cluster has {_listed(row.name for row in environment.queues)}")
    kind = wish.instance_type or next(iter(queue.instance_types))
    problems = [*_file_problems(wish, environment), *_type_problems(wish, queue), *_variable_problems(wish)]
    stack_name = wish.stack or queue.training_stack or next(iter(environment.training_stacks), None)
    if stack_name not in environment.training_stacks:
        problems.append(f"--stack {stack_name}: the cluster has {_listed(environment.training_stacks)}")
    instance = environment.instance_types[kind] if kind in queue.instance_types else None
    if instance:
        problems += _node_problems(wish, queue, kind, instance)
    if problems or instance is None or stack_name is None:
        raise ScriptRefused("\n".join(problems))
    stack = environment.training_stacks[stack_name]
    stack_python = Path(environment.training_stacks_directory, stack_name).resolve() / "bin" / "python"
    hardware = Hardware(
        device="neuron" if instance.neuron_devices else "cpu",
        framework=stack.framework,
        instance_type=kind,
        queue=queue.name,
        nodes=wish.nodes,
        workers_per_node=wish.workers_per_node or instance.logical_neuron_cores,
    )
    return ScriptRun(
        **shared_fields(name, environment, environment_file),
        cpu_queue=(cpu_queue(environment) or queue).name,
        queue=queue.name,
        training_stack=stack_name,
        neuron_release=stack.release,
        compiler=stack.compiler,
        python=str(wish.python.absolute() if wish.python else stack_python),
        checkpoint_directory=str(Path(environment.checkpoints_directory, name)),
        compile_cache=str(user_path(Path(environment.runs_directory)) / "compile-cache" / stack.compiler),
        master_port=environment.master_port,
        usd_per_node_hour=instance.usd_per_hour,
        nodes=hardware,
        limits=wish.limits,
        program=str(wish.script.resolve()),
        arguments=tuple(wish.arguments),
        compile_arguments=None if wish.compile_arguments is None else tuple(wish.compile_arguments),
        working_directory=str(wish.working_directory),
        save_seconds=wish.save_seconds,
        environment_variables=dict(wish.environment_variables),
    )


def _file_problems(wish: Wish, environment: Environment) -> Iterator[str]:
    if not wish.script.is_file():
        yield f"{wish.script} is not a file"
    if wish.python and not wish.python.is_file():
        yield f"--python {wish.python} is not a file: name an interpreter, such as /fsx/envs/mine/bin/python"
    if environment.kubernetes:
        shared = Path(environment.runs_directory).parent
        for path in (wish.script.resolve(), wish.working_directory, *([wish.python.absolute()] if wish.python else [])):
            if not path.is_relative_to(shared):
                yield f"{path} is not below {shared}, which is all that pods share: copy it there"


def _type_problems(wish: Wish, queue: Queue) -> Iterator[str]:
    if wish.instance_type is None and len(queue.instance_types) > 1:
        yield f"--instance-type is missing: the queue {queue.name} has {_listed(queue.instance_types)}"
    if wish.instance_type and wish.instance_type not in queue.instance_types:
        yield f"--instance-type {wish.instance_type}: the queue {queue.name} has {_listed(queue.instance_types)}"


def _node_problems(wish: Wish, queue: Queue, kind: str, instance: InstanceType) -> Iterator[str]:
    if wish.nodes > queue.instance_types[kind]:
        yield f"--nodes {wish.nodes}: the queue {queue.name} has at most {queue.instance_types[kind]} of {kind}"
    if not instance.neuron_devices:
        if wish.workers_per_node is None:
            yield f"--workers-per-node is missing: {kind} has no NeuronCores to count"
        if wish.compile_arguments is not None:
            yield f"--compile is for nodes with NeuronCores, and {kind} has none: leave it out"
        return
    if wish.workers_per_node and wish.workers_per_node > instance.logical_neuron_cores:
        yield f"--workers-per-node {wish.workers_per_node}: {kind} has {instance.logical_neuron_cores} NeuronCores"
    if wish.nodes > 1 and not (queue.efa and instance.efa_interfaces):
        yield f"--nodes {wish.nodes}: Neuron needs EFA between nodes, and {kind} in the queue {queue.name} has none"


def _variable_problems(wish: Wish) -> Iterator[str]:
    for name in wish.environment_variables:
        if not _VARIABLE.fullmatch(name):
            yield f"--env {name}: write NAME=VALUE"
        elif name != _THE_SCRIPTS_ALONE and SCRIPTS_OWN.fullmatch(name):
            yield f"--env {name}: the job sets this variable itself"
        elif SECRET.fullmatch(name):
            yield f"--env {name}: others can read a run's files; keep the secret in a file of mode 0600 in your home"


def _listed(names: Iterable[str]) -> str:
    return ", ".join(names) or "none"
