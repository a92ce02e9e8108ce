"""The cost on a terminal: amounts, what is not in them by name, and how old the prices are."""

import json
from dataclasses import replace
from datetime import date, timedelta
from io import StringIO
from pathlib import Path

from rich.console import Console
from typer.testing import CliRunner

from slipway.assembly.stacks import read_stacks
from slipway.cli import app
from slipway.review.cost.estimate import estimate
from slipway.review.cost.table import STALE_AFTER_DAYS, print_cost
from tests.assembly import Assembly


def printed(assembly: Assembly, age_days: int = 0) -> str:
    """What is printed so many days after the oldest price was read."""
    cost = estimate(read_stacks(assembly.directory))
    assert cost.prices_as_of
    text = StringIO()
    print_cost(cost, Console(width=1000, file=text), cost.prices_as_of + timedelta(days=age_days))
    return text.getvalue()


def unwrapped(output: str) -> str:
    """What a box on a narrow terminal says."""
    return " ".join(output.replace("│", " ").split())


def test_amounts_stand_beside_each_other_for_an_hour_a_day_and_a_month(default: Assembly) -> None:
    lines = {line.split("│")[1].strip(): line.split("│")[2:6] for line in printed(default).splitlines() if "│" in line}

    assert [cell.strip() for cell in lines["head node, m6i.2xlarge"]] == ["0.384", "9.22", "280", "0.384"]
    assert [cell.strip() for cell in lines["queue trn1, trn1-32xl, trn1.32xlarge"]] == ["0.000", "0.00", "0", "86.000"]
    assert [cell.strip() for cell in lines["together"]] == ["3.921", "94.11", "2,862", "93.392"]


def test_what_is_not_in_the_sums_is_named(ultracluster: Assembly) -> None:
    text = printed(ultracluster)

    assert "together, without 1 that have no price" in text
    assert "not in the sums: queue block, trn1-32xl, trn1.32xlarge (16 at peak): paid when the Capacity Block" in text
    assert "traffic through NAT gateways (0.045 a GB)" in text
    assert "queue reserved, trn1-32xl, trn1.32xlarge: its capacity reservation bills this price" in text


def test_a_region_without_prices_has_no_sums(default: Assembly) -> None:
    text = StringIO()
    elsewhere = tuple(replace(stack, region="eu-north-1") for stack in read_stacks(default.directory))
    print_cost(estimate(elsewhere), Console(width=1000, file=text), date(2026, 11, 22))

    (sums,) = [line for line in text.getvalue().splitlines() if "together" in line]
    assert [cell.strip() for cell in sums.split("│")[2:6]] == ["unknown"] * 4
    assert "there are no prices of eu-north-1" in text.getvalue()
    # All alarms in a line, as where they have a price.
    assert text.getvalue().count("not in the sums: alarms, by the metrics they look at (42 at peak)") == 1


def test_old_prices_are_named_so(default: Assembly) -> None:
    fresh, old = printed(default, STALE_AFTER_DAYS), printed(default, STALE_AFTER_DAYS + 1)

    assert "days old" not in fresh
    assert f"the oldest is {STALE_AFTER_DAYS + 1} days old" in old


def test_the_command_reads_the_folder_of_an_assembly(default: Assembly) -> None:
    result = CliRunner().invoke(app, ["cost", "--assembly", str(default.directory)])

    assert result.exit_code == 0
    assert "head node, m6i.2xlarge" in unwrapped(result.output)


def test_json_has_the_lines_and_their_sums(default: Assembly) -> None:
    result = CliRunner().invoke(app, ["cost", "--json", "--assembly", str(default.directory)])

    found = json.loads(result.stdout)
    assert result.exit_code == 0
    assert len(found["lines"]) > 20
    assert found["idle_usd_per_hour"] == sum(line["idle_usd_per_hour"] or 0 for line in found["lines"])
    assert 0 < found["idle_usd_per_hour"] < found["peak_usd_per_hour"]


def test_a_folder_without_an_assembly_is_a_users_mistake(tmp_path: Path) -> None:
    result = CliRunner().invoke(app, ["cost", "--assembly", str(tmp_path)])

    assert result.exit_code == 2
    assert "is not a cloud assembly" in unwrapped(result.output)


def test_the_command_has_no_environment_of_its_own() -> None:
    result = CliRunner().invoke(app, ["cost"])

    assert (result.exit_code, result.stdout) == (2, "")
    assert "say which environment" in result.stderr
