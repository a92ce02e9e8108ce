"""What the environment costs against its budget, and whether the prices that plans count with are today's."""

import json
from collections.abc import Iterator, Mapping
from typing import Any

from slipway import facts
from slipway.aws.account import Account
from slipway.check.preflight.answer import Answer
from slipway.check.preflight.check import check
from slipway.check.preflight.needs import Needs

_PER_MONTH = "MONTHLY"
_TOLERANCE = 0.01
"""Prices that differ by at most this share are the same."""


@check(
    "PF21",
    "Cost against the budget",
    stage="offline",
    prevents="A surprise: the environment spends its budget while it is idle, or in a few hours of full use.",
)
def budget(needs: Needs, account: Account) -> Iterator[Answer]:
    """Compare the estimate by list prices with the monthly budget of the operations stack."""
    # Imported here: it reads facts that no other check needs.
    from slipway.assembly.stacks import read_stacks  # noqa: PLC0415
    from slipway.review.cost.estimate import estimate  # noqa: PLC0415
    from slipway.review.cost.model import HOURS_PER_MONTH  # noqa: PLC0415

    for stack, _, properties in needs.resources("AWS::Budgets::Budget"):
        limit = _monthly_usd(properties["Budget"])
        if limit is None:
            continue
        # All stacks, also those that nobody asks about: the budget is the environment's.
        cost = estimate(read_stacks(needs.assembly))
        idle = cost.idle_usd_per_hour * HOURS_PER_MONTH
        unpriced = sorted({line.what for line in cost.unknown})
        yield Answer(
            check="PF21",
            status="warning" if idle > limit or unpriced else "passed",
            subject=f"budget of {limit:,.0f} USD a month",
            message=_spending(limit, idle, cost.peak_usd_per_hour, unpriced),
            fix="raise `operations.monthly_budget_usd`, or choose smaller sizes: `slipway docs cost`"
            if idle > limit
            else None,
            stacks=(stack.name,),
        )


def _monthly_usd(budget: Mapping[str, Any]) -> float | None:
    if budget["TimeUnit"] != _PER_MONTH or "BudgetLimit" not in budget:
        return None
    return float(budget["BudgetLimit"]["Amount"])


def _spending(limit: float, idle: float, peak: float, unpriced: list[str]) -> str:
    """Return how fast the budget goes: idle US dollars a month, peak US dollars an hour, as far as prices are known."""
    names = ", ".join(unpriced)
    if not peak:
        return f"the prices of what bills are not known: {names}" if unpriced else "nothing bills by the hour"
    least, most = ("at least ", "at most ") if unpriced else ("", "")
    without = f"; without {names}, whose prices are not known" if unpriced else ""
    return (
        f"idle it costs {least}{idle:,.0f} USD a month; at its highest {least}{peak:,.2f} USD an hour, "
        f"which spends the budget in {most}{limit / peak:,.0f} hours{without}"
    )


@check(
    "PF23",
    "Prices of today",
    stage="catalogue",
    prevents="A plan that counts with old prices.",
    actions=("pricing:GetProducts",),
)
def prices(needs: Needs, account: Account) -> Iterator[Answer]:
    """Compare the facts' hourly prices of the instance types on demand with AWS's price list."""
    bought = {group.instance_type for group in needs.instance_groups if group.purchase == "on_demand"}
    for name in sorted(name for name in bought if name in facts.instance_types() or facts.unpriced_architecture(name)):
        stacks = tuple(sorted({group.stack for group in needs.instance_groups if group.instance_type == name}))
        yield _compared(name, needs.region, _list_price(name, needs.region, account)).model_copy(
            update={"stacks": stacks}
        )


def _compared(name: str, region: str, today: float | None) -> Answer:
    if name not in facts.instance_types():
        return Answer(
            check="PF23",
            status="warning",
            subject=f"{name} on demand in {region}",
            message=f"AWS lists {_usd(today)}; Slipway has no price, and its sums are without this type",
            fix="add it to the sums of `slipway plan` by hand, or a row to slipway/facts/data/prices.yaml",
        )
    row = facts.on_demand_price(name, region)
    ours = row.usd if row else None
    same = today == ours if today is None or ours is None else abs(today - ours) <= _TOLERANCE * today
    return Answer(
        check="PF23",
        status="passed" if same else "warning",
        subject=f"{name} on demand in {region}",
        message=f"AWS lists {_usd(today)}, Slipway counts with {_usd(ours)}",
        fix=None if same else f"correct the price of {name} in slipway/facts/data/prices.yaml",
    )


def _usd(price: float | None) -> str:
    return "no price" if price is None else f"{price:g} USD an hour"


def _list_price(name: str, region: str, account: Account) -> float | None:
    """Return the hourly price, none when the list has none.

    Raises:
        ClientError, BotoCoreError: AWS refuses, or does not answer.
    """
    terms = {
        "instanceType": name,
        "regionCode": region,
        "operatingSystem": "Linux",
        "tenancy": "Shared",
        "preInstalledSw": "NA",
        "capacitystatus": "Used",
    }
    filters = [{"Type": "TERM_MATCH", "Field": field, "Value": value} for field, value in terms.items()]
    products = account.listing("pricing", "get_products", "PriceList", ServiceCode="AmazonEC2", Filters=filters)
    hourly = [
        float(dimension["pricePerUnit"]["USD"])
        for product in products
        for term in json.loads(product)["terms"].get("OnDemand", {}).values()
        for dimension in term["priceDimensions"].values()
        if dimension["unit"] == "Hrs"
    ]
    # The list has rows of 0 for what is paid elsewhere, for example in Capacity Blocks.
    return max((price for price in hourly if price), default=None)
