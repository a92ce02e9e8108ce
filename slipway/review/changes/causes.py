"""Why a resource changes: by itself, or because another one that it refers to does."""

from collections.abc import Iterator, Mapping

from slipway.review.changes.references import references
from slipway.review.changes.resources import Resource


def cause(key: str, before: Mapping[str, Resource], after: Mapping[str, Resource], moved: frozenset[str]) -> str | None:
    """Return the resource where the change begins, as `stack/logical id`; None when the resource differs by itself.

    A reference may lead over several resources to more than one such: then the first in the order of the references.

    Args:
        key: the resource, `stack/logical id`.
        before: all resources as they are.
        after: all resources as they will be, by the same names.
        moved: references that get a new value.
    """
    return next(_roots(key, before, after, moved, {key}), None)


def _roots(
    key: str, before: Mapping[str, Resource], after: Mapping[str, Resource], moved: frozenset[str], seen: set[str]
) -> Iterator[str]:
    if _differs(key, before, after):
        return
    for other, attribute in references(after[key].settled):
        if other in seen or not ({other, other + attribute} & moved):
            continue
        seen.add(other)
        if _differs(other, before, after):
            yield other
        else:
            yield from _roots(other, before, after, moved, seen)


def _differs(key: str, before: Mapping[str, Resource], after: Mapping[str, Resource]) -> bool:
    if key not in before or key not in after:
        return True
    one, other = before[key], after[key]
    return one.logical_id != other.logical_id or one.settled != other.settled
