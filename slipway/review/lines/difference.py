"""Which keys differ between two environment files, and the file with only some of those changes."""

from collections.abc import Iterator, Sequence, Set
from dataclasses import dataclass
from typing import Any

from slipway.config.document import Document
from slipway.config.problems import Path, dotted

Key = tuple[str, ...]
"""Way to a value by names: keys of mappings, and of list items their `name`, as `[trn1]`."""

_ABSENT = object()


@dataclass(frozen=True)
class KeyChange:
    """A key that differs; a section or list item that comes or goes is one change."""

    key: Key
    line: int
    before: Any
    after: Any

    @property
    def path(self) -> str:
        """The key in words, for example `training.queues[trn1].max_count`."""
        names = [name if name.startswith("[") else dotted((name,)) for name in self.key]
        return ".".join(names).replace(".[", "[")


def key_changes(base: Document, head: Document) -> tuple[KeyChange, ...]:
    """Return what differs, in the order of the head's lines; keys that go are last, in the order of the base's."""
    return tuple(sorted(_changes(base, head), key=lambda one: (one.after is None, one.line)))


def _changes(base: Document, head: Document) -> Iterator[KeyChange]:
    for key, before, after in _differing(base.value, head.value, ()):
        document = base if after is _ABSENT else head
        line = document.position(_place(document.value, key), of_key=not key[-1].startswith("[")).line
        yield KeyChange(key, line, *(None if value is _ABSENT else value for value in (before, after)))


def with_changes(base: Any, head: Any, chosen: Set[Key], key: Key = ()) -> Any:
    """Return the base's values with the chosen changes alone, each of which `key_changes` gave.

    Args:
        base: values of the base, as `Document.value` has them.
        head: values of the head.
        chosen: the keys to take from the head.
        key: where both are.
    """
    if key in chosen:
        return head
    if base is _ABSENT or head is _ABSENT:
        return base
    pairs = _pairs(base, head)
    if pairs is None:
        return base
    made = {name: with_changes(one, other, chosen, (*key, name)) for name, one, other in pairs}
    kept = {name: value for name, value in made.items() if value is not _ABSENT}
    return kept if isinstance(base, dict) else tuple(kept.values())


def _differing(base: Any, head: Any, key: Key) -> Iterator[tuple[Key, Any, Any]]:
    pairs = _pairs(base, head)
    if pairs is None:
        # `1` and `true` are equal to Python.
        if type(base) is not type(head) or base != head:
            yield key, base, head
        return
    for name, one, other in pairs:
        yield from _differing(one, other, (*key, name))


def _pairs(base: Any, head: Any) -> Sequence[tuple[str, Any, Any]] | None:
    """Return the values of both by name, in the order of both. None if they cannot be compared by name."""
    if isinstance(base, dict) and isinstance(head, dict):
        one, other = base, head
    elif isinstance(base, tuple) and isinstance(head, tuple):
        named, others = _named(base), _named(head)
        if named is None or others is None:
            return None
        one, other = named, others
        # A new order changes the list as a whole, not one item.
        if [name for name in one if name in other] != [name for name in other if name in one]:
            return None
    else:
        return None
    return [(name, one.get(name, _ABSENT), other.get(name, _ABSENT)) for name in _merged(list(one), list(other))]


def _merged(one: list[str], other: list[str]) -> list[str]:
    """Return the names of both; one that only the other has stands behind the name before it there."""
    names = list(one)
    for index, name in enumerate(other):
        if name not in names:
            names.insert(names.index(other[index - 1]) + 1 if index else 0, name)
    return names


def _named(items: tuple[Any, ...]) -> dict[str, Any] | None:
    names = [f"[{item['name']}]" for item in items if isinstance(item, dict) and isinstance(item.get("name"), str)]
    return dict(zip(names, items, strict=True)) if len(set(names)) == len(items) else None


def _place(value: Any, key: Key) -> Path:
    """Return the keys and indexes that lead to a value."""
    place: list[str | int] = []
    for name in key:
        if isinstance(value, tuple):
            names = list(_named(value) or {})
            place.append(names.index(name))
            value = value[names.index(name)]
        else:
            place.append(name)
            value = value[name]
    return tuple(place)
