import itertools
import re
from collections.abc import Callable, Mapping
from dataclasses import replace
from datetime import UTC, datetime
from typing import Any

import pytest
from botocore.exceptions import ReadTimeoutError
from botocore.parsers import ResponseParserError

from slipway.check.preflight import trial_reservations
from slipway.check.preflight.check import CHECKS, run
from slipway.check.preflight.checks.prove_capacity import announcement, trial_requests
from slipway.check.preflight.needs import Needs
from tests.check.preflight.aws import Aws, Refusal
from tests.check.preflight.conftest import Ask, NeedsFactory
from tests.check.preflight.well_launches import LAUNCH_REPLIES, TRIAL, reservation


@pytest.fixture
def aws(aws: Aws) -> Aws:
    """The account, with what it answers about launches."""
    aws.replies |= LAUNCH_REPLIES
    return aws


@pytest.fixture(autouse=True)
def _no_waiting(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(trial_reservations, "_PAUSE_SECONDS", 0)


@pytest.fixture
def needs(needs_of: NeedsFactory) -> Needs:
    """The Trainium queue alone."""
    needs = needs_of("default")
    return replace(needs, instance_groups=tuple(m for m in needs.instance_groups if m.instance_type == "trn1.32xlarge"))


def operations(aws: Aws) -> list[str]:
    return [call.operation for call in aws.calls if "CapacityReservation" in call.operation]


def test_capacity_is_reserved_and_cancelled(needs: Needs, aws: Aws, ask: Ask) -> None:
    (answer,) = ask("PF20", needs, aws)
    assert answer.status == "passed"
    assert re.match(r"EC2 has them in usw2-az4 now; reserved for \d+ seconds and cancelled, 0\.", answer.message)
    assert operations(aws) == [
        "CreateCapacityReservation",
        "CancelCapacityReservation",
        "DescribeCapacityReservations",
    ]
    asked = next(call.parameters for call in aws.calls if call.operation == "CreateCapacityReservation")
    assert (asked["InstanceCount"], asked["AvailabilityZoneId"]) == (1, "usw2-az4")
    assert (asked["EndDateType"], asked["InstanceMatchCriteria"]) == ("limited", "targeted")
    assert 0 < (asked["EndDate"] - datetime.now(UTC)).total_seconds() < 16 * 60
    assert {"Key": "slipway:environment", "Value": "default"} in asked["TagSpecifications"][0]["Tags"]


def test_what_always_runs_is_reserved_at_once(needs_of: NeedsFactory) -> None:
    found = {request.instance_type: request for request in trial_requests(needs_of("kubernetes"))}
    assert found["m6i.xlarge"].instances == 2
    assert found["m6i.xlarge"].zone_ids == ("usw2-az4", "usw2-az1")
    assert found["trn1.32xlarge"].instances == 1


def test_reserved_and_spot_machines_are_not_proven(needs_of: NeedsFactory) -> None:
    needs = needs_of("ultracluster")
    reserved = tuple(group for group in needs.instance_groups if group.capacity_reservation)
    spot = tuple(replace(group, purchase="spot") for group in needs.instance_groups)
    assert reserved
    assert trial_requests(replace(needs, instance_groups=(*reserved, *spot))) == ()
    assert announcement(replace(needs, instance_groups=reserved)) is None


def test_what_it_costs_is_told_before(needs: Needs) -> None:
    # 21.50 USD an hour for ten seconds.
    assert announcement(needs) == (
        "Capacity is proven by reserving it for some seconds, which bills: 1 trn1.32xlarge in usw2-az4; about 0.06 USD "
        "for 10 seconds each. If one cannot be cancelled, EC2 ends it within 75 minutes: 26.88 USD at most."
    )


def test_a_cost_that_is_not_known_is_not_said_to_be_nothing(needs: Needs, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("slipway.check.preflight.checks.prove_capacity.usd_per_second", lambda *_: None)
    said = announcement(needs) or ""
    assert said.count("0.00 USD") == said.count("without trn1.32xlarge, of which the price is not known.") == 2


def test_no_capacity_fails_and_names_other_zones(needs: Needs, aws: Aws, ask: Ask) -> None:
    aws.replies["ec2.CreateCapacityReservation"] = Refusal("InsufficientInstanceCapacity")
    (answer,) = ask("PF20", needs, aws)
    assert answer.status == "failed"
    assert answer.fix is not None
    assert "Other zones that offer the type: usw2-az1" in answer.fix
    assert operations(aws) == ["CreateCapacityReservation"]


def test_the_next_zone_is_tried(needs: Needs, aws: Aws, ask: Ask) -> None:
    def only_in_az1(parameters: Mapping[str, Any]) -> Mapping[str, Any] | Refusal:
        if parameters["AvailabilityZoneId"] != "usw2-az1":
            return Refusal("InsufficientInstanceCapacity")
        return {"CapacityReservation": {"CapacityReservationId": TRIAL, "State": "active"}}

    aws.replies["ec2.CreateCapacityReservation"] = only_in_az1
    both = replace(needs.instance_groups[0], availability_zone_ids=("usw2-az4", "usw2-az1"))
    (answer,) = ask("PF20", replace(needs, instance_groups=(both,)), aws)
    assert answer.status == "passed"
    assert "EC2 has them in usw2-az1 now" in answer.message


@pytest.mark.parametrize("code", ["UnauthorizedOperation", "RequestLimitExceeded"])
def test_a_refused_reservation_is_not_checked(code: str, needs: Needs, aws: Aws, ask: Ask) -> None:
    aws.replies["ec2.CreateCapacityReservation"] = Refusal(code)
    (answer,) = ask("PF20", needs, aws)
    assert answer.status == "not_checked"
    assert operations(aws) == ["CreateCapacityReservation"]


@pytest.mark.parametrize("code", ["InstanceLimitExceeded", "VcpuLimitExceeded"])
def test_a_quota_that_is_too_small_fails(code: str, needs: Needs, aws: Aws, ask: Ask) -> None:
    aws.replies["ec2.CreateCapacityReservation"] = Refusal(code)
    (answer,) = ask("PF20", needs, aws)
    assert answer.status == "failed"
    assert answer.fix == "raise the vCPU quota: slipway preflight -e default --check PF06"


def lost_answer(_: Mapping[str, Any]) -> Refusal:
    raise ReadTimeoutError(endpoint_url="ec2")


def unreadable_answer(_: Mapping[str, Any]) -> Refusal:
    raise ResponseParserError("a proxy's page")


@pytest.mark.parametrize("lost", [lost_answer, unreadable_answer])
def test_a_reservation_whose_answer_was_lost_is_found_by_its_tag_and_cancelled(
    lost: Callable[[Mapping[str, Any]], Refusal], needs: Needs, aws: Aws, ask: Ask
) -> None:
    def described(parameters: Mapping[str, Any]) -> Mapping[str, Any]:
        state = "active" if "Filters" in parameters else "cancelled"
        return {"CapacityReservations": [reservation(TRIAL, State=state)]}

    aws.replies |= {"ec2.CreateCapacityReservation": lost, "ec2.DescribeCapacityReservations": described}
    (answer,) = ask("PF20", needs, aws)
    assert answer.status == "not_checked"
    made, found, cancelled = [call.parameters for call in aws.calls if "CapacityReservation" in call.operation][:3]
    trial = made["ClientToken"]
    assert {"Key": "slipway:trial", "Value": trial} in made["TagSpecifications"][0]["Tags"]
    assert found["Filters"][0] == {"Name": "tag:slipway:trial", "Values": [trial]}
    assert cancelled == {"CapacityReservationId": TRIAL}


def test_an_answer_that_was_lost_before_a_reservation_was_made_is_not_checked(needs: Needs, aws: Aws, ask: Ask) -> None:
    aws.replies |= {
        "ec2.CreateCapacityReservation": lost_answer,
        "ec2.DescribeCapacityReservations": {"CapacityReservations": []},
    }
    (answer,) = ask("PF20", needs, aws)
    assert answer.status == "not_checked"
    assert "CancelCapacityReservation" not in operations(aws)


def test_nobody_is_left_in_doubt_about_a_reservation_that_may_stand(needs: Needs, aws: Aws, ask: Ask) -> None:
    aws.replies |= {
        "ec2.CreateCapacityReservation": lost_answer,
        "ec2.DescribeCapacityReservations": Refusal("RequestLimitExceeded"),
    }
    (answer,) = ask("PF20", needs, aws)
    assert answer.status == "failed"
    assert "A RESERVATION MAY STAND AND BILL" in answer.message
    assert (answer.fix or "").startswith("aws ec2 describe-capacity-reservations --region us-west-2 --filters")


def test_a_throttled_cancellation_is_tried_again(needs: Needs, aws: Aws, ask: Ask) -> None:
    tries = itertools.count()
    stands = [True]

    def cancelled(_: Mapping[str, Any]) -> Mapping[str, Any] | Refusal:
        stands[0] = next(tries) < 2
        return Refusal("RequestLimitExceeded") if stands[0] else {"Return": True}

    aws.replies["ec2.CancelCapacityReservation"] = cancelled
    aws.replies["ec2.DescribeCapacityReservations"] = lambda _: {
        "CapacityReservations": [reservation(TRIAL, State="active" if stands[0] else "cancelled")]
    }
    (answer,) = ask("PF20", needs, aws)
    assert answer.status == "passed"
    assert operations(aws).count("CancelCapacityReservation") == 3


def test_a_cancellation_whose_answer_was_lost_is_no_alarm(needs: Needs, aws: Aws, ask: Ask) -> None:
    """EC2 refuses to cancel what is cancelled."""
    tries = itertools.count()

    def described(_: Mapping[str, Any]) -> Mapping[str, Any]:
        state = "cancelled" if next(tries) else "active"
        return {"CapacityReservations": [reservation(TRIAL, State=state)]}

    cancellations = itertools.count()
    aws.replies |= {
        "ec2.DescribeCapacityReservations": described,
        "ec2.CancelCapacityReservation": lambda _: (
            Refusal("InvalidCapacityReservationState") if next(cancellations) else {"Return": True}
        ),
    }
    (answer,) = ask("PF20", needs, aws)
    assert answer.status == "passed"


@pytest.mark.parametrize(("state", "status"), [("pending", "not_checked"), ("failed", "failed")])
def test_a_reservation_without_instances_proves_nothing(
    state: str, status: str, needs: Needs, aws: Aws, ask: Ask
) -> None:
    aws.replies["ec2.CreateCapacityReservation"] = {
        "CapacityReservation": {"CapacityReservationId": TRIAL, "State": state}
    }
    (answer,) = ask("PF20", needs, aws)
    assert answer.status == status
    assert "CancelCapacityReservation" in operations(aws)


@pytest.mark.parametrize(
    "replies",
    [
        {"ec2.CancelCapacityReservation": Refusal("UnauthorizedOperation")},
        {"ec2.CancelCapacityReservation": {"Return": True}},
    ],
)
def test_a_reservation_that_stays_is_shouted(replies: dict[str, Any], needs: Needs, aws: Aws, ask: Ask) -> None:
    aws.replies |= {"ec2.DescribeCapacityReservations": {"CapacityReservations": [reservation(TRIAL)]}, **replies}
    (answer,) = ask("PF20", needs, aws)
    assert answer.status == "failed"
    assert f"{TRIAL} STILL STANDS AND BILLS" in answer.message
    assert answer.fix == (f"aws ec2 cancel-capacity-reservation --region us-west-2 --capacity-reservation-id {TRIAL}")


def test_nothing_more_is_reserved_while_one_stands(needs: Needs, aws: Aws, ask: Ask) -> None:
    aws.replies |= {
        "ec2.CancelCapacityReservation": Refusal("UnauthorizedOperation"),
        "ec2.DescribeCapacityReservations": {"CapacityReservations": [reservation(TRIAL)]},
    }
    other = replace(needs.instance_groups[0], instance_type="trn1.2xlarge")
    answers = ask("PF20", replace(needs, instance_groups=(*needs.instance_groups, other)), aws)
    assert [answer.status for answer in answers] == ["failed", "not_checked"]
    assert operations(aws).count("CreateCapacityReservation") == 1


def test_nothing_more_is_reserved_after_an_interruption(needs: Needs, aws: Aws) -> None:
    """Not in the next zone either, when it comes while the first one is asked."""
    account = aws.account()

    def interrupted(_: Mapping[str, Any]) -> Refusal:
        account.interrupted.set()
        return Refusal("InsufficientInstanceCapacity")

    aws.replies["ec2.CreateCapacityReservation"] = interrupted
    both = replace(needs.instance_groups[0], availability_zone_ids=("usw2-az4", "usw2-az1"))
    (answer,) = run(CHECKS["PF20"], replace(needs, instance_groups=(both,)), account)
    assert answer.status == "not_checked"
    assert operations(aws) == ["CreateCapacityReservation"]
