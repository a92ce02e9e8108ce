"""PF06."""

import re
from dataclasses import replace
from typing import Any

import pytest

from slipway import facts
from tests.assembly import PROJECT
from tests.check.preflight.aws import ACCOUNT_ID, Aws, Refusal
from tests.check.preflight.conftest import Ask, NeedsFactory
from tests.check.preflight.well import limits
from tests.check.preflight.well_launches import ON_DEMAND, reservation

TRN = "Running On-Demand Trn instances in us-west-2"
STANDARD = "Running On-Demand Standard (A, C, D, H, I, M, R, T, Z) instances in us-west-2"
INF = "Running On-Demand Inf instances in us-west-2"


def running(*types: str, tags: dict[str, str] | None = None, lifecycle: str | None = None) -> dict[str, Any]:
    """Answer of ec2.DescribeInstances."""
    listed = [{"Key": key, "Value": value} for key, value in (tags or {}).items()]
    bought = {"InstanceLifecycle": lifecycle} if lifecycle else {}
    cpus = {"CoreCount": 24, "ThreadsPerCore": 2}
    return {
        "Reservations": [
            {"Instances": [{"InstanceType": name, "Tags": listed, "CpuOptions": cpus, **bought} for name in types]}
        ]
    }


def test_quotas_with_room_pass_with_the_arithmetic(aws: Aws, ask: Ask, needs_of: NeedsFactory) -> None:
    aws.replies["service-quotas.GetServiceQuota"] = limits({"on_demand_trn": 512, "on_demand_inf": 64})
    answers = {answer.subject: answer for answer in ask("PF06", needs_of("default"), aws)}
    assert {answer.status for answer in answers.values()} == {"passed"}
    assert answers[TRN].message == (
        "4 x trn1.32xlarge (128 vCPU); peak 512 vCPU, used by others now 0 vCPU, limit 512 vCPU: fits"
    )
    assert "2 x inf2.8xlarge (32 vCPU); peak 64 vCPU" in answers[INF].message
    assert set(answers) == {TRN, INF, STANDARD}
    told = (PROJECT / "docs" / "first-deploy.md").read_text(encoding="utf-8")
    assert "`default` needs 512 vCPU of Trn instances and 64 of Inf instances" in told


def test_a_new_account_fails_with_the_command_that_helps(aws: Aws, ask: Ask, needs_of: NeedsFactory) -> None:
    aws.replies |= {
        "service-quotas.GetServiceQuota": limits({}, otherwise=None),
        "service-quotas.GetAWSDefaultServiceQuota": {"Quota": {"Value": 0.0}},
    }
    answers = {answer.subject: answer for answer in ask("PF06", needs_of("default"), aws)}
    assert {answer.status for answer in answers.values()} == {"failed"}
    assert "512 vCPU lacking" in answers[TRN].message
    assert answers[TRN].fix == (
        "aws service-quotas request-service-quota-increase --service-code ec2 --quota-code L-2C3B7624 "
        "--desired-value 512 --region us-west-2"
    )


def test_room_for_a_node_but_not_for_all_warns(aws: Aws, ask: Ask, needs_of: NeedsFactory) -> None:
    aws.replies["service-quotas.GetServiceQuota"] = limits({"on_demand_trn": 128})
    answers = {answer.subject: answer for answer in ask("PF06", needs_of("default"), aws)}
    assert (answers[TRN].status, "384 vCPU lacking" in answers[TRN].message) == ("warning", True)
    aws.replies["service-quotas.GetServiceQuota"] = limits({"on_demand_trn": 127})
    answers = {answer.subject: answer for answer in ask("PF06", needs_of("default"), aws)}
    assert (answers[TRN].status, "not even the 128 vCPU" in answers[TRN].message) == ("failed", True)


def test_what_always_runs_must_fit(aws: Aws, ask: Ask, needs_of: NeedsFactory) -> None:
    """Head node (8) and login nodes (2 x 4) always run; a node of another queue alone would fit."""
    aws.replies["service-quotas.GetServiceQuota"] = limits({"on_demand_standard": 15})
    answers = {answer.subject: answer for answer in ask("PF06", needs_of("team"), aws)}
    assert answers[STANDARD].status == "failed"


