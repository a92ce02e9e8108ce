"""The alarms of every environment are sound, and nearly every mistake in one is noticed."""

from collections import Counter
from dataclasses import replace
from typing import Any

import pytest

from slipway.assembly.stacks import Stack, read_stacks
from slipway.review.wiring.metric_uses import ALARM
from slipway.review.wiring.resources import Resources, read_assembly, resources_of
from slipway.review.wiring.rules import RULES, run_rules
from tests.assembly import Assembly
from tests.conftest import AssemblyFactory
from tests.review.wiring.alarm_mistakes import CHANGES, Change, changed

SPOILED = ("default", "rolledout", "kubernetes", "team")
"""Environments that have every kind of alarm between them."""

ACCEPTED = {("rolledout", "resource-is-watched")}
"""The candidate's: acknowledged where it is made."""

NOTICED = 0.95


def test_every_environment_passes(each_assembly: Assembly) -> None:
    name = each_assembly.environment.name
    found = run_rules(read_assembly(each_assembly.directory))

    assert [str(finding) for finding in found if (name, finding.rule) not in ACCEPTED] == []


def test_the_alarms_were_looked_at(assemblies: AssemblyFactory) -> None:
    resources = [read_assembly(assemblies(name).directory) for name in SPOILED]

    assert sum(len(list(each.of_type(ALARM))) for each in resources) > 100


def with_changed_alarms(stacks: tuple[Stack, ...], change: Change) -> tuple[tuple[Stack, ...], set[str]]:
    """The stacks with a mistake in every alarm that can have it, and the logical ids of those."""
    spoiled: set[str] = set()
    found = []
    for stack in stacks:
        resources: dict[str, Any] = dict(stack.template.get("Resources", {}))
        for logical_id, resource in resources.items():
            if resource["Type"] == ALARM and (properties := changed(resource["Properties"], change)):
                resources[logical_id] = {**resource, "Properties": properties}
                spoiled.add(logical_id)
        found.append(replace(stack, template={**stack.template, "Resources": resources}))
    return tuple(found), spoiled


def missed(stacks: tuple[Stack, ...], change: Change) -> tuple[set[str], set[str]]:
    """The alarms that were spoiled, and those of them about which there is no new finding."""
    changed_stacks, spoiled = with_changed_alarms(stacks, change)
    noticed = {finding.logical_id for finding in run_rules(resources_of(changed_stacks))}
    return spoiled, spoiled - noticed


def test_nearly_every_mistake_in_an_alarm_is_noticed(assemblies: AssemblyFactory) -> None:
    made, silent = Counter[str](), Counter[str]()
    for name in SPOILED:
        stacks = read_stacks(assemblies(name).directory)
        for change in CHANGES:
            spoiled, unnoticed = missed(stacks, change)
            made[change.__name__] += len(spoiled)
            silent[change.__name__] += len(unnoticed)

    assert all(made[change.__name__] for change in CHANGES)
    assert made.total() > 1500
    assert 1 - silent.total() / made.total() >= NOTICED, silent
    assert all(silent[each] / made[each] <= 1 / 4 for each in made), silent


def test_nearly_every_alarm_that_is_left_out_is_missed(assemblies: AssemblyFactory) -> None:
    left_out = unnoticed = 0
    rule = RULES["resource-is-watched"]
    for name in SPOILED:
        resources = read_assembly(assemblies(name).directory)
        before = set(rule.check(resources))
        for alarm in [each for each in resources.of_type(ALARM) if each.stack.endswith("-operations")]:
            rest = {key: each for key, each in resources.by_key.items() if key != alarm.key}
            left_out += 1
            unnoticed += not set(rule.check(Resources(resources.stacks, rest))) - before

    assert left_out > 100
    assert 1 - unnoticed / left_out >= NOTICED


@pytest.mark.parametrize("rule", RULES)
def test_every_rule_says_what_it_is_about(rule: str) -> None:
    found = RULES[rule]
    assert all((found.statement, found.reason, found.fix, found.source))
