"""The cost of an environment as a table, with what a change adds."""

from collections import Counter
from dataclasses import dataclass

from slipway.plan.cost.model import HOURS_PER_DAY, HOURS_PER_MONTH, Billing, Cost, CostLine

_Key = tuple[str, str, str, int]

_CENT = 0.01

PERIODS = (("hour", 1), ("day", HOURS_PER_DAY), ("month", HOURS_PER_MONTH))
"""The lengths of time that amounts are given for, in hours."""


@dataclass(frozen=True)
class CostRow:
    """A line of the table: lines that differ in nothing but the resource are one.

    Attributes:
        times: how many lines it stands for.
        idle_change: US dollars an hour more than before; 0 without a comparison.
        peak_change: the same at peak.
        is_gone: whether only the base has it.
    """

    stack: str
    what: str
    billing: Billing
    note: str | None
    times: int
    idle: float | None
    peak: float | None
    idle_change: float
    peak_change: float
    is_gone: bool


@dataclass(frozen=True)
class Total:
    """A sum, without what has no known price.

    Attributes:
        change: US dollars an hour more than before; 0 without a comparison.
    """

    name: str
    usd_per_hour: float
    change: float


def totals(cost: Cost, base: Cost | None) -> tuple[Total, ...]:
    """Return the sums, idle and at peak."""
    before = base or cost
    idle, peak = cost.idle_usd_per_hour, cost.peak_usd_per_hour
    return (
        Total("Idle", idle, idle - before.idle_usd_per_hour),
        Total("Peak", peak, peak - before.peak_usd_per_hour),
    )


def cost_rows(cost: Cost, base: Cost | None) -> tuple[CostRow, ...]:
    """Return the rows: what costs most at first, then what has no known price, then what bills by use."""
    before = _keyed(base) if base else {}
    after = _keyed(cost)
    rows = [_row(line, before.get(key), is_compared=base is not None) for key, line in after.items()]
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


def _row(line: CostLine, before: CostLine | None, *, is_compared: bool) -> CostRow:
    idle_before = (before.idle_usd_per_hour if before else 0.0) or 0.0
    peak_before = (before.peak_usd_per_hour if before else 0.0) or 0.0
    return CostRow(
        stack=line.stack,
        what=line.what,
        billing=line.billing,
        note=line.note,
        times=1,
        idle=line.idle_usd_per_hour,
        peak=line.peak_usd_per_hour,
        idle_change=(line.idle_usd_per_hour or 0.0) - idle_before if is_compared else 0.0,
        peak_change=(line.peak_usd_per_hour or 0.0) - peak_before if is_compared else 0.0,
        is_gone=False,
    )


def _gone(line: CostLine) -> CostRow:
    idle, peak = line.idle_usd_per_hour or 0.0, line.peak_usd_per_hour or 0.0
    return CostRow(line.stack, line.what, line.billing, line.note, 1, 0.0, 0.0, -idle, -peak, is_gone=True)


def _merged(rows: list[CostRow]) -> list[CostRow]:
    alike: dict[tuple[object, ...], list[CostRow]] = {}
    for row in rows:
        alike.setdefault((row.stack, row.what, row.billing, row.note, row.is_gone), []).append(row)
    return [
        CostRow(
            stack=first.stack,
            what=first.what,
            billing=first.billing,
            note=first.note,
            times=len(group),
            idle=None if first.idle is None else sum(row.idle or 0.0 for row in group),
            peak=None if first.peak is None else sum(row.peak or 0.0 for row in group),
            idle_change=_noticeable(sum(row.idle_change for row in group)),
            peak_change=_noticeable(sum(row.peak_change for row in group)),
            is_gone=first.is_gone,
        )
        for group in alike.values()
        for first in group[:1]
    ]


def _noticeable(change: float) -> float:
    """Return a change of at least a cent, else 0: prices by the month leave crumbs."""
    return change if abs(change) >= _CENT else 0.0


def _order(row: CostRow) -> tuple[int, float, float, str, str]:
    ranks = {"priced": 0, "unknown": 1, "by_use": 2, "free": 3}
    return (ranks[row.billing], -max(row.idle or 0.0, row.peak or 0.0), -(row.idle or 0.0), row.stack, row.what)
