"""The network of every environment holds together, and nearly every mistake in one is noticed."""

from collections import Counter

from slipway.review.wiring.registry import Finding
from slipway.review.wiring.resources import Resources, read_assembly
from slipway.review.wiring.rules import RULES
from tests.conftest import AssemblyFactory
from tests.review.wiring.network_mistakes import CHANGES, mistakes

SPOILED = ("team", "kubernetes", "isolated", "apikey")
"""Environments that have every kind of connection between them."""

NOTICED = 0.95


def findings(resources: Resources) -> set[Finding]:
    """What the rules about networks find."""
    rules = [each for each in RULES.values() if each.topic in ("reachability", "network")]
    return {finding for each in rules for finding in each.check(resources)}


def test_nearly_every_mistake_in_a_network_is_noticed(assemblies: AssemblyFactory) -> None:
    made, silent = Counter[str](), Counter[str]()
    for name in SPOILED:
        resources = read_assembly(assemblies(name).directory)
        before = findings(resources)
        for mistake in mistakes(resources):
            made[mistake.kind] += 1
            silent[mistake.kind] += not findings(mistake.resources) - before

    assert set(made) == set(CHANGES)
    assert made.total() > 500
    assert 1 - silent.total() / made.total() >= NOTICED, silent
    assert all(silent[each] / made[each] <= 1 / 4 for each in made), silent
