"""What the settings of a cluster let somebody do and did not before: by resource type."""

from collections.abc import Iterator, Mapping
from fnmatch import fnmatchcase
from functools import cache
from ipaddress import ip_network
from typing import Any, Literal

from pydantic import BaseModel, ConfigDict

from slipway.catalogue import known
from slipway.review.changes.model import Harm, WiderAccess
from slipway.review.changes.permissions.addresses import holds, is_everybody
from slipway.review.changes.permissions.paths import paths
from slipway.review.changes.permissions.words import words
from slipway.review.changes.resources import Resource


class Setting(BaseModel):
    """A setting of a cluster that lets somebody do more."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    path: str
    """Shell-style pattern of the path in the resource's properties."""

    read: Literal["ranges", "items", "becomes"]
    """How two values compare.

    * ranges: address ranges, one as text or several in a list; more addresses are more, loopback addresses are nobody
    * items: a list; an item more is more (its properties in one)
    * becomes: one value, `value`, is more than any other
    """

    value: str | bool | None = None
    default: str | bool | None = None
    """What counts when it is not there."""

    switch: str | None = None
    """Path of another setting; this one counts for nothing while that one is false."""

    harm: Harm = "cluster"
    """A range that has every address is `public`."""

    what: str


@cache
def _settings(resource_type: str) -> tuple[Setting, ...]:
    return tuple(Setting.model_validate(row) for row in known(resource_type).access)


def cluster_wider_access(before: Mapping[str, Resource], after: Mapping[str, Resource]) -> Iterator[WiderAccess]:
    """Yield what clusters let somebody do by a setting that they did not have."""
    for key, resource in after.items():
        old = before.get(key)
        for row in _settings(resource.type):
            mine = _values(row, resource)
            others = _values(row, old) if old else {}
            for path, value in mine.items():
                for more in _more(row, others.get(path), value):
                    what = f"{row.what} {words(more)}".strip()
                    harm: Harm = "public" if row.read == "ranges" and is_everybody(more) else row.harm
                    yield WiderAccess(
                        stack=resource.stack, resource=resource.logical_id, kind="cluster", harm=harm, what=what
                    )


def _values(row: Setting, resource: Resource) -> dict[str, Any]:
    everything = dict(paths(resource.settled.get("Properties", {})))
    if row.switch and str(everything.get(row.switch, True)).lower() != "true":
        return {}
    found = {path: value for path, value in everything.items() if fnmatchcase(path, row.path)}
    return found or ({} if row.default is None else {row.path: row.default})


def _more(row: Setting, before: Any, after: Any) -> Iterator[str]:
    if row.read == "becomes":
        if str(after).lower() == str(row.value).lower() != str(before).lower():
            yield ""
    elif row.read == "ranges":
        ranges = _texts(before)
        more = (item for item in _texts(after) if not any(holds(wider, item) for wider in ranges))
        yield from (item for item in more if not _is_nobody(item))
    else:
        yield from (item for item in _texts(after) if item not in _texts(before))


def _is_nobody(item: str) -> bool:
    """Return whether nothing outside the machine itself has an address in the range (RFC 1122 3.2.1.3, RFC 4291 2.5.3).

    A cluster that nobody reaches by SSH has such a range, because ParallelCluster opens everything without one.
    """
    try:
        return ip_network(item, strict=False).is_loopback
    except ValueError:
        return False


def _texts(value: Any) -> list[str]:
    if value is None:
        return []
    items = value if isinstance(value, list) else [value]
    return [_text(item) for item in items]


def _text(item: Any) -> str:
    if isinstance(item, dict):
        return " ".join(f"{name} {_text(value)}" for name, value in item.items())
    return str(item)
