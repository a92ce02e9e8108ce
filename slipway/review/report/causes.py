"""Changes by what causes them: what only follows from another change is folded into it."""

from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass

from slipway.review.changes.model import Changes, Effect, ResourceChange
from slipway.review.report.wording import EFFECT_WORDS

_WRAPPERS = frozenset({"Resource", "Default"})
_ALARM = {effect: rank for rank, effect in enumerate(EFFECT_WORDS)}


@dataclass(frozen=True)
class Cause:
    """A change with a cause of its own, and all that changes because of it alone."""

    change: ResourceChange
    follow: tuple[ResourceChange, ...]

    @property
    def loses_data(self) -> bool:
        """Whether data goes with it or with what follows."""
        return self.change.loses_data or any(change.loses_data for change in self.follow)

    @property
    def effect(self) -> Effect:
        """The most alarming of what happens to it and to what follows: a change in place may replace another one."""
        return min((self.change.effect, *(change.effect for change in self.follow)), key=_ALARM.__getitem__)

    @property
    def is_alarming(self) -> bool:
        """Whether something is lost, replaced, deleted or left behind."""
        return self.loses_data or self.effect not in {"update", "add"}

    @property
    def following(self) -> str:
        """What follows in words, for example `2 that follow it: 1 replaced, 1 changed`; empty when nothing does."""
        if not self.follow:
            return ""
        verb = "follows" if len(self.follow) == 1 else "follow"
        return f"{len(self.follow):,} that {verb} it: {effects_counted(self.follow)}"

    @property
    def notes(self) -> tuple[str, ...]:
        """What to know about it and about what follows, a sentence each; with the resource where it is another one."""
        followers: dict[str, list[str]] = {}
        for change in self.follow:
            for note in change.notes:
                followers.setdefault(note, []).append(own_path(change))
        told = (
            f"{paths[0]}{f' and {len(paths) - 1:,} more' if len(paths) > 1 else ''}: {note}"
            for note, paths in followers.items()
        )
        return (*self.change.notes, *told)


def resource_id(change: ResourceChange) -> str:
    """Return `stack/logical id`."""
    return f"{change.stack}/{change.logical_id}"


def own_path(change: ResourceChange) -> str:
    """Return the construct path without the stack, and without the names that only wrap the resource."""
    names = change.construct_path.removeprefix(f"{change.stack}/").split("/")
    while len(names) > 1 and names[-1] in _WRAPPERS:
        names.pop()
    return "/".join(names)


def effects_counted(changes: Iterable[ResourceChange]) -> str:
    """Return how many changes there are of each kind, for example `2 replaced, 1 changed`."""
    effects = Counter(change.effect for change in changes)
    return ", ".join(f"{effects[effect]:,} {word}" for effect, word in EFFECT_WORDS.items() if effects[effect])


def causes(changes: Changes) -> tuple[Cause, ...]:
    """Return the changes, the most alarming first: lost data, replacements, deletions, then the rest."""
    by_id = {resource_id(change): change for change in changes.resources}
    follow: dict[str, list[ResourceChange]] = {}
    for change in changes.resources:
        root = _root(change, by_id)
        follow.setdefault(resource_id(root), [])
        if root is not change:
            follow[resource_id(root)].append(change)
    found = (Cause(by_id[name], tuple(sorted(others, key=_alarm))) for name, others in follow.items())
    return tuple(sorted(found, key=lambda cause: (not cause.loses_data, _ALARM[cause.effect], _alarm(cause.change))))


def _alarm(change: ResourceChange) -> tuple[bool, int, str, str]:
    """Return a sort key: the most alarming change first, then by stack and path."""
    return (not change.loses_data, _ALARM[change.effect], change.stack, change.construct_path)


def _root(change: ResourceChange, by_id: dict[str, ResourceChange]) -> ResourceChange:
    seen = {resource_id(change)}
    while change.caused_by in by_id and change.caused_by not in seen:
        seen.add(change.caused_by)
        change = by_id[change.caused_by]
    return change
