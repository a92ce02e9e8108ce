from dataclasses import replace

import pytest

from slipway.check.preflight.answer import Answer
from slipway.check.preflight.needs import Needs
from tests.check.preflight.aws import Aws, Refusal
from tests.check.preflight.conftest import Ask, NeedsFactory
from tests.check.preflight.well_launches import BLOCK, LAUNCH_REPLIES, ON_DEMAND, in_days, reservation, reservations

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
    assert "1603 slots, 0 of them used by others; 0 nodes always run, 1603 at most" in [
        answer.message for answer in answers
    ]


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
                "any trn1.32xlarge that the account starts in usw2-az4 takes a slot",
                f"modify-capacity-reservation --region us-west-2 --capacity-reservation-id {ON_DEMAND} "
                "--instance-match-criteria targeted",
            ),
        ),
        ({"EndDate": in_days(0.5)}, ("warning", "it ends at", "--end-date-type unlimited")),
        (
            {"InstancePlatform": "Windows"},
            ("failed", "it is for the platform Windows", "describe-capacity-reservations"),
        ),
        ({"Tenancy": "dedicated"}, ("failed", "its tenancy is dedicated", "describe-capacity-reservations")),
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
    ("slots", "said"),
    [
        ((8, 8), ("failed", "too few slots: 8 slots, 0 of them used by others; 16 nodes always run, 16 at most")),
        ((16, 4), ("failed", "others use slots: 16 slots, 12 of them used by others")),
        ((20, 16), ("passed", "20 slots, 4 of them used by others")),
        ((20, 20), ("passed", "20 slots")),
    ],
)
def test_places_are_counted(slots: tuple[int, int], said: tuple[str, str], needs: Needs, aws: Aws, ask: Ask) -> None:
    (total, free), (status, message) = slots, said
    block = reservation(BLOCK, TotalInstanceCount=total, AvailableInstanceCount=free)
    aws.replies["ec2.DescribeCapacityReservations"] = reservations(reservation(ON_DEMAND), block)
    (answer,) = about(ask("PF09", needs, aws), f"slots of {BLOCK}")
    assert answer.status == status
    assert message in answer.message


def test_our_own_instances_take_places_from_nobody(needs: Needs, aws: Aws, ask: Ask) -> None:
    block = reservation(BLOCK, AvailableInstanceCount=0)
    tags = [{"Key": "parallelcluster:cluster-name", "Value": needs.slurm_clusters[0]}]
    nodes = [{"InstanceId": f"i-{n}", "CapacityReservationId": BLOCK, "Tags": tags} for n in range(16)]
    aws.replies["ec2.DescribeCapacityReservations"] = reservations(reservation(ON_DEMAND), block)
    aws.replies["ec2.DescribeInstances"] = {"Reservations": [{"Instances": nodes}]}
    (answer,) = about(ask("PF09", needs, aws), f"slots of {BLOCK}")
    assert (answer.status, "0 of them used by others" in answer.message) == ("passed", True)


def test_places_that_others_use_warn_while_nothing_always_runs(needs: Needs, aws: Aws, ask: Ask) -> None:
    taken = reservation(ON_DEMAND, AvailableInstanceCount=1)
    aws.replies["ec2.DescribeCapacityReservations"] = reservations(taken, reservation(BLOCK))
    (answer,) = about(ask("PF09", needs, aws), f"slots of {ON_DEMAND}")
    assert (answer.status, "Launches above 1 fail" in answer.message) == ("warning", True)


def test_fewer_places_than_nodes_are_refused_by_parallelcluster(needs: Needs, aws: Aws, ask: Ask) -> None:
    few = reservation(ON_DEMAND, TotalInstanceCount=1000, AvailableInstanceCount=1000)
    aws.replies["ec2.DescribeCapacityReservations"] = reservations(few, reservation(BLOCK))
    (answer,) = about(ask("PF09", needs, aws), f"slots of {ON_DEMAND}")
    assert answer.status == "failed"
    assert answer.message.endswith("ParallelCluster refuses the cluster")
    assert answer.fix == "lower max_count to 1000, or reserve 603 more"


def in_group(needs: Needs) -> Needs:
    grouped = (
        replace(group, capacity_reservation=GROUP)
        for group in needs.instance_groups
        if group.capacity_reservation == ON_DEMAND
    )
    return replace(needs, instance_groups=tuple(grouped))


