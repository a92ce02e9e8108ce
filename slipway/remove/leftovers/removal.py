"""The commands that remove leftovers, in an order in which they work."""

import shlex
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import replace
from typing import Any

from slipway.remove.leftovers.item import Item

_ATTACHMENT = ("attachment", "instance")

Ask = Callable[[Item, Any], Iterable[Mapping[str, Any]]]
"""Makes a call for one item, and returns the facts of what it lists."""


def commands(items: Iterable[Item], region: str, ask: Ask) -> tuple[str, ...]:
    """Return the commands of all stages; in a stage, what makes way comes before everything that is removed.

    Args:
        items: what shall go.
        region: AWS Region, which each command names.
        ask: makes the calls that tell what has to make way.
    """
    # A policy of two roles, or a rule between two groups, makes way once.
    return tuple(dict.fromkeys(_by_stage(items, region, ask)))


def _by_stage(items: Iterable[Item], region: str, ask: Ask) -> Iterator[str]:
    ordered = sorted(_that_stay(list(items)), key=lambda item: item.left.stage)
    for stage in dict.fromkeys(item.left.stage for item in ordered):
        of_stage = [item for item in ordered if item.left.stage == stage]
        yield from (line for item in of_stage for line in _making_way(item, region, ask))
        for item in of_stage:
            yield from (line for template in item.left.remove for line in _filled(template, item.facts, region))


def _that_stay(items: list[Item]) -> Iterator[Item]:
    """Yield what nothing else takes along, not attached any more to what goes before."""
    going = {item.id for item in items}
    for item in items:
        if item.facts.get("goes_with") in going:
            continue
        if item.facts.get("instance") in going:
            yield replace(item, facts={name: fact for name, fact in item.facts.items() if name not in _ATTACHMENT})
        else:
            yield item


def _making_way(item: Item, region: str, ask: Ask) -> Iterator[str]:
    for first in item.left.first:
        for facts in ask(item, first):
            yield from _filled(first.command, {**item.facts, **facts}, region)


def _filled(template: str, facts: Mapping[str, Any], region: str) -> Iterator[str]:
    """Yield the command, unless a fact that it names is not there: then it is not needed.

    What others chose, such as a name, is quoted: these lines are pasted into a shell.
    """
    try:
        words = [word.format_map(facts) for word in template.split()]
    except KeyError:
        return
    yield shlex.join([*words, "--region", region])
