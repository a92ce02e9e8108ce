"""The resources of an assembly, with references between and inside its stacks as text."""

import re
from collections import defaultdict
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from slipway.assembly.existing import ExistingResource, existing_in
from slipway.assembly.stacks import Stack, read_stacks
from slipway.review.changes.references import Reader

_WHOLE_REFERENCE = re.compile(r"\$\{([\w-]+/\w+)(?:\.([^}]+))?\}")


@dataclass(frozen=True, eq=False)
class Part:
    """One resource.

    Attributes:
        properties: as in the template, with `${stack/logical id}` and `${stack/logical id.attribute}` for references.
    """

    stack: str
    logical_id: str
    type: str
    properties: Mapping[str, Any]

    @property
    def key(self) -> str:
        """`stack/logical id`."""
        return f"{self.stack}/{self.logical_id}"

    def at(self, path: str) -> Any:
        """Return what stands at a dotted path in the properties; None when nothing does."""
        return value_at(self.properties, path)


class Parts:
    """All resources of an assembly."""

    def __init__(self, stacks: tuple[Stack, ...]) -> None:
        self.stacks = stacks
        self.reader = Reader(stacks)
        self._by_key: dict[str, Part] = {}
        self._by_type: dict[str, list[Part]] = defaultdict(list)
        for stack in stacks:
            for logical_id, resource in stack.template.get("Resources", {}).items():
                properties = self.reader.read(resource.get("Properties") or {}, stack.name)
                part = Part(stack.name, logical_id, resource["Type"], properties)
                self._by_key[part.key] = part
                self._by_type[part.type].append(part)

    @property
    def existing(self) -> tuple[ExistingResource, ...]:
        """What the environment uses and does not own."""
        return existing_in(self.stacks)

    def of_type(self, *types: str) -> Iterator[Part]:
        """Yield the resources of some types."""
        for type_ in types:
            yield from self._by_type.get(type_, ())

    def referred(self, value: Any) -> tuple[Part, str] | None:
        """Return the resource that a value is a reference to, and the attribute; empty for what `Ref` returns.

        Args:
            value: a value of a part's properties; text around a reference makes it none.
        """
        match = _WHOLE_REFERENCE.fullmatch(value) if isinstance(value, str) else None
        part = self._by_key.get(match[1]) if match else None
        return (part, match[2] or "") if part and match else None

    def part(self, value: Any, *types: str) -> Part | None:
        """Return the resource that a value refers to, if it is of one of some types."""
        found = self.referred(value)
        return found[0] if found and found[0].type in types else None


def read_parts(folder: Path) -> Parts:
    """Read a cloud assembly.

    Raises:
        slipway.assembly.stacks.NoAssemblyError: the folder is none.
    """
    return Parts(read_stacks(folder))


def value_at(value: Any, path: str) -> Any:
    """Return what stands at a dotted path, whose steps are keys and indexes of lists; None when nothing does."""
    for step in path.split("."):
        if isinstance(value, Mapping):
            value = value.get(step)
        elif isinstance(value, list) and step.isdecimal() and int(step) < len(value):
            value = value[int(step)]
        else:
            return None
    return value
