"""The rules accept templates with parameters, conditions and missing properties."""

from collections.abc import Iterator, Mapping
from copy import deepcopy
from dataclasses import replace
from random import Random
from typing import Any

import pytest

from slipway.assembly.stacks import read_stacks
from slipway.review.wiring.resources import resources_of
from slipway.review.wiring.rules import RULES
from tests.conftest import AssemblyFactory
from tests.review.wiring.test_network import OWN_APPS, resources_with

TIMES, AT_ONCE = 25, 12


def places(value: Any, path: tuple[str | int, ...] = ()) -> Iterator[tuple[str | int, ...]]:
    """Yield the path of each value in a resource's properties, without those inside of intrinsic functions."""
    if path:
        yield path
    if isinstance(value, Mapping) and not (len(value) == 1 and next(iter(value)).startswith(("Fn::", "Ref"))):
        for key, item in value.items():
            yield from places(item, (*path, key))
    elif isinstance(value, list):
        for index, item in enumerate(value):
            yield from places(item, (*path, index))


def change_one_place(random: Random, template: dict[str, Any]) -> None:
    """Remove a value of a resource, or replace it with a parameter or a condition."""
    properties = random.choice(list(template["Resources"].values())).get("Properties", {})
    depth = random.choice((1, 2, 3, 4, 6))
    paths = [path for path in places(properties) if len(path) <= depth]
    if paths:
        *steps, last = random.choice(paths)
        place = properties
        for step in steps:
            place = place[step]
        match random.randrange(3):
            case 0:
                del place[last]
            case 1:
                place[last] = {"Ref": "Parameter"}
            case _:
                place[last] = {"Fn::If": ["Chosen", place[last], {"Ref": "AWS::NoValue"}]}


@pytest.mark.parametrize("name", ["default", "teams", "ultracluster"])
def test_every_rule_reads_parameters_and_conditions(assemblies: AssemblyFactory, name: str) -> None:
    random = Random(name)
    stacks = read_stacks(assemblies(name).directory)
    for _ in range(TIMES):
        index = random.randrange(len(stacks))
        template = deepcopy(stacks[index].template)
        for _ in range(AT_ONCE):
            change_one_place(random, template)
        changed = resources_of((*stacks[:index], replace(stacks[index], template=template), *stacks[index + 1 :]))

        for rule in RULES.values():
            list(rule.check(changed))


@pytest.mark.parametrize("name", OWN_APPS)
def test_no_rule_is_broken_by_a_sound_stack(name: str) -> None:
    found = {
        str(finding)
        for rule in RULES.values()
        if rule.severity == "error"
        for finding in rule.check(resources_with(**OWN_APPS[name]))
    }

    assert found == set()
