"""PF21 and PF23."""

from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from tests.check.preflight.aws import Aws
from tests.check.preflight.conftest import Ask, NeedsFactory
from tests.check.preflight.handmade import handmade
from tests.check.preflight.well import price_list

NAT_GATEWAY = {"Type": "AWS::EC2::NatGateway", "Properties": {"SubnetId": "subnet-1"}}
"""0.045 USD an hour: 32.85 USD a month of 730 hours."""


def budget(usd: float) -> dict[str, Any]:
    """A monthly budget, as the template has it."""
    limit = {"Budget": {"BudgetType": "COST", "TimeUnit": "MONTHLY", "BudgetLimit": {"Amount": usd, "Unit": "USD"}}}
    return {"Type": "AWS::Budgets::Budget", "Properties": limit}


@pytest.mark.parametrize(("usd", "status"), [(33, "passed"), (32, "warning")])
def test_what_stands_must_cost_less_than_the_budget(usd: int, status: str, aws: Aws, ask: Ask, tmp_path: Path) -> None:
    needs = handmade(tmp_path, {"Budget": budget(usd), "Gateway": NAT_GATEWAY})
    (answer,) = ask("PF21", needs, aws)
    assert answer.status == status
    assert answer.message.startswith("idle it costs 33 USD a month; at its highest 0.04 USD an hour")


def test_what_has_no_known_price_is_not_said_to_spend_anything(aws: Aws, ask: Ask, tmp_path: Path) -> None:
    host = {"Type": "AWS::EC2::Instance", "Properties": {"InstanceType": "x1.unheard-of"}}
    (answer,) = ask("PF21", handmade(tmp_path, {"Budget": budget(33), "Host": host}), aws)
    assert answer.status == "warning"
    assert answer.message.startswith("the prices of what bills are not known: ")
    assert "hours" not in answer.message


def test_a_sum_without_a_price_is_the_least(aws: Aws, ask: Ask, tmp_path: Path) -> None:
    host = {"Type": "AWS::EC2::Instance", "Properties": {"InstanceType": "x1.unheard-of"}}
    resources = {"Budget": budget(33), "Host": host, "Gateway": NAT_GATEWAY}
    (answer,) = ask("PF21", handmade(tmp_path, resources), aws)
    assert answer.status == "warning"
    assert "at its highest at least 0.04 USD an hour, which spends the budget in at most 733 hours" in answer.message


def test_a_budget_of_what_costs_nothing_passes(aws: Aws, ask: Ask, tmp_path: Path) -> None:
    (answer,) = ask("PF21", handmade(tmp_path, {"Budget": budget(33)}), aws)
    assert (answer.status, answer.message) == ("passed", "nothing bills by the hour")


def test_the_default_environment_fits_its_budget_or_says_why_not(aws: Aws, ask: Ask, needs_of: NeedsFactory) -> None:
    (answer,) = ask("PF21", needs_of("default"), aws)
    assert answer.stacks == ("slipway-default-operations",)
    assert "which spends the budget in" in answer.message


def test_prices_of_today_pass(aws: Aws, ask: Ask, needs_of: NeedsFactory) -> None:
    answers = {answer.subject: answer for answer in ask("PF23", needs_of("default"), aws)}
    assert {answer.status for answer in answers.values()} == {"passed"}
    training = answers["trn1.32xlarge on demand in us-west-2"]
    assert training.message == "AWS lists 21.5 USD an hour, Slipway counts with 21.5 USD an hour"


@pytest.mark.parametrize(("today", "status"), [(21.7, "passed"), (21.8, "warning"), (None, "warning")])
def test_a_difference_of_more_than_a_hundredth_warns(
    today: float | None, status: str, aws: Aws, ask: Ask, needs_of: NeedsFactory
) -> None:
    aws.replies["pricing.GetProducts"] = price_list(today)
    answers = {answer.subject: answer for answer in ask("PF23", needs_of("default"), aws)}
    assert answers["trn1.32xlarge on demand in us-west-2"].status == status


def test_a_type_without_a_price_is_told_with_that_of_today(aws: Aws, ask: Ask, needs_of: NeedsFactory) -> None:
    first, *others = needs_of("default").instance_groups
    needs = replace(needs_of("default"), instance_groups=(replace(first, instance_type="m7i.8xlarge"), *others))
    aws.replies["pricing.GetProducts"] = price_list(1.6128)
    answers = {answer.subject: answer for answer in ask("PF23", needs, aws)}
    unpriced = answers["m7i.8xlarge on demand in us-west-2"]
    assert (unpriced.status, "AWS lists 1.6128 USD an hour; Slipway has no price" in unpriced.message) == (
        "warning",
        True,
    )