def group_of_two() -> dict[str, object]:
    """Answer of resource-groups.ListGroupResources: two reservations, and an instance."""
    arn = "arn:aws:ec2:us-west-2:123456789012:capacity-reservation"
    return {
        "Resources": [
            *(
                {"Identifier": {"ResourceArn": f"{arn}/{name}", "ResourceType": "AWS::EC2::CapacityReservation"}}
                for name in (ON_DEMAND, "cr-2")
            ),
            {"Identifier": {"ResourceArn": "arn:aws:ec2:::instance/i-1", "ResourceType": "AWS::EC2::Instance"}},
        ]
    }


def test_the_places_of_a_group_count_together(needs: Needs, aws: Aws, ask: Ask) -> None:
    both = [reservation(name, TotalInstanceCount=900, AvailableInstanceCount=900) for name in (ON_DEMAND, "cr-2")]
    aws.replies["ec2.DescribeCapacityReservations"] = reservations(*both)
    aws.replies["resource-groups.ListGroupResources"] = group_of_two()
    answers = ask("PF09", in_group(needs), aws)
    assert {answer.status for answer in answers} == {"passed"}
    assert "1800 slots, 0 of them" in about(answers, "slots of")[0].message
    few = [reservation(name, TotalInstanceCount=9, AvailableInstanceCount=9) for name in (ON_DEMAND, "cr-2")]
    aws.replies["ec2.DescribeCapacityReservations"] = reservations(*few)
    (answer,) = about(ask("PF09", in_group(needs), aws), "slots of")
    assert (answer.status, "Launches above 18 fail" in answer.message) == ("warning", True)


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


@pytest.mark.parametrize(
    "changes", [{"State": "expired"}, {"InstanceType": "trn2.48xlarge"}, {"AvailabilityZoneId": "usw2-az1"}]
)
def test_one_reservation_of_a_group_that_fits_is_enough(
    changes: dict[str, str], needs: Needs, aws: Aws, ask: Ask
) -> None:
    aws.replies["resource-groups.ListGroupResources"] = group_of_two()
    aws.replies["ec2.DescribeCapacityReservations"] = reservations(
        reservation(ON_DEMAND), reservation("cr-2", **changes)
    )
    said = {answer.subject.split()[0]: answer.status for answer in ask("PF09", in_group(needs), aws)}
    assert said == {ON_DEMAND: "passed", "cr-2": "warning", "slots": "passed"}
    (slots,) = about(ask("PF09", in_group(needs), aws), "slots of")
    assert slots.message.startswith("1603 slots")
    aws.replies["ec2.DescribeCapacityReservations"] = reservations(
        *(reservation(name, **changes) for name in (ON_DEMAND, "cr-2"))
    )
    assert "failed" in {answer.status for answer in ask("PF09", in_group(needs), aws)}


def test_a_group_that_is_no_pool_fails(needs: Needs, aws: Aws, ask: Ask) -> None:
    aws.replies["resource-groups.ListGroupResources"] = group_of_two()
    aws.replies["resource-groups.GetGroupConfiguration"] = {"GroupConfiguration": {}}
    aws.replies["ec2.DescribeCapacityReservations"] = reservations(reservation(ON_DEMAND), reservation("cr-2"))
    answer = ask("PF09", in_group(needs), aws)[0]
    assert (answer.status, answer.subject) == ("failed", GROUP)
    assert (answer.fix or "").splitlines()[1].startswith("aws resource-groups create-group --region us-west-2 ")


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


@pytest.mark.parametrize(
    ("made_in", "said"),
    [
        ("trn1-reserved", None),
        (
            "other",
            "it was made in other, but queue reserved, trn1-32xl starts nodes in the placement group trn1-reserved",
        ),
        (None, "it was made in no placement group, but queue reserved"),
    ],
)
def test_a_placement_group_is_that_of_the_reservation(
    made_in: str | None, said: str | None, needs: Needs, aws: Aws, ask: Ask
) -> None:
    arn = {"PlacementGroupArn": f"arn:aws:ec2:us-west-2:123456789012:placement-group/{made_in}"} if made_in else {}
    aws.replies["ec2.DescribeCapacityReservations"] = reservations(reservation(ON_DEMAND, **arn), reservation(BLOCK))
    placed = tuple(
        replace(group, placement_group="trn1-reserved") if group.capacity_reservation == ON_DEMAND else group
        for group in needs.instance_groups
    )
    (answer,) = about(ask("PF09", replace(needs, instance_groups=placed), aws), f"{ON_DEMAND} for")
    assert answer.status == ("failed" if said else "passed")
    assert said is None or said in answer.message
