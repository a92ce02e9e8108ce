"""What lets somebody do more or protects less, in the order and the words of every rendering."""

from itertools import groupby

from slipway.review.changes.model import Changes, WiderAccess
from slipway.review.report.wording import count

TITLE = "Broader access or less protection"
"""Heading of the part that names them one by one."""

SHORT_TITLE = "Access and protection"
"""The same where there is little room."""

NOTHING = "Nobody and nothing may do more than before, and nothing is protected less."

KIND_WORDS = {
    "iam": "Permissions",
    "security_group": "Network openings",
    "cluster": "Settings of clusters",
    "protection": "Less protection",
}
"""By `WiderAccess.kind`, in the order of the report: protections apart, after who may do more."""


def by_kind(changes: Changes) -> tuple[tuple[str, tuple[WiderAccess, ...]], ...]:
    """Return what is broader or protected less, by the words of its kind."""
    order = list(KIND_WORDS)
    ordered = sorted(changes.broadenings, key=lambda wider: order.index(wider.kind))
    return tuple((KIND_WORDS[kind], tuple(group)) for kind, group in groupby(ordered, key=lambda one: one.kind))


def in_a_word(wider: WiderAccess) -> str:
    """Return `Less protection` or `Broader access`, whichever it is."""
    return "Less protection" if wider.kind == "protection" else "Broader access"


def counted(changes: Changes) -> tuple[str, ...]:
    """Return how many there are, access and protections apart, without what there is none of."""
    protections = sum(wider.kind == "protection" for wider in changes.broadenings)
    access = len(changes.broadenings) - protections
    words = ((access, count(access, "broadening")), (protections, count(protections, "weaker protection")))
    return tuple(word for number, word in words if number)
