"""The README's cost table says what `make cost` says."""

import re

import pytest

from slipway.plan.standing_cost import machine_prices, standing_charges
from tests.assembly import PROJECT, SHIPPED
from tests.conftest import AssemblyFactory

ROW = re.compile(
    r"\| `(?P<name>\w+)` \| \$(?P<standing>[\d.]+) \| \$(?P<lustre>[\d.]+) \| (?P<node>\S+) \$(?P<price>[\d.]+) \|"
)


def rows() -> dict[str, re.Match[str]]:
    """The table's rows by environment."""
    return {row["name"]: row for row in ROW.finditer((PROJECT / "README.md").read_text())}


def test_the_table_has_every_shipped_environment() -> None:
    assert set(rows()) == set(SHIPPED)


@pytest.mark.parametrize("name", SHIPPED)
def test_the_figures_are_the_commands(name: str, assemblies: AssemblyFactory) -> None:
    assembly = assemblies(name)
    templates = list(assembly.templates().values())
    costs = {charge.item: charge.usd_per_hour(assembly.environment.region) for charge in machine_prices(templates)}
    standing: dict[str, float] = {}
    for charge in standing_charges(templates):
        amount = charge.usd_per_hour(assembly.environment.region)
        assert amount is not None, charge
        standing[charge.item] = standing.get(charge.item, 0.0) + amount
    row = rows()[name]

    assert float(row["standing"]) == pytest.approx(sum(standing.values()), abs=0.006)
    assert float(row["lustre"]) == pytest.approx(
        sum(amount for item, amount in standing.items() if item.startswith("lustre")), abs=0.006
    )
    assert float(row["price"]) == pytest.approx(costs[row["node"]], abs=0.006)
