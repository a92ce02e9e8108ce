"""The README's cost table says what `make cost` says."""

import re

import pytest

from slipway import facts
from slipway.assembly.stacks import read_stacks
from slipway.review.cost.estimate import estimate
from tests.assembly import PROJECT, SHIPPED
from tests.conftest import AssemblyFactory

ROW = re.compile(
    r"\| `(?P<name>\w+)` \| \$(?P<idle>[\d.,]+) \| \$(?P<lustre>[\d.]+) \| \$(?P<peak>[\d.,]+) \|"
    r" (?P<node>\S+) \$(?P<price>[\d.]+) \|"
)


def rows() -> dict[str, re.Match[str]]:
    """The table's rows by environment."""
    return {row["name"]: row for row in ROW.finditer((PROJECT / "README.md").read_text())}


def test_the_table_has_every_shipped_environment() -> None:
    assert set(rows()) == set(SHIPPED)


@pytest.mark.parametrize("name", SHIPPED)
def test_the_figures_are_the_commands(name: str, assemblies: AssemblyFactory) -> None:
    cost = estimate(read_stacks(assemblies(name).directory))
    lustre = [line.idle_usd_per_hour or 0 for line in cost.lines if (line.item or "").startswith("lustre")]
    row = rows()[name]
    node = facts.on_demand_price(row["node"], cost.region)
    assert node is not None

    assert row["idle"] == f"{cost.idle_usd_per_hour:,.2f}"
    assert row["lustre"] == f"{sum(lustre):,.2f}"
    assert row["peak"] == f"{cost.peak_usd_per_hour:,.0f}"
    assert float(row["price"]) == pytest.approx(node.usd, abs=0.006)
