from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import pytest

from slipway import facts
from slipway.check.preflight.needs import Needs
from tests.check.preflight.aws import Aws, Refusal
from tests.check.preflight.conftest import Ask, NeedsFactory
from tests.check.preflight.well_launches import BLOCK, LAUNCH_REPLIES, in_days, reservation, reservations


@pytest.fixture
def aws(aws: Aws) -> Aws:
    """The account, with what it answers about launches."""
    aws.replies |= LAUNCH_REPLIES
    return aws


@pytest.fixture
def needs(needs_of: NeedsFactory) -> Needs:
    """The queue that is bought as a block alone."""
    needs = needs_of("ultracluster")
    return replace(needs, instance_groups=tuple(m for m in needs.instance_groups if m.purchase == "capacity_block"))


def offer(offer_id: str, zone: str, usd: str) -> Mapping[str, Any]:
    return {
        "CapacityBlockOfferingId": offer_id,
        "InstanceType": "trn1.32xlarge",
        "AvailabilityZone": zone,
        "InstanceCount": 16,
        "StartDate": in_days(2).replace(hour=11, minute=30),
        "EndDate": in_days(3).replace(hour=11, minute=30),
        "UpfrontFee": usd,
    }


def test_a_running_block_passes(needs: Needs, aws: Aws, ask: Ask) -> None:
    (answer,) = ask("PF10", needs, aws)
    assert answer.status == "passed"
    assert answer.message.startswith("the block runs until")


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"State": "scheduled", "StartDate": in_days(3)}, "the block starts at"),
        ({"State": "delayed"}, "the block is delayed, not active"),
        ({"EndDate": in_days(0.5)}, "EC2 terminates its nodes 30 minutes earlier"),
    ],
)
def test_a_block_of_another_time_warns(
    changes: dict[str, object], message: str, needs: Needs, aws: Aws, ask: Ask
) -> None:
    aws.replies["ec2.DescribeCapacityReservations"] = reservations(reservation(BLOCK, **changes))
    (answer,) = ask("PF10", needs, aws)
    assert answer.status == "warning"
    assert message in answer.message
    assert answer.fix is not None


@pytest.mark.parametrize("known", [(), *((reservation(BLOCK, State=state),) for state in ("expired", "unavailable"))])
def test_the_cheapest_fitting_offers_are_listed(
    known: tuple[dict[str, Any], ...], needs: Needs, aws: Aws, ask: Ask
) -> None:
    aws.replies["ec2.DescribeCapacityReservations"] = reservations(*known)
    aws.replies["ec2.DescribeCapacityBlockOfferings"] = {
        "CapacityBlockOfferings": [
            offer("cb-dear", "us-west-2d", "9000.00"),
            offer("cb-elsewhere", "us-west-2b", "100.00"),
            offer("cb-cheap", "us-west-2d", "8000.00"),
        ]
    }
    (answer,) = ask("PF10", needs, aws)
    assert answer.status == "failed"
    assert "3 offers of 16 trn1.32xlarge for 24 hours" in answer.message
    assert answer.message.index("8,000.00 USD") < answer.message.index("9,000.00 USD")
    assert "usw2-az1" not in answer.message
    assert answer.fix is not None
    assert answer.fix.splitlines()[0] == (
        "aws ec2 purchase-capacity-block --region us-west-2 --capacity-block-offering-id cb-cheap "
        "--instance-platform Linux/UNIX"
    )
    assert "`min_count: 16`, `max_count: 16`" in answer.fix
    (call,) = [call for call in aws.calls if call.operation == "DescribeCapacityBlockOfferings"]
    assert call.parameters["InstanceCount"] == 16


def test_an_offer_in_a_zone_short_of_capacity_keeps_its_zone_id(needs: Needs, aws: Aws, ask: Ask) -> None:
    aws.replies["ec2.DescribeCapacityReservations"] = reservations()
    aws.replies["ec2.DescribeAvailabilityZones"] = {
        "AvailabilityZones": [{"ZoneName": "us-west-2d", "ZoneId": "usw2-az4", "State": "constrained"}]
    }
    aws.replies["ec2.DescribeCapacityBlockOfferings"] = {
        "CapacityBlockOfferings": [offer("cb-here", "us-west-2d", "100.00")]
    }
    (answer,) = ask("PF10", needs, aws)
    assert "in usw2-az4, " in answer.message
    assert "none of them" not in answer.message


def test_an_offer_elsewhere_names_its_zone(needs: Needs, aws: Aws, ask: Ask) -> None:
    aws.replies["ec2.DescribeCapacityReservations"] = reservations()
    elsewhere = {"CapacityBlockOfferings": [offer("cb-elsewhere", "us-west-2b", "100.00")]}
    aws.replies["ec2.DescribeCapacityBlockOfferings"] = elsewhere
    (answer,) = ask("PF10", needs, aws)
    assert "none of them in usw2-az4" in answer.message
    assert answer.fix is not None
    assert "`training_availability_zone_id: usw2-az1`" in answer.fix


def test_more_nodes_than_a_block_has_are_asked_for_in_a_block_of_the_largest_size(
    needs: Needs, aws: Aws, ask: Ask
) -> None:
    aws.replies["ec2.DescribeCapacityReservations"] = reservations()
    many = replace(needs, instance_groups=tuple(replace(group, peak_count=100) for group in needs.instance_groups))
    (answer,) = ask("PF10", many, aws)
    (call,) = [call for call in aws.calls if call.operation == "DescribeCapacityBlockOfferings"]
    assert call.parameters["InstanceCount"] == 64
    assert "so 100 need several; EC2 offers no block of 64 trn1.32xlarge" in answer.message


def test_no_offer_fails(needs: Needs, aws: Aws, ask: Ask) -> None:
    aws.replies["ec2.DescribeCapacityReservations"] = reservations()
    (answer,) = ask("PF10", needs, aws)
    assert answer.status == "failed"
    assert "EC2 offers no block of 16 trn1.32xlarge for 24 hours in us-west-2" in answer.message
    assert answer.fix is not None


def test_a_type_without_an_on_demand_price_needs_a_block(
    needs: Needs, aws: Aws, ask: Ask, monkeypatch: pytest.MonkeyPatch
) -> None:
    unpriced = next(row for row in facts.prices().values() if row.usd is None)
    monkeypatch.setattr(facts, "on_demand_price", lambda *_: unpriced)
    group = replace(needs.instance_groups[0], purchase="on_demand", capacity_reservation=None)
    (answer,) = ask("PF10", replace(needs, instance_groups=(group,)), aws)
    assert answer.status == "warning"
    assert "AWS publishes no on-demand price of it in us-west-2" in answer.message


@pytest.mark.parametrize("code", ["InvalidParameterValue", "UnauthorizedOperation", "RequestLimitExceeded"])
def test_offers_that_ec2_does_not_tell_are_not_checked(code: str, needs: Needs, aws: Aws, ask: Ask) -> None:
    aws.replies["ec2.DescribeCapacityReservations"] = reservations()
    aws.replies["ec2.DescribeCapacityBlockOfferings"] = Refusal(code)
    (answer,) = ask("PF10", needs, aws)
    assert (answer.status, answer.subject) == ("not_checked", "trn1.32xlarge for queue block, trn1-32xl")


def test_machines_on_demand_ask_nothing(needs_of: NeedsFactory, aws: Aws, ask: Ask) -> None:
    assert ask("PF10", needs_of("default"), aws) == []
    assert not aws.calls
