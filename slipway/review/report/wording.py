"""Words, amounts and durations, the same in every rendering."""

import json
from typing import Any

from slipway.review.changes.model import Effect
from slipway.review.cost.model import Billing
from slipway.review.plan import Verdict

EFFECT_WORDS: dict[Effect, str] = {
    "replace": "replaced",
    "may_replace": "may be replaced",
    "remove": "deleted",
    "orphan": "left behind",
    "update": "changed",
    "add": "added",
}
"""What happens to a resource, the most alarming first. Left behind: it stays and goes on to cost."""

VERDICT_WORDS: dict[Verdict, str] = {
    "cannot_update": "The cluster's update would be refused",
    "nodes_must_stop": "The cluster's update needs stopped nodes",
    "not_known": "ParallelCluster could not be asked about the update",
    "can_update": "The cluster can be updated while nodes run",
    "no_change": "The cluster does not change",
}

BILLING_WORDS: dict[Billing, str] = {
    "priced": "list price",
    "by_use": "by use",
    "free": "free",
    "unknown": "not known",
}
"""Where the price of a line of cost comes from."""

UNKNOWN = "unknown"
"""An amount that nobody can tell, because a price is not known."""

_LEAST = 0.01
_CENTS_BELOW = 100


def usd(amount: float | None) -> str:
    """Return an amount of US dollars, with cents below 100; `unknown` for None."""
    if amount is None:
        return UNKNOWN
    if 0 < abs(amount) < _LEAST:
        return f"under ${_LEAST}"
    digits = 2 if abs(amount) < _CENTS_BELOW else 0
    sign = "-" if amount < 0 else ""
    return f"{sign}${abs(amount):,.{digits}f}"


def usd_change(amount: float | None) -> str:
    """Return a difference of amounts with its sign, `no change` when it is less than a cent; `unknown` for None."""
    if amount is None:
        return UNKNOWN
    if abs(amount) < _LEAST:
        return "no change"
    return usd(amount) if amount < 0 else f"+{usd(amount)}"


def per_hour(amount: str, unit: str) -> str:
    """Return an amount in words with its unit, such as `/h`; `unknown` and `no change` have none."""
    return f"{amount}{unit}" if "$" in amount else amount


def duration(seconds: int) -> str:
    """Return a length of time in hours and minutes, rounded to minutes."""
    minutes = round(seconds / 60)
    if minutes < 1:
        return "under a minute" if seconds else "no time"
    hours, rest = divmod(minutes, 60)
    return " ".join(f"{number} {unit}" for number, unit in ((hours, "h"), (rest, "min")) if number)


def count(number: int, noun: str, plural: str = "") -> str:
    """Return a number with its noun, for example `2 resources`."""
    return f"{number:,} {noun if number == 1 else plural or f'{noun}s'}"


def values(before: Any, after: Any, longest: int) -> tuple[str, str]:
    """Return what a property was and will be, `nothing` for None.

    Of values that are too long only a piece is shown, which begins shortly before they differ.

    Args:
        before: a value of a template.
        after: the value in its place.
        longest: characters of each piece.
    """
    one, other = _text(before), _text(after)
    pairs = enumerate(zip(one, other, strict=False))
    same = next((place for place, pair in pairs if len(set(pair)) > 1), min(len(one), len(other)))
    start = max(0, same - longest // 4) if max(len(one), len(other)) > longest else 0
    return _piece(one, start, longest), _piece(other, start, longest)


def _text(content: Any) -> str:
    if content is None:
        return "nothing"
    return content if isinstance(content, str) else json.dumps(content, sort_keys=True, ensure_ascii=False)


def _piece(text: str, start: int, longest: int) -> str:
    before = "..." if start else ""
    after = f"... ({len(text):,} characters)" if len(text) > start + longest else ""
    return f"{before}{text[start : start + longest]}{after}"


def printable(text: str) -> str:
    """Return a text in one line, in which characters that a screen obeys instead of showing them are written out.

    A template's values may hold any: one that moves the cursor, or turns the direction of the text, would have a
    reviewer read another value than the one that is deployed.
    """
    return "".join(character if character.isprintable() else _written_out(character) for character in text)


def _written_out(character: str) -> str:
    return " " if character.isspace() else character.encode("unicode_escape").decode("ascii")
