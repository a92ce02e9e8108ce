from dataclasses import replace

import pytest

from slipway.preflight.answer import Answer
from slipway.preflight.needs import Needs
from tests.preflight.aws import Aws, Refusal
from tests.preflight.conftest import Ask, NeedsFactory
from tests.preflight.well_launches import BLOCK, LAUNCH_REPLIES, ON_DEMAND, in_days, reservation, reservations

GROUP = "arn:aws:resource-groups:us-west-2:123456789012:group/trn1-reservations"


@pytest.fixture
def aws(aws: Aws) -> Aws:
    """The account, with what it answers about launches."""
    aws.replies |= LAUNCH_REPLIES
    return aws


@pytest.fixture
def needs(needs_of: NeedsFactory) -> Needs:
    return needs_of("ultracluster")


def about(answers: list[Answer], text: str) -> list[Answer]:
    return [answer for answer in answers if text in answer.subject]


def test_reservations_that_fit_pass(needs: Needs, aws: Aws, ask: Ask) -> None:
    answers = ask("PF09", needs, aws)
    assert {answer.status for answer in answers} == {"passed"}
    assert len(answers) == 4
    assert all(answer.stacks == ("slipway-ultracluster-training",) for answer in answers)
    assert "1603 places, 1603 free; 0 nodes always run, 1603 at most" in [answer.message for answer in answers]


def test_an_unknown_reservation_fails_with_the_command_that_lists_the_others(needs: Needs, aws: Aws, ask: Ask) -> None:
    aws.replies["ec2.DescribeCapacityReservations"] = reservations(reservation(BLOCK))
    (answer,) = about(ask("PF09", needs, aws), ON_DEMAND)
    assert answer.status == "failed"
    assert "us-west-2 has no such capacity reservation" in answer.message
    assert answer.fix is not None
    assert "--filters Name=instance-type,Values=trn1.32xlarge Name=state,Values=active" in answer.fix


@pytest.mark.parametrize(
    ("changes", "said"),
    [
        ({"State": "expired"}, ("failed", "it is expired, not active", "describe-capacity-reservations")),
        ({"State": "pending"}, ("warning", "it is pending, not active", "deploy when it is active")),
        (
            {"InstanceType": "trn1n.32xlarge"},
            (
                "failed",
                "it is for trn1n.32xlarge, but queue reserved, trn1-32xl launches trn1.32xlarge",
                "`instance_type: trn1n.32xlarge`",
            ),
        ),
        (
            {"AvailabilityZoneId": "usw2-az1"},
            (
                "failed",
                "it is in usw2-az1, but queue reserved, trn1-32xl is in usw2-az4",
                "`training_availability_zone_id: usw2-az1`",
            ),
        ),
        (
            {"ReservationType": "capacity-block"},
            (
                "failed",
                "it is a Capacity Block, but queue reserved, trn1-32xl buys on_demand",
                "`capacity_type: capacity_block`",
            ),
        ),
        (
            {"InstanceMatchCriteria": "open"},
            (
                "warning",
                "any trn1.32xlarge that the account starts in usw2-az4 takes a place",
                f"modify-capacity-reservation --region us-west-2 --capacity-reservation-id {ON_DEMAND} "
                "--instance-match-criteria targeted",
            ),
        ),
        ({"EndDate": in_days(0.5)}, ("warning", "it ends at", "--end-date-type unlimited")),
    ],
)
def test_what_does_not_fit_is_told(
    changes: dict[str, object], said: tuple[str, str, str], needs: Needs, aws: Aws, ask: Ask
) -> None:
    status, message, fix = said
    changed = reservation(ON_DEMAND, **changes)
    aws.replies["ec2.DescribeCapacityReservations"] = reservations(changed, reservation(BLOCK))
    (answer,) = about(ask("PF09", needs, aws), f"{ON_DEMAND} for")
    assert answer.status == status
    assert message in answer.message
    assert answer.fix is not None
    assert fix in answer.fix


