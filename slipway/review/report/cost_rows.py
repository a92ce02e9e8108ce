"""The cost of an environment as a table, with what a change adds."""

from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass, replace
from typing import Literal

from slipway.review.cost.model import HOURS_PER_DAY, HOURS_PER_MONTH, Billing, Cost, CostLine
from slipway.review.report.wording import count, per_hour, usd, usd_change

_Key = tuple[str, str, str, int]

_When = Literal["idle", "peak"]
_WHENS: tuple[_When, ...] = ("idle", "peak")

PriceNews = Literal["no longer priced", "newly priced"]
"""What became of the price of a line that both versions have. Its amounts are not compared: neither saves anything."""

_CENT = 0.01

PERIODS = (("hour", 1), ("day", HOURS_PER_DAY), ("month", HOURS_PER_MONTH))
"""The lengths of time that amounts are given for, in hours."""


@dataclass(frozen=True)
class CostRow:
    """A line of the table: lines that differ in nothing but the resource are one.

    Attributes:
        times: how many lines it stands for.
        idle: US dollars an hour; None when it is unknown.
        idle_change: US dollars an hour more than before; 0 without a comparison, None when it is unknown.
        peak_change: the same at peak.
        price_news: none when the price is known in both versions or in neither.
        is_gone: whether only the base has it.
    """

    stack: str
    what: str
    billing: Billing
    note: str | None
    times: int
    idle: float | None
    peak: float | None
    idle_change: float | None
    peak_change: float | None
    price_news: PriceNews | None
    is_gone: bool

    @property
    def changes(self) -> tuple[str, ...]:
        """What changes, in words: none when nothing does."""
        if self.price_news:
            return (self.price_news,)
        named = (("idle", self.idle_change), ("peak", self.peak_change))
        return tuple(f"{name} {usd_change(change)}" for name, change in named if change != 0)

    def is_minor(self, *, is_compared: bool) -> bool:
        """Return whether a reader can skip it: under a cent an hour, or in a comparison no change of a cent."""
        if self.billing != "priced" or self.price_news:
            return False
        amounts = (self.idle_change, self.peak_change) if is_compared else (self.idle, self.peak)
        return all(amount is not None and abs(amount) < _CENT for amount in amounts)


@dataclass(frozen=True)
class Total:
    """A sum, without what has no known price.

    Attributes:
        usd_per_hour: none when nothing in it has a known price.
        unknown: how many lines of the sum have no known price.
        change: US dollars an hour more than before; 0 without a comparison, None when it is unknown.
        unknown_changes: how many lines change by an unknown amount.
    """

    name: str
    usd_per_hour: float | None
    unknown: int
    change: float | None = 0.0
    unknown_changes: int = 0

    def amount(self, hours: int = 1) -> str:
        """Return the sum in words, for example `at least $2.50`."""
        if self.usd_per_hour is None:
            return usd(None)
        return f"{'at least ' if self.unknown else ''}{usd(self.usd_per_hour * hours)}"

    def change_an_hour(self, unit: str = "") -> str:
        """Return the change in words, for example `+$2.50 without 1 unknown price`."""
        words = per_hour(usd_change(self.change), unit)
        if self.change is None or not self.unknown_changes:
            return words
        return f"{words} without {count(self.unknown_changes, 'unknown price')}"


def totals(cost: Cost, base: Cost | None) -> tuple[Total, ...]:
    """Return the sums, idle and at peak."""
    return tuple(_total(name, cost, base) for name in _WHENS)


def sums(lines: Iterable[CostLine]) -> tuple[Total, ...]:
    """Return the sums of some lines, idle and at peak, compared with nothing."""
    given = tuple(lines)
    return tuple(_sum(name, given) for name in _WHENS)


def _sum(name: _When, lines: tuple[CostLine, ...]) -> Total:
    amounts = [_amount(line, name) for line in lines]
    unknown = amounts.count(None)
    known = sum(amount or 0.0 for amount in amounts)
    # 0 is a sum only where a price is known, also when nothing of what has none runs.
    has_price = any(line.billing == "priced" for line in lines) or all(line.billing != "unknown" for line in lines)
    return Total(name.capitalize(), known if known or (has_price and not unknown) else None, unknown)


def _total(name: _When, cost: Cost, base: Cost | None) -> Total:
    total = _sum(name, cost.lines)
    if base is None:
        return total
    before, after = _keyed(base), _keyed(cost)
    changes = [_change(before.get(key), after.get(key), name) for key in before | after]
    unknown = changes.count(None)
    known = _noticeable(sum(change or 0.0 for change in changes))
    return replace(total, change=None if unknown and not known else known, unknown_changes=unknown)