def test_a_node_must_fit_beside_what_always_runs(aws: Aws, ask: Ask, needs_of: NeedsFactory) -> None:
    """The head node (8 vCPUs) always runs: a queue of 16 never starts a node in a quota of 20."""
    needs = needs_of("default")
    head, node = (
        next(m for m in needs.instance_groups if m.purpose.startswith(what)) for what in ("head node", "queue cpu")
    )
    both = replace(needs, instance_groups=(head, replace(node, idle_count=0, peak_count=2)))
    always, one = (facts.instance_type(group.instance_type).vcpus for group in both.instance_groups)
    for allowed, status in ((always + one - 1, "failed"), (always + one, "warning")):
        aws.replies["service-quotas.GetServiceQuota"] = limits({"on_demand_standard": allowed})
        (answer,) = ask("PF06", both, aws)
        assert answer.status == status


def test_what_runs_of_a_stack_that_nobody_asks_about_counts(aws: Aws, ask: Ask, needs_of: NeedsFactory) -> None:
    needs = needs_of("default")
    training = replace(needs, stacks=tuple(stack for stack in needs.stacks if stack.name.endswith("training")))
    for stack, used in (("slipway-default-inference", 48), ("slipway-default-training", 0)):
        tags = {"slipway:environment": "default", "aws:cloudformation:stack-name": stack}
        aws.replies["ec2.DescribeInstances"] = running("m6i.mega", tags=tags)
        answers = {answer.subject: answer for answer in ask("PF06", training, aws)}
        assert f"used by others now {used} vCPU" in answers[STANDARD].message


@pytest.mark.parametrize(
    ("instances", "used"),
    [
        (running("trn1.32xlarge", "trn2.48xlarge"), 320),
        (running("inf2.xlarge", "m6i.large", "im4gn.large", "p5.48xlarge"), 0),
        (running("trn1.32xlarge", lifecycle="spot"), 0),
        (running("trn1.32xlarge", lifecycle="capacity-block"), 0),
        (running("trn1.32xlarge", tags={"slipway:environment": "default"}), 0),
        (running("trn1.32xlarge", tags={"parallelcluster:cluster-name": "trainium"}), 0),
        (running("trn1.32xlarge", tags={"parallelcluster:cluster-name": "another"}), 128),
        (running("trn9.mega"), 48),
    ],
)
def test_what_runs_counts_unless_it_is_ours_or_another_quota_s(
    instances: dict[str, Any], used: int, aws: Aws, ask: Ask, needs_of: NeedsFactory
) -> None:
    aws.replies["ec2.DescribeInstances"] = instances
    answers = {answer.subject: answer for answer in ask("PF06", needs_of("default"), aws)}
    assert f"used by others now {used} vCPU" in answers[TRN].message


def test_instances_of_a_reservation_are_not_said_to_fail(aws: Aws, ask: Ask, needs_of: NeedsFactory) -> None:
    aws.replies["service-quotas.GetServiceQuota"] = limits({"on_demand_trn": 256 * 128})
    answers = {answer.subject: answer for answer in ask("PF06", needs_of("ultracluster"), aws)}
    assert answers[TRN].status == "warning"
    assert answers[TRN].message.endswith(
        "a reservation counts from the day it is made on, used or not: what runs in it needs no more than it has"
    )


def test_instances_of_capacity_blocks_count_against_no_quota(aws: Aws, ask: Ask, needs_of: NeedsFactory) -> None:
    needs = needs_of("ultracluster")
    blocks = replace(needs, instance_groups=tuple(m for m in needs.instance_groups if m.purchase == "capacity_block"))
    assert blocks.instance_groups
    assert ask("PF06", blocks, aws) == []
    # 1603 reserved, 256 and 4 on demand; the block's 16 are not in the sum.
    answers = {answer.subject: answer for answer in ask("PF06", needs, aws)}
    assert f"peak {(1603 + 256) * 128 + 4 * 8:,} vCPU" in answers[TRN].message