@pytest.mark.parametrize(
    ("places", "said"),
    [
        ((8, 8), ("failed", "too few places: 8 places, 8 free; 16 nodes always run, 16 at most")),
        ((16, 4), ("warning", "instances use the places already")),
        ((20, 20), ("passed", "20 places")),
    ],
)
def test_places_are_counted(places: tuple[int, int], said: tuple[str, str], needs: Needs, aws: Aws, ask: Ask) -> None:
    (total, free), (status, message) = places, said
    block = reservation(BLOCK, TotalInstanceCount=total, AvailableInstanceCount=free)
    aws.replies["ec2.DescribeCapacityReservations"] = reservations(reservation(ON_DEMAND), block)
    (answer,) = about(ask("PF09", needs, aws), f"places of {BLOCK}")
    assert answer.status == status
    assert message in answer.message


def test_fewer_places_than_nodes_warns(needs: Needs, aws: Aws, ask: Ask) -> None:
    few = reservation(ON_DEMAND, TotalInstanceCount=1000, AvailableInstanceCount=1000)
    aws.replies["ec2.DescribeCapacityReservations"] = reservations(few, reservation(BLOCK))
    (answer,) = about(ask("PF09", needs, aws), f"places of {ON_DEMAND}")
    assert answer.status == "warning"
    assert answer.fix == "lower max_count to 1000, or reserve 603 more"


def in_group(needs: Needs) -> Needs:
    grouped = (
        replace(machine, capacity_reservation=GROUP)
        for machine in needs.machines
        if machine.capacity_reservation == ON_DEMAND
    )
    return replace(needs, machines=tuple(grouped))


def test_the_places_of_a_group_count_together(needs: Needs, aws: Aws, ask: Ask) -> None:
    both = [reservation(name, TotalInstanceCount=900, AvailableInstanceCount=900) for name in (ON_DEMAND, "cr-2")]
    aws.replies["ec2.DescribeCapacityReservations"] = reservations(*both)
    arn = "arn:aws:ec2:us-west-2:123456789012:capacity-reservation"
    aws.replies["resource-groups.ListGroupResources"] = {
        "Resources": [
            *(
                {"Identifier": {"ResourceArn": f"{arn}/{name}", "ResourceType": "AWS::EC2::CapacityReservation"}}
                for name in (ON_DEMAND, "cr-2")
            ),
            {"Identifier": {"ResourceArn": "arn:aws:ec2:::instance/i-1", "ResourceType": "AWS::EC2::Instance"}},
        ]
    }
    answers = ask("PF09", in_group(needs), aws)
    assert {answer.status for answer in answers} == {"passed"}
    assert "1800 places, 1800 free" in about(answers, "places of")[0].message


@pytest.mark.parametrize(
    ("reply", "message"),
    [
        ({"Resources": []}, "the resource group has no capacity reservation"),
        (Refusal("NotFoundException"), "the resource group does not exist"),
    ],
)
def test_a_group_without_reservations_fails(reply: object, message: str, needs: Needs, aws: Aws, ask: Ask) -> None:
    aws.replies["resource-groups.ListGroupResources"] = reply  # type: ignore[assignment]
    (answer,) = ask("PF09", in_group(needs), aws)
    assert (answer.status, answer.message) == ("failed", message)
    assert answer.fix is not None


@pytest.mark.parametrize("code", ["UnauthorizedOperation", "RequestLimitExceeded"])
def test_a_refused_reservation_leaves_the_others_checked(code: str, needs: Needs, aws: Aws, ask: Ask) -> None:
    known = reservations(reservation(BLOCK))
    assert callable(known)
    aws.replies["ec2.DescribeCapacityReservations"] = lambda asked: (
        Refusal(code) if asked["CapacityReservationIds"] == [ON_DEMAND] else known(asked)
    )
    answers = ask("PF09", needs, aws)
    assert (answers[0].subject, answers[0].status) == (ON_DEMAND, "not_checked")
    assert {answer.status for answer in answers[1:]} == {"passed"}


def test_an_environment_without_reservations_asks_nothing(needs_of: NeedsFactory, aws: Aws, ask: Ask) -> None:
    assert ask("PF09", needs_of("default"), aws) == []
    assert not aws.calls
