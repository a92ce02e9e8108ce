"""Values of CloudFormation templates: what they refer to, across stacks too, and what can be read of them as text."""

import re
from collections.abc import Iterator
from functools import cached_property
from typing import Any

from slipway.assembly.existing_network import ExistingNetwork, existing_network
from slipway.assembly.stacks import Stack

_PLACEHOLDER = re.compile(r"\$\{([^}!]+)\}")
_HASH = re.compile(r"[0-9A-F]{8}$")
_GENERIC_NAMES = frozenset({"Resource", "Default", "Group", "Service", "FileSystem", "Instance", "ASG"})
"""Names that a construct has in the tree because it wraps one resource: they tell a reader nothing."""


class Resources:
    """All resources of the stacks, by `stack/logical id`."""

    def __init__(self, stacks: tuple[Stack, ...]) -> None:
        self._stacks = {stack.name: stack for stack in stacks}

    @cached_property
    def by_id(self) -> dict[str, dict[str, Any]]:
        """Every resource as its template has it, in the order of the stacks."""
        return {
            f"{stack.name}/{logical_id}": resource
            for stack in self._stacks.values()
            for logical_id, resource in stack.template.get("Resources", {}).items()
        }

    def type_of(self, resource_id: str) -> str:
        """Return a resource's CloudFormation type."""
        return str(self.by_id[resource_id]["Type"])

    def referred(self, value: Any, stack: str) -> tuple[str, ...]:
        """Return the resources that a value of this stack's template refers to, in order, each once."""
        return tuple(dict.fromkeys(self._referred(value, stack)))

    @cached_property
    def existing_network(self) -> ExistingNetwork | None:
        """The existing VPC. None if the stacks make their own."""
        return existing_network(stack.template for stack in self._stacks.values())

    def subnets(self, value: Any, stack: str) -> tuple[str, ...]:
        """Return the ids of the subnets in a value: what it refers to, and existing ones that it names."""
        known = {subnet.id for subnet in self.existing_network.subnets} if self.existing_network else set()
        named = value if isinstance(value, list) else [value]
        return (*self.referred(value, stack), *(id_ for id_ in named if isinstance(id_, str) and id_ in known))

    def reached(self, value: Any, stack: str, through: frozenset[str]) -> tuple[str, ...]:
        """Return what a value refers to, and what resources of the types in `through` refer to in turn."""
        found: dict[str, None] = {}
        waiting = list(self.referred(value, stack))
        while waiting:
            resource_id = waiting.pop(0)
            if resource_id in found:
                continue
            found[resource_id] = None
            if self.type_of(resource_id) in through:
                waiting.extend(self.referred(self.by_id[resource_id], resource_id.partition("/")[0]))
        return tuple(found)

    def _referred(self, value: Any, stack: str) -> Iterator[str]:
        if isinstance(value, list):
            for item in value:
                yield from self._referred(item, stack)
        elif isinstance(value, dict):
            for key, inner in value.items():
                names = _names(key, inner)
                yield from (f"{stack}/{name}" for name in names if f"{stack}/{name}" in self.by_id)
                if key == "Fn::GetStackOutput":
                    yield from self._exported(inner)
                elif not names:
                    yield from self._referred(inner, stack)

    def _exported(self, source: dict[str, Any]) -> Iterator[str]:
        """Yield what another stack's output refers to."""
        other = source["StackName"]
        outputs = self._stacks[other].template.get("Outputs", {}) if other in self._stacks else {}
        yield from self._referred(outputs.get(source["OutputName"], {}).get("Value"), other)


def _names(key: str, value: Any) -> list[str]:
    """Return the logical ids that a piece of a template names: the key says how."""
    match key, value:
        case "Ref" | "Fn::GetAtt" | "DependsOn", str():
            return [value.partition(".")[0]]
        case "Fn::GetAtt", [str(name), *_]:
            return [name]
        case "Fn::Sub", str():
            return [name.partition(".")[0] for name in _PLACEHOLDER.findall(value)]
        case "DependsOn", list():
            return value
    return []


def at_path(value: Any, path: str) -> Any:
    """Return what exists at a dotted path, None when there is nothing."""
    for key in path.split("."):
        if not isinstance(value, dict):
            return None
        value = value.get(key)
    return value


def as_text(value: Any, region: str) -> str | None:
    """Return a value as text, None when only a deployment knows it."""
    match value:
        case bool() | None:
            return None
        case str() | int() | float():
            return f"{value:,}" if isinstance(value, int) and value >= 1_000 else str(value)
        case {"Ref": "AWS::Region"}:
            return region
        case {"Fn::Join": [str(separator), [*items]]}:
            texts = [as_text(item, region) for item in items]
            return separator.join(text for text in texts if text is not None) if None not in texts else None
    return None


def construct_name(resource: dict[str, Any], logical_id: str) -> str:
    """Return the name that the app gives to a resource: the last of its construct path that says something.

    A template that was synthesized without paths has the logical id alone: it is the path without its separators, and a
    hash of eight digits.
    """
    path = resource.get("Metadata", {}).get("aws:cdk:path")
    if path is None:
        return _HASH.sub("", logical_id)
    names = [name for name in path.split("/")[1:] if name not in _GENERIC_NAMES]
    return names[-1] if names else logical_id
