"""The registry of rules over an assembly.

A rule is a function that yields a finding for every place that breaks it. Its docstring is the rule as users read it,
its name (with hyphens) is its id.
"""

from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from typing import Literal

from slipway.review.wiring.parts import Part, Parts

Severity = Literal["error", "warning"]
"""An error does not do what it is there for; a warning does so worse than it could."""


@dataclass(frozen=True)
class Finding:
    """Something wrong with a resource."""

    stack: str
    logical_id: str
    path: str
    """Dotted path in its properties."""

    message: str
    """What is wrong, without a full stop."""

    rule: str = ""
    """Id of the broken rule; the registry fills it in."""

    def __str__(self) -> str:
        return f"{self.stack}/{self.logical_id} {self.path}: {self.message}"


def about(part: Part, path: str, message: str) -> Finding:
    """Make a finding about a resource."""
    return Finding(part.stack, part.logical_id, path, message)


Check = Callable[[Parts], Iterator[Finding]]
"""Finds what breaks a rule in an assembly."""


@dataclass(frozen=True)
class Rule:
    """One rule."""

    id: str
    """What reports and the documentation call it."""

    topic: str
    """What it is about: the name of its module."""

    severity: Severity
    statement: str
    """What must hold."""

    reason: str
    """What it costs to break it, as sentences."""

    fix: str
    """What to write, as sentences."""

    source: str
    """Where the reason can be read."""

    check: Check


RULES: dict[str, Rule] = {}
"""All rules by id, in the order in which their modules are imported."""


def rule(*, reason: str, fix: str, source: str, severity: Severity = "error") -> Callable[[Check], Check]:
    """Register a rule.

    Args:
        reason: what it costs to break it, as sentences.
        fix: what to write, as sentences.
        source: where the reason can be read.
        severity: `error` or `warning`.
    """

    def register(check: Check) -> Check:
        name = check.__name__.replace("_", "-")
        topic = check.__module__.rpartition(".")[2]
        RULES[name] = Rule(name, topic, severity, " ".join((check.__doc__ or "").split()), reason, fix, source, check)
        return check

    return register


def run_rules(parts: Parts) -> tuple[Finding, ...]:
    """Run every rule on an assembly; each finding once."""
    found = (
        replace(finding, rule=registered.id) for registered in RULES.values() for finding in registered.check(parts)
    )
    return tuple(dict.fromkeys(found))
