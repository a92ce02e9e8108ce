"""The resources of an assembly, with references between stacks and without what moves by itself."""

import json
import re
from collections.abc import Mapping
from dataclasses import dataclass, replace
from functools import cached_property, partial
from typing import Any

from slipway.assembly.stacks import Stack
from slipway.catalogue import known
from slipway.review.changes.facts import facts
from slipway.review.changes.references import Reader, rewritten

_ATTRIBUTES = (
    *("Type", "Condition", "Properties", "CreationPolicy", "UpdatePolicy"),
    *("DeletionPolicy", "UpdateReplacePolicy"),
)
# Not the digest of an image that somebody chose and pinned: that is not a file of ours.
_ASSET_HASH = re.compile(r"(?<!sha256:)(?<![0-9a-f])[0-9a-f]{64}(?![0-9a-f])")


@dataclass(frozen=True)
class Resource:
    """One resource of one stack.

    Attributes:
        construct_path: its path in the construct tree, or the logical id.
        template: its part of the template with references as text, without metadata and dependencies, which say
            nothing about the resource itself.
    """

    stack: str
    logical_id: str
    construct_path: str
    template: Mapping[str, Any]

    @property
    def key(self) -> str:
        """`stack/logical id`."""
        return f"{self.stack}/{self.logical_id}"

    @property
    def type(self) -> str:
        """CloudFormation type."""
        kind: str = self.template["Type"]
        return kind

    @property
    def properties(self) -> Mapping[str, Any]:
        """As in the template."""
        properties: Mapping[str, Any] = self.template.get("Properties", {})
        return properties

    def at(self, path: str) -> Any:
        """Return what stands at a dotted path in the properties; None when nothing does."""
        return value_at(self.properties, path)

    @cached_property
    def ordered(self) -> dict[str, Any]:
        """The template with sets in one order."""
        ordered: dict[str, Any] = _in_order(self.template)
        return ordered

    @cached_property
    def settled(self) -> dict[str, Any]:
        """The same without hashes of files that nothing is started from: what differs here, somebody changed."""
        if known(self.type).started_by_hash:
            return self.ordered
        settled: dict[str, Any] = _in_order(rewritten(self.template, lambda text: _ASSET_HASH.sub("<asset>", text)))
        return settled

    def with_template(self, template: Mapping[str, Any]) -> "Resource":
        """Return the same resource with another template."""
        return replace(self, template=template)


def read_resources(stacks: tuple[Stack, ...]) -> dict[str, Resource]:
    """Return the resources of all stacks by `stack/logical id`, in the order of the templates."""
    reader = Reader(stacks)
    found = {}
    for stack in stacks:
        for logical_id, row in stack.template.get("Resources", {}).items():
            if known(row["Type"]).ignored:
                continue
            template = {name: reader.read(row[name], stack.name) for name in _ATTRIBUTES if name in row}
            if "Condition" in row:
                template["Condition"] = reader.condition(row["Condition"], stack.name)
            path = row.get("Metadata", {}).get("aws:cdk:path", logical_id)
            resource = Resource(stack.name, logical_id, path, template)
            found[resource.key] = resource
    return found


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


def _in_order(value: Any) -> Any:
    if isinstance(value, list):
        return [_in_order(item) for item in value]
    if not isinstance(value, dict):
        return value
    sets = facts().sets
    settled = {key: _in_order(item) for key, item in value.items()}
    return {
        key: sorted(item, key=partial(json.dumps, sort_keys=True)) if key in sets and isinstance(item, list) else item
        for key, item in settled.items()
    }
