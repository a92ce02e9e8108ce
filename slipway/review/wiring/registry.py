"""The registry of rules over an assembly."""

from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace

from slipway.review.changes.references import references
from slipway.review.changes.resources import Resource
from slipway.review.rule import Rule, Severity, rule_of
from slipway.review.wiring.resources import Resources


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


def about(resource: Resource, path: str, message: str) -> Finding:
    """Make a finding about a resource."""
    return Finding(resource.stack, resource.logical_id, path, message)


Check = Callable[[Resources], Iterator[Finding]]
"""Finds what breaks a rule in an assembly."""

RULES: dict[str, Rule[Check]] = {}
"""All rules by id, in the order in which their modules are imported."""


def rule(*, reason: str, fix: str, source: str, severity: Severity = "error") -> Callable[[Check], Check]:
    """Register a rule; `rule_of` says what the arguments are."""

    def register(check: Check) -> Check:
        made = rule_of(check, check, severity=severity, reason=reason, fix=fix, source=source)
        RULES[made.id] = made
        return check

    return register


def run_rules(resources: Resources) -> tuple[Finding, ...]:
    """Run every rule on an assembly.

    Returns:
        Each finding once, without those about a parameter, whose value is unknown.
    """
    found = (
        replace(finding, rule=registered.id)
        for registered in RULES.values()
        for finding in registered.check(resources)
        if all(key in resources.by_key for key, _ in references(finding.message))
    )
    return tuple(dict.fromkeys(found))
