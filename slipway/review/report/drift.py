"""What was changed outside of CloudFormation, in the words of every rendering."""

from collections.abc import Iterator
from dataclasses import dataclass

from slipway.review.drift.model import Drift, DriftedResource
from slipway.review.report.wording import count, values

TITLE = "Changed outside of CloudFormation"
"""Heading of the part."""

SHORT_TITLE = "Drift"
"""The same where there is little room."""

ADVICE = (
    "The comparison of templates does not see these changes. A deployment takes one back only if the template changes "
    "the same property."
)
"""What a reader must know about all of them."""

_LONGEST_VALUE = 90


@dataclass(frozen=True)
class Told:
    """A changed resource, for a rendering.

    Attributes:
        name: `stack/logical id`.
        type: its CloudFormation type.
        what: what happened to it, a phrase.
        bad: what that lets somebody do, or what is lost, a phrase each.
        properties: each property with what it was and is.
    """

    name: str
    type: str
    what: str
    bad: tuple[str, ...]
    properties: tuple[str, ...]


def told(drift: Drift) -> tuple[Told, ...]:
    """Return what was changed, the most harmful first."""
    return tuple(_told(resource) for resource in drift.resources)


def introduction(drift: Drift) -> str:
    """Return the sentence above the list, or why there is none."""
    if not drift.stacks:
        return "The environment is not deployed."
    if drift.resources:
        return f"{count(len(drift.resources), 'resource')}. {ADVICE}"
    return "Nothing that was compared." if drift.not_compared else f"Nothing, in {count(len(drift.stacks), 'stack')}."


def lines(drift: Drift) -> Iterator[str]:
    """Yield each changed resource in a line."""
    for one in told(drift):
        yield "; ".join((f"{one.name} ({one.type}): {one.what}", *one.bad))


def _told(resource: DriftedResource) -> Told:
    lost = ("Its data is gone",) if resource.loses_data else ()
    changed = f"{count(len(resource.properties), 'property', 'properties')} changed"
    return Told(
        name=f"{resource.stack}/{resource.logical_id}",
        type=resource.type,
        what="was deleted" if resource.is_deleted else changed,
        bad=(*lost, *(wider.what for wider in resource.wider)),
        properties=tuple(_properties(resource)),
    )


def _properties(resource: DriftedResource) -> Iterator[str]:
    for changed in resource.properties:
        deployed, actual = values(changed.deployed, changed.actual, _LONGEST_VALUE)
        yield f"{changed.path}: {deployed} -> {actual}"
