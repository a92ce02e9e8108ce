"""What a template chooses between by a condition."""

import json
from collections.abc import Iterator, Mapping
from typing import Any

Conditions = Mapping[tuple[str, str], frozenset[str]]
"""Operator, key and values: those of a policy's statement, or `is`, a condition of the template, and true or false."""

NOTHING = "${AWS::NoValue}"
"""What leaves out the property, or the item, that it replaces."""


def alternatives(value: Any, conditions: Conditions | None = None) -> Iterator[tuple[Any, Conditions]]:
    """Yield what a value may be, with the conditions of the template on which it is; None for nothing at all.

    https://docs.aws.amazon.com/AWSCloudFormation/latest/UserGuide/intrinsic-function-reference-conditions.html
    """
    conditions = conditions or {}
    match value:
        case {"Fn::If": [condition, one, other]}:
            name = condition if isinstance(condition, str) else json.dumps(condition, sort_keys=True)
            yield from alternatives(one, {**conditions, ("is", name): frozenset({"true"})})
            yield from alternatives(other, {**conditions, ("is", name): frozenset({"false"})})
        case str() if value == NOTHING:
            yield None, conditions
        case _:
            yield value, conditions


def rows(value: Any) -> Iterator[tuple[Any, Conditions]]:
    """Yield the items that a list may have, or the one that stands in the place of a list."""
    for choice, conditions in alternatives(value):
        for item in choice if isinstance(choice, list) else [choice]:
            yield from ((one, both) for one, both in alternatives(item, conditions) if one is not None)
