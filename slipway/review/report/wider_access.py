"""What lets somebody do more or protects less, in the order and the words of every rendering."""

import re
from dataclasses import dataclass
from itertools import groupby

from slipway.review.changes.model import Changes, WiderAccess
from slipway.review.report.wording import count

TITLE = "Broader access or less protection"
"""Heading of the part that names them one by one."""

SHORT_TITLE = "Access and protection"
"""The same where there is little room."""

NOTHING = "Nobody and nothing may do more than before, and nothing is protected less."


@dataclass(frozen=True)
class _Harm:
    """What may happen, in people's words, and what counts as it.

    Attributes:
        words: the heading.
        kinds: of `WiderAccess.kind`; empty for all.
        pattern: a regular expression that `WiderAccess.what` has somewhere.
    """

    words: str
    kinds: frozenset[str] = frozenset()
    pattern: str = ""

    def is_it(self, wider: WiderAccess) -> bool:
        return (not self.kinds or wider.kind in self.kinds) and re.search(self.pattern, wider.what) is not None


_HARMS = (
    # What goes out to everywhere opens nothing: a rule for it says "to 0.0.0.0/0".
    _Harm(
        "Becomes public",
        pattern=r"(?<!to )(?<![\d.:])(0\.0\.0\.0/0|::/0)|the internet|public address|^Everybody|^Public access",
    ),
    _Harm("Lets requests in unproved", pattern=r"needs? no |has to sign in|without TLS|not claim|no firewall"),
    _Harm("Gets full rights", pattern=r"^Allow \* |administrator|all rights|as root"),
    _Harm(
        "Data is easier to lose",
        frozenset({"protection"}),
        r"[Bb]ackup|Nothing keeps|can be deleted|gone at once|goes? with|goes for good|no longer go to",
    ),
    _Harm("Network openings", frozenset({"security_group"})),
    _Harm("Settings of clusters", frozenset({"cluster"})),
    _Harm("Permissions", frozenset({"iam"})),
    _Harm("Less protection"),
)
"""The worst first; the first that fits counts, and the last fits all."""


def by_harm(changes: Changes) -> tuple[tuple[str, tuple[WiderAccess, ...]], ...]:
    """Return what is broader or protected less, by the harm that it may do, the worst first."""
    ordered = sorted(changes.broadenings, key=_rank)
    return tuple((_HARMS[rank].words, tuple(group)) for rank, group in groupby(ordered, key=_rank))


def _rank(wider: WiderAccess) -> int:
    return next(rank for rank, harm in enumerate(_HARMS) if harm.is_it(wider))


def counted(changes: Changes) -> tuple[str, ...]:
    """Return how many there are, access and protections apart, without what there is none of."""
    protections = sum(wider.kind == "protection" for wider in changes.broadenings)
    access = len(changes.broadenings) - protections
    words = ((access, count(access, "broadening")), (protections, count(protections, "weaker protection")))
    return tuple(word for number, word in words if number)
