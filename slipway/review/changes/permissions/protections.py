"""What protects less than before: by resource type, and the termination protection of stacks."""

import json
import re
from collections.abc import Iterator, Mapping
from functools import cache
from math import inf, isinf
from typing import Any, Literal

from pydantic import BaseModel, ConfigDict

from slipway.assembly.stacks import Stack
from slipway.catalogue import known
from slipway.review.changes.model import Harm, WiderAccess
from slipway.review.changes.permissions.alternatives import alternatives
from slipway.review.changes.permissions.paths import paths
from slipway.review.changes.permissions.words import words
from slipway.review.changes.references import references
from slipway.review.changes.resources import Resource


class Protection(BaseModel):
    """What protects data, traffic or a trail of what happened, and how it gets weaker."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    path: str
    """Path of the setting, or of the DeletionPolicy and UpdateReplacePolicy. `[*]` is any item of a list, another `*`
    is anything."""

    read: Literal["leaves", "becomes", "falls", "rises", "comes", "goes", "loses", "gains", "widens", "removed"]
    """How two values compare.

    * leaves: it was one of `values` and is not one of them any more
    * becomes: it is one of `values` and was not one of them
    * falls, rises: a number
    * comes, goes: it was not there, or is no more
    * loses, gains: a list has an item less or more
    * widens: a list that limits something has an item more; without it there was no limit
    * removed: the resource goes, while the one that `path` refers to stays
    """

    values: tuple[str | bool | int, ...] = ()
    default: str | bool | float | None = None
    """What counts when it is not there."""

    harm: Harm = "protection"

    what: str
    """The consequence; `{before}` and `{after}` are the values."""


_OF_EVERY_TYPE = tuple(
    Protection(
        path=path,
        read="leaves",
        values=("Retain", "RetainExceptOnCreate", "Snapshot"),
        harm="data_loss",
        what="Nothing keeps it any more when the stack lets go of it or replaces it",
    )
    for path in ("DeletionPolicy", "UpdateReplacePolicy")
)
"""Source: https://docs.aws.amazon.com/AWSCloudFormation/latest/UserGuide/aws-attribute-deletionpolicy.html"""


@cache
def _protections(resource_type: str) -> tuple[Protection, ...]:
    rows = known(resource_type).protections
    return (*_OF_EVERY_TYPE, *(Protection.model_validate(row) for row in rows))


def protection_wider_access(before: Mapping[str, Resource], after: Mapping[str, Resource]) -> Iterator[WiderAccess]:
    """Yield what protects less than before; what goes or comes as a whole protects nothing any more, or not yet."""
    for key, old in before.items():
        rows = _protections(old.type)
        new = after.get(key)
        weaker = _removed(rows, old, after) if new is None else _weakened(rows, old, new)
        for harm, what in weaker:
            owner = new or old
            yield WiderAccess(stack=owner.stack, resource=owner.logical_id, kind="protection", harm=harm, what=what)


def stack_wider_access(base: tuple[Stack, ...], head: tuple[Stack, ...]) -> Iterator[WiderAccess]:
    """Yield the stacks that were protected from deletion and are no more."""
    protected = {stack.name for stack in base if stack.termination_protection}
    for stack in head:
        if stack.name in protected and not stack.termination_protection:
            what = "The stack can be deleted (no termination protection)"
            yield WiderAccess(stack=stack.name, resource=stack.name, kind="protection", harm="data_loss", what=what)


def _removed(rows: tuple[Protection, ...], old: Resource, after: Mapping[str, Resource]) -> Iterator[tuple[Harm, str]]:
    for row in rows:
        guarded = {key for key, _ in references(old.properties.get(row.path))}
        if row.read == "removed" and guarded & after.keys():
            yield row.harm, row.what


def _weakened(rows: tuple[Protection, ...], old: Resource, new: Resource) -> Iterator[tuple[Harm, str]]:
    was, will = _settings(old), _settings(new)
    gone: list[str] = []
    for path in dict.fromkeys((*was, *will)):
        item = path[: path.rfind("]") + 1]
        is_gone = item not in (path, "") and item not in will
        if path.startswith(tuple(gone)) or (is_gone and not _is_setting(was[item])):
            continue
        for row in rows:
            if row.read == "removed" or not _pattern(row.path).fullmatch(path):
                continue
            if (change := _less(row, was.get(path, row.default), will.get(path, row.default))) is not None:
                yield row.harm, row.what.format(before=_in_words(change[0]), after=_in_words(change[1]))
                # With it goes what is in it: that is said.
                gone += (f"{path}.", f"{path}[") if row.read == "goes" else ()


def _is_setting(item: Any) -> bool:
    """Return whether an item of a list is a key with its value, without which the default counts."""
    return isinstance(item, dict) and item.keys() == {"Key", "Value"}


@cache
def _pattern(path: str) -> re.Pattern[str]:
    return re.compile(re.escape(path).replace(r"\[\*\]", r"\[[^\]]*\]").replace(r"\*", ".*"))


def _settings(resource: Resource) -> dict[str, Any]:
    attributes = {name: value for name, value in resource.settled.items() if name.endswith("Policy")}
    if default := known(resource.type).default_deletion_policy:
        attributes.setdefault("DeletionPolicy", default)
    return dict(paths({**attributes, **resource.settled.get("Properties", {})}))


def _less(row: Protection, before: Any, after: Any) -> tuple[Any, Any] | None:
    """Return what was and what will be when that is weaker; of lists the items that go and come.

    Of a value that hangs on a condition of the template the weakest choice counts.
    """
    if before == after:
        return None
    was, will = _choices(before), _choices(after)
    match row.read:
        case "leaves":
            is_weaker = any(_is_one(one, row.values) for one in was) and not all(
                _is_one(one, row.values) for one in will
            )
        case "becomes":
            is_weaker = any(_is_one(one, row.values) for one in will) and not all(
                _is_one(one, row.values) for one in was
            )
        case "falls":
            is_weaker = min(map(_number, will)) < min(map(_number, was))
        case "rises":
            is_weaker = max(map(_number, will)) > max(map(_number, was))
        case "comes":
            is_weaker = all(one is None for one in was) and any(one is not None for one in will)
        case "goes":
            is_weaker = all(one is not None for one in was) and any(one is None for one in will)
        case "widens" if before is None:
            return None
        case _:
            gone, new = _beside(before, after), _beside(after, before)
            return (gone, new) if (gone if row.read == "loses" else new) else None
    return (before, after) if is_weaker else None


def _choices(value: Any) -> list[Any]:
    return [choice for choice, _ in alternatives(value)]


def _is_one(value: Any, values: tuple[str | bool | int, ...]) -> bool:
    return str(value).lower() in {str(one).lower() for one in values}


def _number(value: Any) -> float:
    """Return a number; NaN, which is neither more nor less than any, for what is known only to AWS."""
    try:
        return float(value)
    except (TypeError, ValueError):
        return float("nan")


def _beside(items: Any, others: Any) -> list[Any]:
    there = _list(others)
    return [item for item in _list(items) if item not in there]


def _list(value: Any) -> list[Any]:
    if value is None:
        return []
    return value if isinstance(value, list) else [value]


def _in_words(value: Any) -> str:
    if isinstance(value, float) and isinf(value):
        return "never" if value == inf else str(value)
    if isinstance(value, list):
        return ", ".join(_in_words(item) for item in value)
    if isinstance(value, dict):
        return str(value.get("Name") or value.get("Type") or json.dumps(value, sort_keys=True))
    return words(str(value))
