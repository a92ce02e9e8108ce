"""What to know about a change that CloudFormation does not say."""

from collections.abc import Iterator
from fnmatch import fnmatchcase
from typing import Any

from slipway.review.changes.data_loss import holds_data
from slipway.review.changes.facts import Note, notes_of
from slipway.review.changes.model import Effect, PropertyChange
from slipway.review.changes.names import same_name
from slipway.review.changes.resources import Resource


def notes(
    before: Resource,
    after: Resource | None,
    effect: Effect,
    changed: tuple[PropertyChange, ...],
    moved: frozenset[str],
) -> tuple[str, ...]:
    """Return a sentence for each thing to know.

    Args:
        before: the resource as it is.
        after: as it will be, None when it goes.
        effect: what happens to it.
        changed: its properties that change.
        moved: references that get a new value.
    """
    rows = tuple(row.note for row in notes_of(before.type) if _applies(row, before, effect, changed))
    return (*rows, *_general(before, after, effect, moved))


def _applies(row: Note, before: Resource, effect: Effect, changed: tuple[PropertyChange, ...]) -> bool:
    if row.effects and effect not in row.effects:
        return False
    if any(before.properties.get(name) != value for name, value in row.having.items()):
        return False
    if row.together_with and not any(_matches(change.path, row.together_with) for change in changed):
        return False
    return not row.paths or any(
        _matches(change.path, row.paths) and _moves(row, change.before, change.after) for change in changed
    )


def _matches(path: str, patterns: tuple[str, ...]) -> bool:
    return any(fnmatchcase(path, pattern) for pattern in patterns)


def _moves(row: Note, before: Any, after: Any) -> bool:
    if row.after is not None and after != row.after:
        return False
    if row.direction is None:
        return True
    try:
        rises = float(after) > float(before)
    except (TypeError, ValueError):
        return False
    return rises is (row.direction == "up")


def _general(before: Resource, after: Resource | None, effect: Effect, moved: frozenset[str]) -> Iterator[str]:
    if effect == "may_replace" and holds_data(before):
        yield "If CloudFormation replaces it, its data go: look at the change set before you execute it."
    if effect != "replace" or after is None:
        return
    if after.type != before.type:
        # https://github.com/aws/aws-sam-cli/issues/6786
        yield (
            f'It was {before.type}. CloudFormation refuses it, "Update of resource type is not permitted.": another '
            "type needs another logical id."
        )
        return
    if after.logical_id != before.logical_id:
        policy = before.template.get("DeletionPolicy")
        yield f"Its logical id was {before.logical_id}: CloudFormation makes another one and lets go of this."
    else:
        policy = before.template.get("UpdateReplacePolicy")
    if policy in ("Retain", "RetainExceptOnCreate"):
        yield "The old one stays, with what it holds, and goes on to cost."
    if name := same_name(before, after, moved):
        yield (
            f"Its {name} stays the same, and CloudFormation makes the new one before it deletes the old one: AWS "
            "refuses a second one of that name."
        )
