"""Names that templates choose: of each there is one in AWS, so that one resource can stand in another's way."""

import json
from collections.abc import Iterator, Mapping
from typing import Any

from slipway.catalogue import known
from slipway.review.changes.references import marked
from slipway.review.changes.resources import Resource


def same_name(before: Resource, after: Resource, moved: frozenset[str]) -> str | None:
    """Return the property with the name that two resources share; None when AWS can have both.

    Args:
        before: a resource of the base.
        after: one of the head.
        moved: references that get a new value: what is in another cluster or network is another one.
    """
    paths = known(before.type).unique_name
    if before.type != after.type or not paths:
        return None
    old, new = before.properties, marked(after.properties, moved)
    pairs = [(_at(old, path), _at(new, path)) for path in paths]
    is_same = all(one is not None and json.dumps(one) == json.dumps(other) for one, other in pairs)
    return paths[-1].rpartition(".")[2] if is_same else None


def taken_name(
    resource: Resource, before: Mapping[str, Resource], after: Mapping[str, Resource], moved: frozenset[str]
) -> Iterator[str]:
    """Yield a sentence when a new resource has the name of one that goes, or that only the template lets go of."""
    for key, other in before.items():
        if key not in after and (name := same_name(other, resource, moved)):
            yield (
                f"{key} has the same {name}. CloudFormation deletes what goes after it made what comes, if at all: AWS "
                "refuses a second one of that name."
            )


def _at(properties: Any, path: str) -> Any:
    for name in path.split("."):
        properties = properties.get(name) if isinstance(properties, dict) else None
    return properties
