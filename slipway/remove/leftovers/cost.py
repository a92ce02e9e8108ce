"""What a leftover costs a month, at list prices. What is not known is said, never taken for nothing."""

from collections.abc import Iterator

from slipway.facts.prices import price
from slipway.facts.rows import UnknownFact
from slipway.remove.leftovers.item import Item
from slipway.remove.leftovers.kind import PriceLine, UnknownCost

HOURS_A_MONTH = 730
"""Hours of a month, as AWS's own price examples count them."""

FREE = "costs nothing by itself"


class _NotKnownError(Exception):
    """A price that nobody wrote down; the message says which."""


def monthly_cost(item: Item, region: str) -> tuple[float | None, str]:
    """Return what a thing costs a month in US dollars, none when that is not known, and the same in words."""
    cost = item.left.cost
    if cost == "free":
        return 0.0, FREE
    if isinstance(cost, UnknownCost):
        return None, f"cost not known: {cost.unknown}"
    try:
        parts = [part for line in cost for part in _part(line, item, region)]
    except _NotKnownError as error:
        return None, f"cost not known: {error}"
    if not parts:
        return None, "cost not known: AWS did not say what its price goes by"
    usd = sum(parts)
    return usd, f"${usd:,.2f} a month" if usd else FREE


def _part(line: PriceLine, item: Item, region: str) -> Iterator[float]:
    """Yield what one line of prices comes to, if it applies."""
    try:
        name = line.item.format_map(item.facts)
        quantity = float(item.facts[line.quantity]) / line.per if line.quantity else 1.0
    except KeyError:
        return
    # Slipway's names of prices are in lower case, as are EC2's of instance types.
    name = name.lower()
    if not quantity:
        yield 0.0
        return
    try:
        found = price(name, region)
    except UnknownFact as error:
        raise _NotKnownError(f"Slipway has no price of {name}") from error
    if found is None:
        raise _NotKnownError(f"Slipway has no prices of {region}")
    if found.usd is None:
        raise _NotKnownError(f"{name}: {found.note}")
    yield found.usd * quantity * (HOURS_A_MONTH if found.unit == "hour" else 1)