def test_what_others_run_beyond_the_limit_takes_nothing_from_a_reservation(
    aws: Aws, ask: Ask, needs_of: NeedsFactory
) -> None:
    needs = needs_of("ultracluster")
    reserved = replace(needs, instance_groups=tuple(m for m in needs.instance_groups if m.capacity_reservation))
    aws.replies |= {
        "service-quotas.GetServiceQuota": limits({"on_demand_trn": 64}),
        "ec2.DescribeInstances": running("trn1.32xlarge"),
    }
    (answer,) = ask("PF06", reserved, aws)
    assert answer.status == "warning"


@pytest.mark.parametrize(
    ("changes", "used"),
    [
        ({}, 512),
        ({"OwnerId": "999999999999"}, 0),
        ({"ReservationType": "capacity-block"}, 0),
        ({"InstanceMatchCriteria": "open"}, 0),
        ({"InstanceMatchCriteria": "open", "InstanceType": "trn1n.32xlarge"}, 512),
        ({"AvailableInstanceCount": 1}, 128),
        ({"InstanceType": "inf2.xlarge"}, 0),
    ],
)
def test_what_is_reserved_and_not_used_counts_unless_our_nodes_get_it(
    changes: dict[str, Any], used: int, aws: Aws, ask: Ask, needs_of: NeedsFactory
) -> None:
    found = {**reservation(ON_DEMAND), "OwnerId": ACCOUNT_ID, "AvailableInstanceCount": 4, **changes}
    aws.replies["ec2.DescribeCapacityReservations"] = {"CapacityReservations": [found]}
    answers = {answer.subject: answer for answer in ask("PF06", needs_of("default"), aws)}
    assert f"used by others now {used} vCPU" in answers[TRN].message
    # Its nodes are launched into reservations of their own.
    (trn, *_) = [answer for answer in ask("PF06", needs_of("ultracluster"), aws) if answer.subject == TRN]
    assert "InstanceType" in changes or "used by others now 0 vCPU" in trn.message


def test_a_quota_that_nobody_knows_is_not_checked(aws: Aws, ask: Ask, needs_of: NeedsFactory) -> None:
    aws.replies |= {
        "service-quotas.GetServiceQuota": limits({}, otherwise=None),
        "service-quotas.GetAWSDefaultServiceQuota": Refusal("NoSuchResourceException"),
    }
    assert {answer.status for answer in ask("PF06", needs_of("default"), aws)} == {"not_checked"}


def test_every_instance_type_counts_against_the_quota_of_its_family() -> None:
    """A public table gives Trainium the code of Inferentia: the names tell them apart."""
    for name, row in facts.instance_types().items():
        letters = re.match("[a-z]+", name)
        assert letters
        for key in (row.on_demand_quota, row.spot_quota):
            assert letters.group() in facts.quota(key).instance_letters, f"{name} counts against {key}"
    assert facts.quota(facts.instance_type("trn1.32xlarge").on_demand_quota).quota_code == "L-2C3B7624"
    assert facts.quota(facts.instance_type("inf2.xlarge").on_demand_quota).quota_code == "L-1945791B"


def test_ec2_is_asked_for_the_vcpus_of_a_cpu_type_without_facts(aws: Aws, ask: Ask, needs_of: NeedsFactory) -> None:
    groups = tuple(
        replace(group, instance_type="m7i.8xlarge") if group.purpose == "head node" else group
        for group in needs_of("default").instance_groups
    )
    needs = replace(needs_of("default"), instance_groups=groups)
    described = {"InstanceType": "m7i.8xlarge", "VCpuInfo": {"DefaultVCpus": 32}}
    aws.replies |= {
        "service-quotas.GetServiceQuota": limits({"on_demand_standard": 31}),
        "ec2.DescribeInstanceTypes": {"InstanceTypes": [described]},
    }
    answers = {answer.subject: answer for answer in ask("PF06", needs, aws)}
    assert "1 x m7i.8xlarge (32 vCPU)" in answers[STANDARD].message
    assert answers[STANDARD].status == "failed"

    aws.replies["ec2.DescribeInstanceTypes"] = {"InstanceTypes": []}
    answers = {answer.subject: answer for answer in ask("PF06", needs, aws)}
    assert answers["m7i.8xlarge for head node"].status == "not_checked"