def _amount(line: CostLine | None, name: _When) -> float | None:
    """Return US dollars an hour, None when it is unknown: what has no known price, but of which nothing runs, is 0."""
    if line is None:
        return 0.0
    if line.billing == "unknown":
        return None if _quantity(line, name) else 0.0
    return (line.idle_usd_per_hour if name == "idle" else line.peak_usd_per_hour) or 0.0


def _quantity(line: CostLine, name: _When) -> float:
    return line.idle_quantity if name == "idle" else line.peak_quantity


def _change(before: CostLine | None, after: CostLine | None, name: _When) -> float | None:
    """Return US dollars an hour more than before, None when it is unknown."""
    one, other = _amount(before, name), _amount(after, name)
    if one is not None and other is not None:
        return other - one
    if before and after and _price_news(before, after) is None and _quantity(before, name) == _quantity(after, name):
        return 0.0
    return None


def _price_news(before: CostLine | None, after: CostLine | None) -> PriceNews | None:
    match (before and before.billing, after and after.billing):
        case ("priced", "unknown"):
            return "no longer priced"
        case ("unknown", "priced"):
            return "newly priced"
    return None


def cost_rows(cost: Cost, base: Cost | None) -> tuple[CostRow, ...]:
    """Return the rows: what costs most at first, then what has no known price, then what bills by use."""
    before = _keyed(base) if base else {}
    after = _keyed(cost)
    rows = [_row(line, before.get(key) if base else line) for key, line in after.items()]
    rows += [_gone(line) for key, line in before.items() if key not in after]
    return tuple(sorted(_merged(rows), key=_order))


def _keyed(cost: Cost) -> dict[_Key, CostLine]:
    """Return the lines by what they are, so that the same line of another version is found by its key."""
    seen: Counter[tuple[str, str, str]] = Counter()
    keyed = {}
    for line in cost.lines:
        name = (line.stack, line.logical_id, line.item or line.what)
        keyed[(*name, seen[name])] = line
        seen[name] += 1
    return keyed


def _row(line: CostLine, before: CostLine | None) -> CostRow:
    return CostRow(
        stack=line.stack,
        what=line.what,
        billing=line.billing,
        note=line.note,
        times=1,
        idle=line.idle_usd_per_hour,
        peak=line.peak_usd_per_hour,
        idle_change=_change(before, line, "idle"),
        peak_change=_change(before, line, "peak"),
        price_news=_price_news(before, line),
        is_gone=False,
    )


def _gone(line: CostLine) -> CostRow:
    left = None if line.billing == "unknown" else 0.0
    return CostRow(
        stack=line.stack,
        what=line.what,
        billing=line.billing,
        note=line.note,
        times=1,
        idle=left,
        peak=left,
        idle_change=_change(line, None, "idle"),
        peak_change=_change(line, None, "peak"),
        price_news=None,
        is_gone=True,
    )


def _merged(rows: list[CostRow]) -> list[CostRow]:
    alike: dict[tuple[object, ...], list[CostRow]] = {}
    for row in rows:
        alike.setdefault((row.stack, row.what, row.billing, row.note, row.price_news, row.is_gone), []).append(row)
    return [
        CostRow(
            stack=first.stack,
            what=first.what,
            billing=first.billing,
            note=first.note,
            times=len(group),
            idle=None if first.idle is None else sum(row.idle or 0.0 for row in group),
            peak=None if first.peak is None else sum(row.peak or 0.0 for row in group),
            idle_change=_together(row.idle_change for row in group),
            peak_change=_together(row.peak_change for row in group),
            price_news=first.price_news,
            is_gone=first.is_gone,
        )
        for group in alike.values()
        for first in group[:1]
    ]


def _together(changes: Iterable[float | None]) -> float | None:
    given = tuple(changes)
    known = [change for change in given if change is not None]
    return _noticeable(sum(known)) if len(known) == len(given) else None


def _noticeable(change: float) -> float:
    """Return a change of at least a cent, else 0: prices by the month leave crumbs."""
    return change if abs(change) >= _CENT else 0.0


def _order(row: CostRow) -> tuple[int, float, float, str, str]:
    ranks = {"priced": 0, "unknown": 1, "by_use": 2, "free": 3}
    return (ranks[row.billing], -max(row.idle or 0.0, row.peak or 0.0), -(row.idle or 0.0), row.stack, row.what)
