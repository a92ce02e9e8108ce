"""The registry of rules for clusters, and how they are run on a configuration of which only a part is known.

A rule that needs what nobody has said is reported as not checked.
"""

from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from functools import partial

from slipway.assembly.cluster import Cluster
from slipway.assembly.sections import Section, UnknownValue
from slipway.config.problems import Finding
from slipway.facts import UnknownFact
from slipway.review.rule import Rule, Severity, rule_of


@dataclass(frozen=True)
class NotChecked:
    """A rule that could not look at something."""

    reason: str
    """What is not known, as a sentence without a full stop."""

    rule: str = ""
    """Id of the rule; the registry fills it in."""


@dataclass(frozen=True)
class Result:
    """What the rules say about one cluster."""

    findings: tuple[Finding, ...]
    """What breaks a rule, with the rule's id and what to do."""

    not_checked: tuple[NotChecked, ...]


Sections = Callable[[Cluster], list[Section]]
"""What a rule looks at, one by one."""

SectionCheck = Callable[[Cluster, Section], Iterator[Finding]]
"""Finds what breaks a rule in one section."""

Check = Callable[[Cluster], Iterator[Finding | NotChecked]]
"""Finds what breaks a rule in one cluster."""

RULES: dict[str, Rule[Check]] = {}
"""All rules by id, in the order in which their modules are imported."""


def rule(
    sections: Sections, *, severity: Severity, reason: str, fix: str, source: str
) -> Callable[[SectionCheck], SectionCheck]:
    """Register a rule about some sections; `rule_of` says what the other arguments are."""

    def register(check: SectionCheck) -> SectionCheck:
        whole: Check = partial(_outcomes, sections, check)
        made = rule_of(check, whole, severity=severity, reason=reason, fix=fix, source=source)
        RULES[made.id] = made
        return check

    return register


def run_rules(cluster: Cluster) -> Result:
    """Run every rule on a cluster."""
    findings: dict[Finding, None] = {}
    not_checked: dict[NotChecked, None] = {}
    for registered in RULES.values():
        for outcome in registered.check(cluster):
            if isinstance(outcome, Finding):
                findings[replace(outcome, rule=registered.id, fix=outcome.fix or registered.fix)] = None
            else:
                not_checked[replace(outcome, rule=registered.id)] = None
    return Result(tuple(findings), tuple(not_checked))


def _outcomes(sections: Sections, check: SectionCheck, cluster: Cluster) -> Iterator[Finding | NotChecked]:
    try:
        for section in sections(cluster):
            yield from _outcomes_of_section(check, cluster, section)
    except UnknownValue as unknown:
        yield NotChecked(unknown.reason)


def _outcomes_of_section(check: SectionCheck, cluster: Cluster, section: Section) -> Iterator[Finding | NotChecked]:
    try:
        yield from check(cluster, section)
    except UnknownValue as unknown:
        yield NotChecked(unknown.reason)
    except UnknownFact as unknown:
        # Without the error's near names: a type that Slipway does not know need not be misspelled.
        yield NotChecked(f"no facts about {unknown.kind} {unknown.key}")
