"""The resources of an assembly by the constructs that made them: scanners name constructs, people look up ids."""

from collections.abc import Mapping
from typing import Any, NamedTuple

Metadata = Mapping[str, Mapping[str, list[dict[str, Any]]]]
"""What the CDK writes about constructs, by stack name and construct path."""


class Place(NamedTuple):
    """A resource in a template."""

    stack: str
    resource: str
    """Logical id; the path of the construct when it stands for no resource."""


class Resources:
    """Finds resources by construct paths, and construct paths of resources."""

    def __init__(self, metadata: Metadata) -> None:
        """Read the logical ids in the metadata of constructs."""
        self._places = {
            path.strip("/"): Place(stack, entry["data"])
            for stack, constructs in metadata.items()
            for path, entries in constructs.items()
            for entry in entries
            if entry["type"] == "aws:cdk:logicalId"
        }
        self._paths = {place: path for path, place in self._places.items()}

    def at(self, construct: str) -> Place:
        """Return the resource of a construct: itself, or the one that is nearest below an L2 construct."""
        stack, _, inside = construct.partition("/")
        if construct in self._places or not inside:
            return self._places.get(construct, Place(stack, construct))
        below = [path for path in self._places if path.startswith(f"{construct}/")]
        nearest = min(below, key=lambda path: (_depth(path), len(path)), default=None)
        return self._places[nearest] if nearest else Place(stack, construct)

    def is_within(self, place: Place, construct: str) -> bool:
        """Whether a construct made a resource, itself or through one of its children."""
        return f"{self._paths.get(place, '')}/".startswith(f"{construct}/")


def _depth(path: str) -> int:
    """Count the parts of a path that have names of their own; the CDK calls what a construct is made for these two."""
    return sum(part not in ("Resource", "Default") for part in path.split("/"))
