"""What the deployment of one assembly changes where another one is deployed."""

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from slipway.assembly.stacks import Stack
from slipway.catalogue import known, resource_types
from slipway.review.changes.causes import cause
from slipway.review.changes.data_loss import loses_data
from slipway.review.changes.differ import Answer, Impact, ask
from slipway.review.changes.model import Changes, Effect, PropertyChange, ResourceChange
from slipway.review.changes.names import taken_name
from slipway.review.changes.notes import notes
from slipway.review.changes.permissions.compare import wider_access
from slipway.review.changes.permissions.protections import stack_wider_access
from slipway.review.changes.properties import Difference, differences
from slipway.review.changes.references import marked, renamed
from slipway.review.changes.renames import find_renames
from slipway.review.changes.resources import Resource, read_resources
from slipway.review.changes.skipped import skipped_stacks

_EFFECTS: Mapping[Impact, Effect] = {
    "WILL_CREATE": "add",
    "WILL_UPDATE": "update",
    "MAY_REPLACE": "may_replace",
    "WILL_REPLACE": "replace",
    "WILL_DESTROY": "remove",
    "WILL_ORPHAN": "orphan",
    # Of a resource that differs in nothing but what is not a property, such as its DeletionPolicy.
    "NO_CHANGE": "update",
}
_LOGICAL_ID = "logical id"


def compare(base: tuple[Stack, ...], head: tuple[Stack, ...]) -> Changes:
    """Return the difference of two assemblies of one environment.

    AWS's own differ says what CloudFormation does with a changed property. Beyond it, references are followed from
    stack to stack, a new logical id is recognized, and what only the hash of an uploaded file moved is set apart. Such
    a file is all that a nested stack would be; the environments have none.

    Args:
        base: what is deployed, or supposed to be.
        head: what shall be.

    Raises:
        slipway.review.changes.differ.DifferError: the differ is not installed, or it failed.
    """
    comparison = _Comparison.of(base, head)
    old, new = tuple(stack.name for stack in base), tuple(stack.name for stack in head)
    resources = tuple(comparison.changes())
    return Changes(
        added_stacks=tuple(name for name in new if name not in old),
        removed_stacks=tuple(name for name in old if name not in new),
        resources=resources,
        broadenings=(*wider_access(comparison.before, comparison.after), *stack_wider_access(base, head)),
        asset_changes=tuple(comparison.asset_changes()),
        skipped_stacks=skipped_stacks(base, head, {change.stack for change in resources}),
    )


@dataclass(frozen=True)
class _Comparison:
    """Both sides by the logical ids of the head.

    Attributes:
        before: resources of the base.
        after: resources of the head.
        original: `stack/logical id` in the base of those that have another one in the head, by the latter.
        answer: what becomes of each.
    """

    before: Mapping[str, Resource]
    after: Mapping[str, Resource]
    original: Mapping[str, str]
    answer: Answer

    @classmethod
    def of(cls, base: tuple[Stack, ...], head: tuple[Stack, ...]) -> "_Comparison":
        old, after = read_resources(base), read_resources(head)
        names = find_renames(old, after)
        before = {
            names.get(key, key): resource.with_template(renamed(resource.template, names))
            for key, resource in old.items()
        }
        original = {new: name for name, new in names.items() if not known(old[name].type).logical_id_has_hash}
        answer = ask(
            {key: _with_logical_id(row, original.get(key)) for key, row in before.items()},
            {key: _with_logical_id(row, row.logical_id if key in original else None) for key, row in after.items()},
            _replacing(),
            {name: entry.moving_attributes for name, entry in resource_types().items() if entry.moving_attributes},
        )
        return cls(before, after, original, answer)

    def changes(self) -> Iterator[ResourceChange]:
        for key in dict.fromkeys((*self.after, *self.before)):
            if key in self.answer.resources:
                yield self._change(key)

    def asset_changes(self) -> Iterator[str]:
        for key, resource in self.after.items():
            if key not in self.answer.resources and any(differences(self.before[key].ordered, resource.ordered)):
                yield key

    def _change(self, key: str) -> ResourceChange:
        before, after = self.before.get(key), self.after.get(key)
        resource = after or before
        assert resource
        effect, moved = _EFFECTS[self.answer.resources[key].impact], self.answer.moved
        properties = tuple(self._properties(key)) if before and after else ()
        return ResourceChange(
            stack=resource.stack,
            logical_id=resource.logical_id,
            construct_path=resource.construct_path,
            type=resource.type,
            effect=effect,
            loses_data=before is not None and loses_data(before, after, effect),
            caused_by=cause(key, self.before, self.after, moved),
            properties=properties,
            notes=(
                notes(before, after, effect, properties, moved)
                if before
                else tuple(taken_name(resource, self.before, self.after, moved))
            ),
        )

    def _properties(self, key: str) -> Iterator[PropertyChange]:
        before, after = self.before[key], self.after[key]
        if key in self.original:
            yield PropertyChange(path=_LOGICAL_ID, before=before.logical_id, after=after.logical_id, effect="replace")
        impacts = self.answer.resources[key].properties
        nested = _replacing_paths(after.type) | ({"Type"} if before.type != after.type else frozenset())
        # Of a property that replaces by what is nested in it, nothing else does.
        decided = {_top(path) for path in nested}
        for path, old, new in _differences(before, after, self.answer.moved):
            otherwise = "WILL_UPDATE" if _top(path) in decided else impacts.get(_top(path), "WILL_UPDATE")
            effect = "replace" if path in nested else _EFFECTS[otherwise]
            yield PropertyChange.model_validate({"path": path, "before": old, "after": new, "effect": effect})


def _with_logical_id(resource: Resource, logical_id: str | None) -> Mapping[str, Any]:
    """Return what the differ compares; a new logical id is one more property, whose change it follows like any."""
    settled = resource.settled
    if logical_id is None:
        return settled
    return {**settled, "Properties": {**settled.get("Properties", {}), _LOGICAL_ID: logical_id}}


def _replacing() -> dict[str, tuple[str, ...]]:
    entries = resource_types().items()
    known_here = {name: tuple(row.path for row in entry.replacing_properties) for name, entry in entries}
    return {"*": (_LOGICAL_ID,), **{name: paths for name, paths in known_here.items() if paths}}


def _replacing_paths(resource_type: str) -> frozenset[str]:
    return frozenset(row.path for row in known(resource_type).replacing_properties)


def _differences(before: Resource, after: Resource, moved: frozenset[str]) -> Iterator[Difference]:
    def attributes(resource: Resource) -> dict[str, Any]:
        return {name: value for name, value in resource.settled.items() if name != "Properties"}

    yield from differences(attributes(before), attributes(after))
    yield from differences(before.settled.get("Properties", {}), marked(after.settled.get("Properties", {}), moved))


def _top(path: str) -> str:
    return re.split(r"[.\[]", path, maxsplit=1)[0]
