"""Where two values differ, as paths into them: `Scheduling.SlurmQueues[trn1].MinCount`."""

import json
from collections.abc import Iterator
from typing import Any

Difference = tuple[str, Any, Any]
"""A path, what was there and what will be; None for nothing."""


def differences(before: Any, after: Any, path: str = "") -> Iterator[Difference]:
    """Yield the innermost values that differ.

    Items of a list are told apart by their `Name` or `Key` where all have one (an object of Kubernetes by kind and
    name), else by their place. Text that holds a JSON document, such as the values of a Helm chart, is compared as the
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
        for name in dict.fromkeys((*old, *new)):
            yield from differences(old.get(name), new.get(name), f"{path}[{name}]")
    elif len(before) == len(after) and not all(isinstance(item, str) for item in (*before, *after)):
        for number, (one, other) in enumerate(zip(before, after, strict=True)):
            yield from differences(one, other, f"{path}[{number}]")
    else:
        gone = [item for item in before if item not in after]
        new_items = [item for item in after if item not in before]
        if gone or new_items:
            yield path, gone or None, new_items or None
        else:
            yield path, before, after


def _by_name(items: list[Any]) -> dict[str, Any] | None:
    named = {name: item for item in items if (name := item_name(item)) is not None}
    return named if len(named) == len(items) else None


def item_name(item: Any) -> str | None:
    """Return what tells an item of a list from the others, wherever it stands; None when nothing does."""
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
