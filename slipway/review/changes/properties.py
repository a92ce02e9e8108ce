"""Where two values differ, as paths into them: `Scheduling.SlurmQueues[trn1].MinCount`."""

import json
from collections.abc import Iterator
from typing import Any

Difference = tuple[str, Any, Any]
"""A path, what was there and what will be; None for nothing."""


def differences(before: Any, after: Any, path: str = "") -> Iterator[Difference]:
    """Yield the innermost values that differ.

    Items of a list are distinguished by their `Name` or `Key` where all have one (an object of Kubernetes by kind and
    name). Of other lists the items are compared that the other side does not have, in their order. Another order is a
    difference of the list. Text that holds a JSON document, such as the values of a Helm chart, is compared as the
    document. `1` and `"1"` are the same to CloudFormation, and here.

    Args:
        before: a value.
        after: the value in its place.
        path: where both are.
    """
    before, after = _document(before), _document(after)
    if _is_same(before, after):
        return
    if isinstance(before, dict) and isinstance(after, dict):
        for name in dict.fromkeys((*before, *after)):
            yield from differences(before.get(name), after.get(name), f"{path}.{name}" if path else name)
    elif isinstance(before, list) and isinstance(after, list) and (before or after):
        yield from _items(before, after, path)
    else:
        yield path, before, after


def _items(before: list[Any], after: list[Any], path: str) -> Iterator[Difference]:
    if (old := _by_name(before)) is not None and (new := _by_name(after)) is not None:
        if list(old) != list(new) and old.keys() == new.keys():
            yield path, list(old), list(new)
        for name in dict.fromkeys((*old, *new)):
            yield from differences(old.get(name), new.get(name), f"{path}[{name}]")
        return
    gone = [item for item in before if item not in after]
    come = {number: item for number, item in enumerate(after) if item not in before}
    if not gone and not come:
        yield path, before, after
    elif len(gone) == len(come) and not all(isinstance(item, str) for item in (*before, *after)):
        for item, (number, other) in zip(gone, come.items(), strict=True):
            yield from differences(item, other, f"{path}[{number}]")
    else:
        yield path, gone or None, [*come.values()] or None


def _by_name(items: list[Any]) -> dict[str, Any] | None:
    named = {name: item for item in items if (name := item_name(item)) is not None}
    return named if len(named) == len(items) else None


def item_name(item: Any) -> str | None:
    """Return what distinguishes an item of a list from the others, wherever it stands; None when nothing does."""
    match item:
        case {"Name": str() as name} | {"Key": str() as name} | {"name": str() as name}:
            return name
        case {"DeviceName": str() as name} | {"Field": str() as name} | {"Id": str() as name}:
            return name
        case {"kind": str() as kind, "metadata": {"name": str() as name}}:
            return f"{kind} {name}"
    return None


def _document(value: Any) -> Any:
    if isinstance(value, str) and value[:1] in ("{", "["):
        try:
            return json.loads(value)
        except ValueError:
            return value
    return value


def _is_same(before: Any, after: Any) -> bool:
    if isinstance(before, dict | list) or isinstance(after, dict | list):
        return bool(before == after)
    return before == after or (None not in (before, after) and _plain(before) == _plain(after))


def _plain(value: Any) -> str:
    return str(value).lower() if isinstance(value, bool) else str(value)
