"""The registry of cross-field rules, and how they are run on a file of which only a part is valid.

A rule is a function that yields a finding for everything that breaks it. Its docstring is the rule as users read it,
its name (with hyphens) is what a message refers to. A rule that needs a field which is not valid, or a fact that does
not exist, says nothing: the schema or a rule about that fact has said it already.
"""

from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from functools import wraps

from slipway.facts import UnknownFact
from slipway.spec.environment import Environment
from slipway.spec.problems import Finding, Path
from slipway.spec.queues import ComputeResource, Queue
from slipway.spec.section import InvalidPart

Check = Callable[[Environment], Iterator[Finding]]
"""A rule about the environment as a whole."""

QueueCheck = Callable[[Environment, Path, Queue], Iterator[Finding]]
"""A rule about each queue; the path is the queue's."""

ComputeResourceCheck = Callable[[Environment, Path, Queue, ComputeResource], Iterator[Finding]]
"""A rule about each compute resource; the path is the compute resource's."""


@dataclass(frozen=True)
class Rule:
    """One cross-field rule."""

    name: str
    """What messages and the documentation call it, for example `zones-distinct`."""

    topic: str
    """What it is about: the name of its module, for example `network`."""

    statement: str
    """The rule in words."""

    check: Check
    """Finds everything that breaks it."""


RULES: dict[str, Rule] = {}
"""All rules by name, in the order in which their modules are imported."""


def environment_rule(check: Check) -> Check:
    """Register a rule that looks at the environment once."""
    _register(check, check)
    return check


def queue_rule(check: QueueCheck) -> QueueCheck:
    """Register a rule that looks at each queue by itself."""

    @wraps(check)
    def check_all(environment: Environment) -> Iterator[Finding]:
        for path, queue in _queues(environment):
            yield from _where_possible(check(environment, path, queue))

    _register(check, check_all)
    return check


def compute_resource_rule(check: ComputeResourceCheck) -> ComputeResourceCheck:
    """Register a rule that looks at each compute resource by itself."""

    def check_queue(environment: Environment, queue_path: Path, queue: Queue) -> Iterator[Finding]:
        for index, resource in enumerate(queue.compute_resources):
            path = (*queue_path, "compute_resources", index)
            yield from _where_possible(check(environment, path, queue, resource))

    def check_all(environment: Environment) -> Iterator[Finding]:
        for path, queue in _queues(environment):
            yield from _where_possible(check_queue(environment, path, queue))

    _register(check, check_all)
    return check


def broken_rules(environment: Environment) -> Iterator[Finding]:
    """Run every rule.

    Args:
        environment: The environment; fields that were not valid may be absent from it.

    Yields:
        What breaks a rule.
    """
    for rule in RULES.values():
        for finding in _where_possible(rule.check(environment)):
            yield replace(finding, rule=rule.name)


def _register(function: Callable[..., Iterator[Finding]], check: Check) -> None:
    name = function.__name__.replace("_", "-")
    topic = function.__module__.rpartition(".")[2]
    RULES[name] = Rule(name, topic, " ".join((function.__doc__ or "").split()), check)


def _queues(environment: Environment) -> Iterator[tuple[Path, Queue]]:
    for index, queue in enumerate(environment.training.queues):
        yield ("training", "queues", index), queue


def _where_possible(findings: Iterator[Finding]) -> Iterator[Finding]:
    try:
        yield from findings
    except (InvalidPart, UnknownFact):
        return
