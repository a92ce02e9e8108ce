"""List prices, for estimates: no discount, no tax, Linux, shared tenancy."""

from __future__ import annotations

from collections.abc import Mapping
from functools import cache
from types import MappingProxyType
from typing import Annotated, Literal, Self

from pydantic import Field, model_validator

from slipway.facts.hardware import instance_type
from slipway.facts.rows import Row, Text, UnknownFact, raw_rows, read_file


class Price(Row):
    """The list price of one item in one region.

    Attributes:
        item: An instance type's name, or Slipway's name of another item, for example ``nat_gateway_hour``. A tier of
            FSx for Lustre is ``lustre_persistent_2_250_gb_month``, a database instance its RDS instance class.
        region: For example ``us-west-2``.
        unit: What the price is for one of.
        usd: US dollars, or none when AWS publishes no price; then ``note`` says why. Never take none for free.
        note: What to know about the price.
    """

    item: Text
    region: Text
    unit: Literal["hour", "LCU-hour", "GB", "GB-month", "MBps-month", "IOPS-month", "month"]
    usd: Annotated[float, Field(gt=0)] | None
    note: Text | None = None

    @model_validator(mode="after")
    def _none_is_explained(self) -> Self:
        if self.usd is None and self.note is None:
            raise ValueError(f"{self.item} in {self.region} has neither a price nor a note that says why")
        return self


@cache
def prices() -> Mapping[tuple[str, str], Price]:
    """Return every price by (item, region)."""
    found: dict[tuple[str, str], Price] = {}
    # A row of the file covers all regions with the same price.
    for row in raw_rows(read_file("prices.yaml")):
        for region in row.pop("regions"):
            price = Price.model_validate({**row, "region": region})
            found[price.item, price.region] = price
    return MappingProxyType(found)


def price(item: str, region: str) -> Price | None:
    """Return the price of ``item`` in ``region``, or none when Slipway has no prices of that region.

    Raises:
        UnknownFact: Slipway prices no such item anywhere.
    """
    found = prices().get((item, region))
    if found is None:
        items = {name: None for name, _ in prices()}
        if item not in items:
            raise UnknownFact("the price of", item, items)
    return found


def on_demand_price(instance_type_name: str, region: str) -> Price | None:
    """Return the hourly on-demand price of an instance type, or none when Slipway has no prices of that region.

    Raises:
        UnknownFact: Slipway knows no such instance type.
    """
    return price(instance_type(instance_type_name).name, region)
