"""What each changed line of the environment file causes, in the words of every rendering."""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from slipway.review.cost.model import HOURS_PER_MONTH
from slipway.review.plan import ChangedLine, ChangedLines, Consequences, Plan
from slipway.review.report import wider_access
from slipway.review.report.causes import Cause, causes, own_path, resource_id
from slipway.review.report.wording import EFFECT_WORDS, VERDICT_WORDS, count, duration, usd_change, values

TITLE = "Changed lines"
"""Heading of the part."""

NOTHING = "Changes nothing that is deployed"

_FEW = 3
"""How many resources of a kind are named one by one."""

_LONGEST_VALUE = 90


@dataclass(frozen=True)
class Told:
    """A part of the change, for a rendering.

    Attributes:
        place: the number of its line, as text; empty for what is no line.
        name: the key, or what else it is.
        before: what the key was; empty for what is no line.
        after: what it will be.
        bad: what fails or is lost, a phrase each.
        effects: what else it causes, a phrase each; one that says so when it causes nothing.
    """

    place: str
    name: str
    before: str
    after: str
    bad: tuple[str, ...]
    effects: tuple[str, ...]


def told(plan: Plan) -> tuple[Told, ...]:
    """Return every changed line in the order of the file, then what other files cause, and what only all cause."""
    lines = plan.comparison.lines if plan.comparison else None
    return tuple(_told(lines)) if lines else ()


def introduction(plan: Plan) -> str:
    """Return the sentence above the lines: the file, and why nothing is below them if that is so."""
    lines = plan.comparison.lines if plan.comparison else None
    if lines is None:
        return ""
    return lines.not_told_apart or f"{lines.file}, and what each change causes by itself."


def _told(lines: ChangedLines) -> Iterator[Told]:
    for line in lines.lines:
        before, after = values(_plain(line.before), _plain(line.after), _LONGEST_VALUE)
        yield Told(str(line.line), line.path, before, after, *_phrases(line.causes, _otherwise(line)))
    if lines.other_files:
        yield Told("", "Other changed files", "", "", *_phrases(lines.other_files, ()))
    if lines.together:
        yield Told("", "Only together", "", "", *_phrases(lines.together, ()))


def _plain(value: Any) -> Any:
    return str(value).lower() if isinstance(value, bool) else value


def _otherwise(line: ChangedLine) -> tuple[str, ...]:
    return (line.not_alone.rstrip("."),) if line.not_alone else ()


def _phrases(consequences: Consequences | None, otherwise: tuple[str, ...]) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """Return what fails or is lost, and what else is caused."""
    if consequences is None:
        return (), otherwise
    found = causes(consequences.changes)
    refusal = (VERDICT_WORDS[consequences.cluster_update],) if consequences.cluster_update else ()
    lost = tuple(_named(cause, " and loses data") for cause in found if cause.loses_data)
    effects = tuple(_effects(consequences, [cause for cause in found if not cause.loses_data]))
    return (*refusal, *lost), effects if effects or refusal or lost else (NOTHING,)


def _effects(consequences: Consequences, found: list[Cause]) -> Iterator[str]:
    changes = consequences.changes
    # In the order of the stacks: what is built first is what the others follow.
    order = [resource_id(change) for change in changes.resources]
    for effect, word in EFFECT_WORDS.items():
        group = [cause for cause in found if cause.change.effect == effect]
        group.sort(key=lambda cause: order.index(resource_id(cause.change)))
        names = [own_path(cause.change) for cause in group]
        more = sum(len(cause.follow) for cause in group) + len(group[_FEW:])
        if group:
            yield f"{word}: {', '.join(names[:_FEW])}{f', and {more:,} more with it' if more else ''}"
    if changes.asset_changes:
        yield f"new files in {count(len(changes.asset_changes), 'resource')}"
    for harm, wider in wider_access.by_harm(changes):
        yield f"{harm[:1].lower()}{harm[1:]}: {wider[0].what}{f', and {len(wider) - 1:,} more' if wider[1:] else ''}"
    yield from _cost(consequences)
    if consequences.deploy_seconds:
        yield f"deploys in {duration(consequences.deploy_seconds)}"


def _cost(consequences: Consequences) -> Iterator[str]:
    idle, peak = consequences.idle_usd_per_hour, consequences.peak_usd_per_hour
    for name, amount in (("idle and peak", idle),) if idle == peak else (("idle", idle), ("peak", peak)):
        if amount is None:
            yield f"{name}: the change has no known price"
        elif amount:
            yield f"{name} {usd_change(amount)} an hour, {usd_change(amount * HOURS_PER_MONTH)} a month"


def _named(cause: Cause, loss: str) -> str:
    follow = f"; {cause.following}" if cause.follow else ""
    return f"{own_path(cause.change)} is {EFFECT_WORDS[cause.change.effect]}{loss}{follow}"
