"""The registry of rules, and how they are run on a configuration of which only a part is known.

A rule is a function that yields a finding for every place that breaks it. Its docstring is the rule as users read it,
its name (with hyphens) is its id. A rule that needs what nobody has said is reported as not checked.
"""

from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from typing import Literal

from slipway.assembly.cluster import Cluster
from slipway.assembly.sections import Section, UnknownValue
from slipway.config.problems import Finding
from slipway.facts import UnknownFact

Check = Callable[[Cluster, Section], Iterator[Finding]]
"""Finds what breaks a rule in one section."""

Severity = Literal["error", "warning"]
"""An error costs a failed deployment, an open door or lost data; a warning costs time or money."""


@dataclass(frozen=True)
class Rule:
    """One rule."""

    id: str
    """What reports and the documentation call it, for example `efa-where-it-exists`."""

    topic: str
    """What it is about: the name of its module, for example `storage`."""

    severity: Severity
    statement: str
    """What must hold."""

    reason: str
    """What it costs to break it."""

    fix: str
    """What to write."""

    source: str
    """Where the reason can be read."""

    sections: Callable[[Cluster], list[Section]]
    """What it looks at."""

    check: Check


@dataclass(frozen=True)
class NotChecked:
    """A rule that could not look at something."""

    rule: str
    reason: str
    """What is not known, as a sentence without a full stop."""


@dataclass(frozen=True)
class Result:
    """What the rules say about one cluster."""

    findings: tuple[Finding, ...]
    """What breaks a rule, with the rule's id and what to do."""

    not_checked: tuple[NotChecked, ...]


RULES: dict[str, Rule] = {}
"""All rules by id, in the order in which their modules are imported."""


def rule(
    sections: Callable[[Cluster], list[Section]], *, severity: Severity, reason: str, fix: str, source: str
) -> Callable[[Check], Check]:
    """Register a rule.

    Args:
        sections: what the rule looks at, one by one.
        severity: `error` or `warning`.
        reason: what it costs to break it, as sentences.
        fix: what to write, as sentences.
        source: where the reason can be read.
    """

    def register(check: Check) -> Check:
        name = check.__name__.replace("_", "-")
        topic = check.__module__.rpartition(".")[2]
        statement = " ".join((check.__doc__ or "").split())
        RULES[name] = Rule(name, topic, severity, statement, reason, fix, source, sections, check)
        return check

    return register


def run_rules(cluster: Cluster) -> Result:
    """Run every rule on a cluster."""
    findings: dict[Finding, None] = {}
    not_checked: dict[NotChecked, None] = {}
    for registered in RULES.values():
        for outcome in _outcomes(registered, cluster):
            if isinstance(outcome, Finding):
                findings[replace(outcome, rule=registered.id, fix=outcome.fix or registered.fix)] = None
            else:
                not_checked[outcome] = None
    return Result(tuple(findings), tuple(not_checked))


def _outcomes(registered: Rule, cluster: Cluster) -> Iterator[Finding | NotChecked]:
    try:
        for section in registered.sections(cluster):
            yield from _outcomes_of_section(registered, cluster, section)
    except UnknownValue as unknown:
        yield NotChecked(registered.id, unknown.reason)


def _outcomes_of_section(registered: Rule, cluster: Cluster, section: Section) -> Iterator[Finding | NotChecked]:
    try:
        yield from registered.check(cluster, section)
    except UnknownValue as unknown:
        yield NotChecked(registered.id, unknown.reason)
    except UnknownFact as unknown:
        # Without the error's near names: a type that Slipway does not know need not be misspelled.
        yield NotChecked(registered.id, f"no facts about {unknown.kind} {unknown.key}")
