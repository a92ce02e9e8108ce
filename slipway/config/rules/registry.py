"""The registry of cross-field rules and notices, and how they are run on a file of which only a part is valid.

A rule is a function that yields a finding for everything that breaks it. Its docstring is the rule as users read it,
its name (with hyphens) is what a message refers to. A rule that needs a field which is not valid, or a fact that does
not exist, says nothing: the schema or a rule about that fact has said it already.

A notice is written the same way and refuses nothing: it says what will probably go wrong, or only once AWS has been
asked for more. Its docstring says when it is given.
"""

from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace

from slipway.config.environment import Environment
from slipway.config.inference import ServedModel
from slipway.config.kubernetes import NodeGroup
from slipway.config.problems import Finding, Path
from slipway.config.queues import ComputeResource, Queue
from slipway.config.section import InvalidPart
from slipway.facts import UnknownFact

Check = Callable[[Environment], Iterator[Finding]]
"""A rule about the environment as a whole."""

QueueCheck = Callable[[Environment, Path, Queue], Iterator[Finding]]
"""A rule about each queue; the path is the queue's."""

ComputeResourceCheck = Callable[[Environment, Path, Queue, ComputeResource], Iterator[Finding]]
"""A rule about each compute resource; the path is the compute resource's."""

NodeGroupCheck = Callable[[Environment, Path, NodeGroup], Iterator[Finding]]
"""A rule about each node group of the Kubernetes cluster; the path is the node group's."""

ModelCheck = Callable[[Environment, Path, ServedModel], Iterator[Finding]]
"""A rule about each model of the endpoint; the path is the model's."""


@dataclass(frozen=True)
class Rule:
    """One cross-field rule, or one notice."""

    name: str
    """What messages and the documentation call it, for example `zones-distinct`."""

    topic: str
    """What it is about: the name of its module, for example `network`."""

    statement: str
    """The rule in words; of a notice, when it is given."""

    check: Check
    """Finds everything that breaks it."""


Registry = dict[str, Rule]
"""Rules by name, in the order in which their modules are imported."""

RULES: Registry = {}
"""What must hold: an environment file that breaks one is refused."""

NOTICES: Registry = {}
"""What a person should know before deploying a valid environment."""


def environment_rule(check: Check) -> Check:
    """Register a rule that looks at the environment once."""
    _register(RULES, check, check)
    return check


def queue_rule(check: QueueCheck) -> QueueCheck:
    """Register a rule that looks at each queue by itself."""
    _register(RULES, check, _of_each_queue(check))
    return check


def compute_resource_rule(check: ComputeResourceCheck) -> ComputeResourceCheck:
    """Register a rule that looks at each compute resource by itself."""
    _register(RULES, check, _of_each_compute_resource(check))
    return check


def node_group_rule(check: NodeGroupCheck) -> NodeGroupCheck:
    """Register a rule that looks at each node group of the Kubernetes cluster by itself."""
    _register(RULES, check, _of_each_node_group(check))
    return check


def model_rule(check: ModelCheck) -> ModelCheck:
    """Register a rule that looks at each model of the endpoint by itself."""
    _register(RULES, check, _of_each_model(check))
    return check


def environment_notice(check: Check) -> Check:
    """Register a notice about the environment as a whole."""
    _register(NOTICES, check, check)
    return check


def queue_notice(check: QueueCheck) -> QueueCheck:
    """Register a notice about each queue by itself."""
    _register(NOTICES, check, _of_each_queue(check))
    return check


def compute_resource_notice(check: ComputeResourceCheck) -> ComputeResourceCheck:
    """Register a notice about each compute resource by itself."""
    _register(NOTICES, check, _of_each_compute_resource(check))
    return check


def node_group_notice(check: NodeGroupCheck) -> NodeGroupCheck:
    """Register a notice about each node group of the Kubernetes cluster by itself."""
    _register(NOTICES, check, _of_each_node_group(check))
    return check


def model_notice(check: ModelCheck) -> ModelCheck:
    """Register a notice about each model of the endpoint by itself."""
    _register(NOTICES, check, _of_each_model(check))
    return check


def findings_of(rules: Registry, environment: Environment) -> Iterator[Finding]:
    """Run rules or notices.

    Args:
        rules: `RULES` or `NOTICES`.
        environment: The environment; fields that were not valid may be absent from it.

    Yields:
        What they find.
    """
    for rule in rules.values():
        for finding in _where_possible(rule.check(environment)):
            yield replace(finding, rule=rule.name)


def _of_each_queue(check: QueueCheck) -> Check:
    def check_all(environment: Environment) -> Iterator[Finding]:
        for path, queue in _queues(environment):
            yield from _where_possible(check(environment, path, queue))

    return check_all


def _of_each_compute_resource(check: ComputeResourceCheck) -> Check:
    def check_queue(environment: Environment, queue_path: Path, queue: Queue) -> Iterator[Finding]:
        for index, resource in enumerate(queue.compute_resources):
            path = (*queue_path, "compute_resources", index)
            yield from _where_possible(check(environment, path, queue, resource))

    return _of_each_queue(check_queue)


def _of_each_node_group(check: NodeGroupCheck) -> Check:
    def check_all(environment: Environment) -> Iterator[Finding]:
        groups = environment.kubernetes.node_groups if environment.kubernetes else ()
        for index, group in enumerate(groups):
            yield from _where_possible(check(environment, ("kubernetes", "node_groups", index), group))

    return check_all


def _of_each_model(check: ModelCheck) -> Check:
    def check_all(environment: Environment) -> Iterator[Finding]:
        for index, model in enumerate(environment.inference.models if environment.inference else ()):
            yield from _where_possible(check(environment, ("inference", "models", index), model))

    return check_all


def _register(rules: Registry, function: Callable[..., Iterator[Finding]], check: Check) -> None:
    name = function.__name__.replace("_", "-")
    topic = function.__module__.rpartition(".")[2]
    rules[name] = Rule(name, topic, " ".join((function.__doc__ or "").split()), check)


def _queues(environment: Environment) -> Iterator[tuple[Path, Queue]]:
    for index, queue in enumerate(environment.training.queues if environment.training else ()):
        yield ("training", "queues", index), queue


def _where_possible(findings: Iterator[Finding]) -> Iterator[Finding]:
    try:
        yield from findings
    except (InvalidPart, UnknownFact):
        return
