"""Words, amounts and durations, the same in every rendering."""

import json
from typing import Any

from slipway.plan.changes.model import Effect
from slipway.plan.cost.model import Billing
from slipway.plan.plan import Verdict

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
    "not_known": "Nobody could ask ParallelCluster about the update",
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
_LONGEST_VALUE = 400


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


def value(content: Any) -> str:
    """Return a value of a template in one line, a long one by its beginning; `nothing` for None."""
    if content is None:
        return "nothing"
    text = content if isinstance(content, str) else json.dumps(content, sort_keys=True, ensure_ascii=False)
    return text if len(text) <= _LONGEST_VALUE else f"{text[:_LONGEST_VALUE]}... ({len(text):,} characters)"
