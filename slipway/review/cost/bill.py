"""What bills, before and after it has a price."""

from dataclasses import dataclass

from slipway import facts
from slipway.catalogue import Charge
from slipway.review.cost.model import HOURS_PER_MONTH, CostLine


@dataclass(frozen=True)
class Bill:
    """An amount of something that bills while it exists or runs."""

    what: str
    """In the reader's words; amounts of the same thing have the same words."""

    item: str | None
    """Name of its price in the facts; None when nobody can know it, and then `note` says why."""

    idle: float = 1.0
    """How many units bill while the environment is idle."""

    peak: float | None = None
    """How many units bill when everything that may run does; None when that is no more than idle."""

    note: str | None = None


@dataclass(frozen=True)
class Origin:
    """The resource that brings something."""

    stack: str
    logical_id: str
    resource_type: str
    region: str


def priced(bill: Bill, origin: Origin) -> CostLine:
    """Return the line of something that stands, `unknown` when the facts have no price for it."""
    price, note = _price(bill, origin.region)
    peak = bill.idle if bill.peak is None else bill.peak
    per_hour = None if price is None or price.usd is None else price.usd / _hours(price)
    return CostLine(
        stack=origin.stack,
        logical_id=origin.logical_id,
        resource_type=origin.resource_type,
        what=bill.what,
        billing="unknown" if per_hour is None else "priced",
        item=bill.item,
        unit_usd=price.usd if price else None,
        unit=price.unit if price else None,
        idle_quantity=bill.idle,
        peak_quantity=peak,
        idle_usd_per_hour=None if per_hour is None else per_hour * bill.idle,
        peak_usd_per_hour=None if per_hour is None else per_hour * peak,
        note=note,
    )


def by_use(charge: Charge, origin: Origin) -> CostLine:
    """Return the line of something that bills by requests, bytes or seconds, with the price where it is known."""
    price = facts.price(charge.item, origin.region) if charge.item else None
    return CostLine(
        stack=origin.stack,
        logical_id=origin.logical_id,
        resource_type=origin.resource_type,
        what=charge.what,
        billing="by_use",
        item=charge.item,
        unit_usd=price.usd if price else None,
        unit=price.unit if price else None,
    )


def _price(bill: Bill, region: str) -> tuple[facts.Price | None, str | None]:
    """Return the price and what to say about it."""
    if bill.item is None:
        return None, bill.note
    try:
        price = facts.price(bill.item, region)
    except facts.UnknownFact as error:
        unpriced = f"unpriced: Slipway has no price of {bill.item}"
        return None, unpriced if facts.unpriced_architecture(bill.item) else str(error)
    if price is None:
        return None, f"no prices of {region}"
    return price, bill.note if price.usd is not None else price.note


def _hours(price: facts.Price) -> int:
    """Return the hours that the price is for."""
    return 1 if price.unit == "hour" else HOURS_PER_MONTH
