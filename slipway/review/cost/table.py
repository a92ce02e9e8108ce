"""The cost of an environment on a terminal."""

from datetime import date

from rich.console import Console
from rich.table import Table

from slipway.review.cost.merged import merged
from slipway.review.cost.model import HOURS_PER_DAY, HOURS_PER_MONTH, Cost, CostLine
from slipway.terminal import Fitted

STALE_AFTER_DAYS = 180
"""Age of a price after which the reader is asked to look it up again."""


def print_cost(cost: Cost, console: Console, today: date) -> None:
    """Print what has a price line by line, and by name what has none.

    Args:
        cost: of one environment.
        console: where to.
        today: says how old the prices are.
    """
    lines = merged(cost.lines)
    unknown = [line for line in lines if line.billing == "unknown"]
    console.print(Fitted(_table(cost, [line for line in lines if line.billing == "priced"], len(unknown))))
    for line in unknown:
        console.print(f"not in the sums: {line.what} ({line.peak_quantity:,.0f} at peak): {line.note}", highlight=False)
    uses = ", ".join(_use(line) for line in sorted(lines, key=lambda line: line.what) if line.billing == "by_use")
    console.print(f"by use, and not in the sums: {uses}", highlight=False)
    for note in dict.fromkeys(line.note for line in lines if line.note and line.billing == "priced"):
        names = ", ".join(line.what for line in lines if line.note == note)
        console.print(f"{names}: {note}", highlight=False)
    console.print(_age(cost, today), highlight=False)


def _table(cost: Cost, lines: list[CostLine], unknown: int) -> Table:
    idle, peak = cost.idle_usd_per_hour, cost.peak_usd_per_hour
    without = f", without {unknown} that have no price" if unknown else ""
    table = Table(title=f"cost in {cost.region}, list prices in US dollars", show_footer=True)
    table.add_column("what", footer=f"together{without}")
    for name, amount in (
        ("idle, an hour", _dollars(idle, 3)),
        ("a day", _dollars(idle * HOURS_PER_DAY, 2)),
        ("a month", _dollars(idle * HOURS_PER_MONTH, 0)),
        ("peak, an hour", _dollars(peak, 3)),
    ):
        # Nothing that has a price is not nothing to pay.
        table.add_column(name, footer=amount if lines else "unknown", justify="right")
    for line in lines:
        idle, peak = line.idle_usd_per_hour or 0.0, line.peak_usd_per_hour or 0.0
        table.add_row(
            line.what,
            _dollars(idle, 3),
            _dollars(idle * HOURS_PER_DAY, 2),
            _dollars(idle * HOURS_PER_MONTH, 0),
            _dollars(peak, 3),
        )
    return table


def _dollars(amount: float, digits: int) -> str:
    return f"{amount:,.{digits}f}"


def _use(line: CostLine) -> str:
    return f"{line.what} ({line.unit_usd} a {line.unit})" if line.unit_usd else line.what


def _age(cost: Cost, today: date) -> str:
    if cost.prices_as_of is None:
        return f"there are no prices of {cost.region}: slipway/facts/data/prices.yaml"
    days = (today - cost.prices_as_of).days
    stale = f"; the oldest is {days} days old: `slipway docs cost`" if days > STALE_AFTER_DAYS else ""
    return f"prices as of {cost.prices_as_of} or later{stale}"
