"""The resources of an assembly, found by their type and by references to them."""

import re
from collections import defaultdict
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from slipway.assembly.existing import ExistingResource, existing_in
from slipway.assembly.stacks import Stack, read_stacks
from slipway.review.changes.references import references
from slipway.review.changes.resources import Resource, read_resources

_WHOLE_REFERENCE = re.compile(r"\$\{([\w-]+/\w+)(?:\.([^}]+))?\}")


def rows(value: Any) -> list[Mapping[str, Any]]:
    """Return the objects of a list in a template, without those that a condition chooses."""
    return [item for item in value if isinstance(item, Mapping)] if isinstance(value, list) else []


def mapping(value: Any) -> Mapping[str, Any]:
    """Return an object of a template; an empty one if there is none or a condition chooses it."""
    return value if isinstance(value, Mapping) else {}


def literal(value: Any) -> str | None:
    """Return a text or number of a template; None if a parameter or another resource decides it."""
    return str(value) if isinstance(value, str | int) and "${" not in str(value) else None


def texts(value: Any) -> list[str]:
    """Return the strings of a list in a template, or the one string in its place."""
    return [item for item in (value if isinstance(value, list) else [value]) if isinstance(item, str)]


def values_at(value: Any, path: str) -> Iterator[tuple[str, Any]]:
    """Yield the values at a dotted path, in which `*` is each item of a list, each with its own path."""
    yield from _values(value, path.split("."), "")


def _values(value: Any, steps: list[str], at: str) -> Iterator[tuple[str, Any]]:
    if not steps:
        yield at, value
    elif steps[0] == "*":
        for index, item in enumerate(value if isinstance(value, list) else ()):
            yield from _values(item, steps[1:], f"{at}.{index}")
    elif isinstance(value, Mapping) and steps[0] in value:
        yield from _values(value[steps[0]], steps[1:], f"{at}.{steps[0]}".lstrip("."))


def refers_to(resource: Resource, other: Resource) -> bool:
    """Return whether the properties of a resource refer to another one."""
    return any(key == other.key for key, _ in references(resource.properties))


class Resources:
    """All resources of an assembly.

    Attributes:
        stacks: the stacks of the assembly.
        by_key: their resources by `stack/logical id`.
    """

    def __init__(self, stacks: tuple[Stack, ...], by_key: Mapping[str, Resource]) -> None:
        self.stacks = stacks
        self.by_key = by_key
        self._by_type: dict[str, list[Resource]] = defaultdict(list)
        for resource in self.by_key.values():
            self._by_type[resource.type].append(resource)

    @property
    def existing(self) -> tuple[ExistingResource, ...]:
        """What the environment uses and does not own."""
        return existing_in(self.stacks)

    def region_of(self, resource: Resource) -> str:
        """Return the AWS Region of a resource's stack; `unknown-region` when the app leaves it open."""
        return next(stack.region for stack in self.stacks if stack.name == resource.stack)

    def of_type(self, *types: str) -> Iterator[Resource]:
        """Yield the resources of some types."""
        for type_ in types:
            yield from self._by_type.get(type_, ())

    def referred(self, value: Any) -> tuple[Resource, str] | None:
        """Return the resource that a value is a reference to, and the attribute; empty for what `Ref` returns.

        Args:
            value: a value of a resource's properties; text around a reference makes it none.
        """
        match = _WHOLE_REFERENCE.fullmatch(value) if isinstance(value, str) else None
        resource = self.by_key.get(match[1]) if match else None
        return (resource, match[2] or "") if resource and match else None

    def resource(self, value: Any, *types: str) -> Resource | None:
        """Return the resource that a value refers to, if it is of one of some types."""
        found = self.referred(value)
        return found[0] if found and found[0].type in types else None


def read_assembly(folder: Path) -> Resources:
    """Read a cloud assembly.

    Raises:
        slipway.assembly.stacks.NoAssemblyError: the folder is none.
    """
    return resources_of(read_stacks(folder))


def resources_of(stacks: tuple[Stack, ...]) -> Resources:
    """Return the resources of some stacks."""
    return Resources(stacks, read_resources(stacks))
