"""What lets somebody do more or protects less, in the order and the words of every rendering."""

from slipway.review.changes.model import Changes, Harm, WiderAccess
from slipway.review.report.wording import count

TITLE = "Broader access or less protection"
"""Heading of the part that names them one by one."""

SHORT_TITLE = "Access and protection"
"""The same where there is little room."""

NOTHING = "Nobody and nothing may do more than before, and nothing is protected less."


_WORDS: dict[Harm, str] = {
    "public": "Becomes public",
    "unauthenticated": "Unauthenticated or unencrypted requests",
    "full_access": "Full access",
    "data_loss": "Data is easier to lose",
    "network": "Network openings",
    "cluster": "Settings of clusters",
    "permissions": "Permissions",
    "protection": "Less protection",
}
"""In the order of every rendering, the worst first."""


def by_harm(changes: Changes) -> tuple[tuple[str, tuple[WiderAccess, ...]], ...]:
    """Return what is broader or protected less, by the harm that it may do, the worst first."""
    groups = ((words, tuple(one for one in changes.broadenings if one.harm == harm)) for harm, words in _WORDS.items())
    return tuple((words, group) for words, group in groups if group)


def counted(changes: Changes) -> tuple[str, ...]:
    """Return how many there are, access and protections apart, without what there is none of."""
    protections = sum(wider.kind == "protection" for wider in changes.broadenings)
    access = len(changes.broadenings) - protections
    words = ((access, count(access, "broadening")), (protections, count(protections, "weaker protection")))
    return tuple(word for number, word in words if number)
