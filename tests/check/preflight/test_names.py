"""PF17."""

import pytest

from tests.check.preflight.aws import Aws
from tests.check.preflight.conftest import Ask, NeedsFactory
from tests.check.preflight.handmade import resources_of_stack, standing_stack

NETWORK = "slipway-default-network"


def test_a_fresh_account_passes(aws: Aws, ask: Ask, needs_of: NeedsFactory) -> None:
    answers = ask("PF17", needs_of("default"), aws)
    assert {answer.status for answer in answers} == {"passed"}
    subjects = {answer.subject for answer in answers}
    assert {f"stack {NETWORK}", "stack trainium"} <= subjects
    assert "AWS::Logs::LogGroup /aws/ecs/containerinsights/slipway-default-inference/performance" in subjects


@pytest.mark.parametrize(
    ("state", "status", "fix"),
    [
        ("UPDATE_COMPLETE", "passed", None),
        ("REVIEW_IN_PROGRESS", "passed", None),
        ("ROLLBACK_COMPLETE", "warning", f"aws cloudformation delete-stack --stack-name {NETWORK} --region us-west-2"),
        ("DELETE_FAILED", "failed", f"aws cloudformation delete-stack --stack-name {NETWORK} --region us-west-2"),
        (
            "UPDATE_ROLLBACK_FAILED",
            "failed",
            f"aws cloudformation continue-update-rollback --stack-name {NETWORK} --region us-west-2",
        ),
        ("CREATE_FAILED", "warning", f"aws cloudformation rollback-stack --stack-name {NETWORK} --region us-west-2"),
        ("UPDATE_FAILED", "warning", f"aws cloudformation rollback-stack --stack-name {NETWORK} --region us-west-2"),
        ("UPDATE_IN_PROGRESS", "failed", "wait until it is done, and run the preflight again"),
    ],
)
def test_a_stack_of_ours_must_be_one_that_can_be_updated(  # noqa: PLR0917 - pytest's parameters
    state: str, status: str, fix: str | None, aws: Aws, ask: Ask, needs_of: NeedsFactory
) -> None:
    aws.replies["cloudformation.DescribeStacks"] = standing_stack(NETWORK, state, environment="default")
    answers = {answer.subject: answer for answer in ask("PF17", needs_of("default"), aws)}
    assert (answers[f"stack {NETWORK}"].status, answers[f"stack {NETWORK}"].fix) == (status, fix)


@pytest.mark.parametrize("name", [NETWORK, "trainium"])
def test_a_stack_of_somebody_else_fails(name: str, aws: Aws, ask: Ask, needs_of: NeedsFactory) -> None:
    aws.replies["cloudformation.DescribeStacks"] = standing_stack(name, environment="another")
    answers = {answer.subject: answer for answer in ask("PF17", needs_of("default"), aws)}
    assert answers[f"stack {name}"].status == "failed"
    assert "not tagged as environment default's" in answers[f"stack {name}"].message


@pytest.mark.parametrize(
    ("name", "alike"),
    [
        ("slipway-default-network-network", True),  # the environment `default-network`
        ("slipway-default-b-network", False),
        ("slipway-default-inference-blue", True),  # CloudFormation keeps 24 characters of either name
        ("slipway-team-network", False),
        ("billing", False),
    ],
)
def test_a_stack_of_others_with_names_like_ours_is_warned_of(
    name: str, alike: bool, aws: Aws, ask: Ask, needs_of: NeedsFactory
) -> None:
    aws.replies["cloudformation.DescribeStacks"] = standing_stack(name, environment="another")
    found = [answer for answer in ask("PF17", needs_of("default"), aws) if answer.subject == f"stack {name}"]

    assert [answer.status for answer in found] == (["warning"] if alike else [])
    assert not alike or "begin like ours (slipway-default-" in found[0].message


def test_a_stack_nested_in_one_of_ours_is_ours(aws: Aws, ask: Ask, needs_of: NeedsFactory) -> None:
    aws.replies["cloudformation.DescribeStacks"] = standing_stack(f"{NETWORK}-Nested-1A2B", environment="default")

    assert {answer.status for answer in ask("PF17", needs_of("default"), aws)} == {"passed"}


def test_a_log_group_that_outlived_its_stack_fails(aws: Aws, ask: Ask, needs_of: NeedsFactory) -> None:
    group = "/aws/ecs/containerinsights/slipway-default-inference/performance"
    aws.replies["logs.DescribeLogGroups"] = {"logGroups": [{"logGroupName": group}]}
    (failed,) = [answer for answer in ask("PF17", needs_of("default"), aws) if answer.status == "failed"]
    assert failed.fix is not None
    assert failed.fix.splitlines()[1] == f"aws logs delete-log-group --log-group-name {group} --region us-west-2"


def test_names_that_our_own_stacks_have_pass(aws: Aws, ask: Ask, needs_of: NeedsFactory) -> None:
    cluster = "slipway-kubernetes-kubernetes"
    aws.replies["eks.ListClusters"] = {"clusters": [cluster]}
    answers = {answer.subject: answer for answer in ask("PF17", needs_of("kubernetes"), aws)}
    assert answers[f"AWS::EKS::Cluster {cluster}"].status == "failed"
    aws.replies |= {
        "cloudformation.DescribeStacks": standing_stack(cluster, environment="kubernetes"),
        "cloudformation.ListStackResources": resources_of_stack({cluster: "AWS::EKS::Cluster"}),
    }
    answers = {answer.subject: answer for answer in ask("PF17", needs_of("kubernetes"), aws)}
    assert answers[f"AWS::EKS::Cluster {cluster}"].status == "passed"


@pytest.mark.parametrize("status", ["CREATE_FAILED", "DELETE_SKIPPED", "DELETE_COMPLETE"])
def test_a_name_that_a_failed_deployment_met_is_not_ours(
    status: str, aws: Aws, ask: Ask, needs_of: NeedsFactory
) -> None:
    """CloudFormation lists it with the stack, by its name: it is what the creation failed at, or was left behind."""
    group = "/aws/ecs/containerinsights/slipway-default-inference/performance"
    stack = "slipway-default-inference"
    aws.replies |= {
        "cloudformation.DescribeStacks": standing_stack(stack, "ROLLBACK_COMPLETE", environment="default"),
        "cloudformation.ListStackResources": resources_of_stack({group: "AWS::Logs::LogGroup"}, status),
        "logs.DescribeLogGroups": {"logGroups": [{"logGroupName": group}]},
    }
    answers = {answer.subject: answer for answer in ask("PF17", needs_of("default"), aws)}
    assert answers[f"AWS::Logs::LogGroup {group}"].status == "failed"
