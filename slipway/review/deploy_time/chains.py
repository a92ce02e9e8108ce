"""The chains in one template: resources that CloudFormation creates one after another, as one refers to another."""

import re
from collections.abc import Iterator, Mapping
from graphlib import TopologicalSorter
from typing import Any

from slipway.review.deploy_time.model import Step

Resources = Mapping[str, Mapping[str, Any]]

_SUBSTITUTED = re.compile(r"\$\{([^!}.]+)[^}]*\}")


def waits_for(resources: Resources) -> dict[str, set[str]]:
    """Return, for each resource of a template, the resources of the same template that must be there before it.

    CloudFormation reads it out of `Ref`, `Fn::GetAtt`, `Fn::Sub` and `DependsOn`, and does all else at the same time
    (User Guide, "DependsOn attribute").
    """
    return {
        logical_id: {name for name in _names(resource) if name in resources and name != logical_id}
        for logical_id, resource in resources.items()
    }


def _names(resource: Mapping[str, Any]) -> Iterator[str]:
    depends_on = resource.get("DependsOn", [])
    yield from [depends_on] if isinstance(depends_on, str) else depends_on
    yield from _referred(resource.get("Properties"))


def _referred(value: Any) -> Iterator[str]:
    match value:
        case {"Ref": str() as name}:
            yield name
        case {"Fn::GetAtt": [str() as name, *_]}:
            yield name
        case {"Fn::Sub": [str() as text, Mapping() as values]}:
            yield from _SUBSTITUTED.findall(text)
            yield from _referred(values)
        case {"Fn::Sub": str() as text}:
            yield from _SUBSTITUTED.findall(text)
        case Mapping():
            for item in value.values():
                yield from _referred(item)
        case list():
            for item in value:
                yield from _referred(item)


def longest_chain(waits: Mapping[str, set[str]], steps: Mapping[str, Step]) -> tuple[Step, ...]:
    """Return the chain that takes longest, first resource first.

    Args:
        waits: what each resource waits for, without a circle.
        steps: each resource, with the seconds that it takes.
    """
    chains: dict[str, tuple[Step, ...]] = {}
    for name in TopologicalSorter(waits).static_order():
        before = max((chains[other] for other in sorted(waits[name])), key=seconds_of, default=())
        chains[name] = (*before, steps[name])
    return max(chains.values(), key=seconds_of, default=())


def seconds_of(chain: tuple[Step, ...]) -> int:
    """Return how long a chain takes."""
    return sum(step.seconds for step in chain)
