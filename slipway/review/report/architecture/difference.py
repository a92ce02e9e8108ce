"""Two versions of an architecture in one, with what a deployment does to each part."""

from typing import Literal

from slipway.review.changes.model import Changes
from slipway.review.report.architecture.model import Architecture, Part

Mark = Literal["added", "changed", "replaced", "removed"]

_EFFECT_MARKS: dict[str, Mark] = {
    "add": "added",
    "update": "changed",
    "may_replace": "replaced",
    "replace": "replaced",
    "remove": "removed",
    "orphan": "removed",
}


def with_removed(head: Architecture, base: Architecture) -> Architecture:
    """Return the new version with the parts and subnets that only the old one has, so that both can be seen."""
    known = {part.id for part in head.parts}
    subnets = {subnet.id for subnet in head.subnets}
    return head.model_copy(
        update={
            "parts": (*head.parts, *(part for part in base.parts if part.id not in known)),
            "subnets": (*head.subnets, *(subnet for subnet in base.subnets if subnet.id not in subnets)),
        }
    )


def marks(head: Architecture, base: Architecture, changes: Changes) -> dict[str, Mark]:
    """Return what happens to parts, subnets and the VPC, by id; what stays as it is has no mark.

    A part is marked as its own resource is. What else it consists of (a launch template, a task definition) is replaced
    by every change, so that only marks it as changed.
    """
    effects = {f"{change.stack}/{change.logical_id}": _EFFECT_MARKS[change.effect] for change in changes.resources}
    before = {part.id: part for part in base.parts}
    after = {part.id: part for part in head.parts}
    found: dict[str, Mark] = {}
    for part_id, part in {**before, **after}.items():
        if part_id not in after:
            found[part_id] = "removed"
        elif part_id not in before:
            found[part_id] = "added"
        elif mark := _mark(part, before[part_id], effects):
            found[part_id] = mark
    for frame in (head.network_id, *(subnet.id for subnet in (*head.subnets, *base.subnets))):
        if frame in effects:
            found[frame] = effects[frame]
    return found


def _mark(part: Part, before: Part, effects: dict[str, Mark]) -> Mark | None:
    own, *others = part.members or ("",)
    is_piece = part.id != own
    mark = effects.get(own)
    if mark == "replaced" or (mark and not is_piece):
        return mark
    changed = part.settings != before.settings if is_piece else any(other in effects for other in others)
    return "changed" if changed else None
