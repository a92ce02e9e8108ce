"""What holds for every check there is: refused, throttled, and asked for no more than it says."""

from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

import slipway.check.preflight.checks  # noqa: F401 - importing it registers the checks
from slipway.check.preflight.answer import Answer
from slipway.check.preflight.check import CHECKS, run
from slipway.check.preflight.needs import Needs
from slipway.check.preflight.registries import RegistryError
from tests.check.preflight.aws import Aws, Call, Refusal
from tests.check.preflight.conftest import NeedsFactory
from tests.check.preflight.handmade import OTHERS, handmade, resources_of_stack, standing_stack
from tests.check.preflight.well import REPLIES, limits
from tests.check.preflight.well_networks import replies_of_existing_vpc

ENVIRONMENTS = ("default", "team", "kubernetes", "ultracluster", "public", "existing", "existingvpc", "isolated")
ASKING = sorted(check.id for check in CHECKS.values() if check.actions)
REFUSALS = ("AccessDenied", "UnauthorizedOperation", "ThrottlingException", "SlowDown")
ONLY_WITH_OTHER_RESOURCES = frozenset(
    {"PF09", "PF10", "PF12", "PF13", "PF14", "PF15", "PF16", "PF19", "PF20", "PF25", "PF26", "PF27", "PF28", "PF29"}
)
"""Checks with actions for what the environments here do not have."""

_IAM_NAMES = {
    "s3:GetBucketEncryption": "s3:GetEncryptionConfiguration",
    "s3:GetBucketNotificationConfiguration": "s3:GetBucketNotification",
    "s3:GetPublicAccessBlock": "s3:GetBucketPublicAccessBlock",
    "s3:HeadBucket": "s3:ListBucket",
    "s3:HeadObject": "s3:GetObject",
    "s3:ListObjectsV2": "s3:ListBucket",
}
"""Where IAM has another name than the API (Service Authorization Reference)."""


@pytest.fixture(autouse=True)
def _no_registry(monkeypatch: pytest.MonkeyPatch) -> None:
    def unreachable(_image: object) -> bool:
        raise RegistryError("no network in tests")

    monkeypatch.setattr("slipway.check.preflight.checks.container_images.in_public_registry", unreachable)


@pytest.fixture
def all_needs(needs_of: NeedsFactory, tmp_path: Path) -> tuple[Needs, ...]:
    """What the environments need, one with what none of them has, and one with a CPU type without facts."""
    first, *others = needs_of("default").instance_groups
    unpriced = replace(needs_of("default"), instance_groups=(replace(first, instance_type="m7i.8xlarge"), *others))
    return (*(needs_of(name) for name in ENVIRONMENTS), handmade(tmp_path, OTHERS), unpriced)


def action(call: Call) -> str:
    """The IAM action of a call."""
    name = f"{call.signing_name}:{call.operation}"
    return _IAM_NAMES.get(name, name)


def asked_of_aws(aws: Aws) -> list[Call]:
    """The calls that need a permission."""
    return [call for call in aws.calls if call.service != "sts"]


def about_others(answers: list[Answer]) -> Iterator[Answer]:
    """The answers that need a permission: whose credentials they are needs none."""
    return (answer for answer in answers if (answer.check, answer.subject) != ("PF01", "credentials"))


@pytest.mark.parametrize("code", REFUSALS)
@pytest.mark.parametrize("check", ASKING)
def test_nothing_passes_that_aws_refuses_to_tell(check: str, code: str, aws: Aws, all_needs: tuple[Needs, ...]) -> None:
    aws.replies = {"sts.GetCallerIdentity": REPLIES["sts.GetCallerIdentity"], "*": Refusal(code)}
    asked = 0
    for needs in all_needs:
        aws.calls.clear()
        answers = run(CHECKS[check], needs, aws.account())
        if asked_of_aws(aws):
            asked += 1
            assert {answer.status for answer in about_others(answers)} == {"not_checked"}
            assert all(answer.fix for answer in about_others(answers))
    assert asked, "no environment here makes this check ask"


@pytest.mark.parametrize("check", [check for check in ASKING if CHECKS[check].stage != "capacity"])
def test_one_refused_call_leaves_something_unchecked(check: str, aws: Aws, needs_of: NeedsFactory) -> None:
    needs = needs_of({"PF22": "kubernetes", "PF28": "existingvpc", "PF29": "isolated"}.get(check, "default"))
    if check == "PF28":
        aws.replies |= replies_of_existing_vpc()
    run(CHECKS[check], needs, aws.account())
    for number, call in enumerate(list(aws.calls)):
        if call.service == "sts":
            continue
        aws.calls.clear()
        aws.refused_call = number
        answers = run(CHECKS[check], needs, aws.account())
        assert "not_checked" in {answer.status for answer in answers}, f"call {number}, {call.name}"


@pytest.mark.parametrize("check", ASKING)
def test_a_check_calls_what_it_says(check: str, aws: Aws, all_needs: tuple[Needs, ...]) -> None:
    for needs in all_needs:
        # An update: something of the environment stands.
        aws.replies["cloudformation.DescribeStacks"] = standing_stack(
            needs.stacks[0].name, environment=needs.environment
        )
        aws.replies["cloudformation.ListStackResources"] = resources_of_stack({"vpc-1": "AWS::EC2::VPC"})
        run(CHECKS[check], needs, aws.account())
    if "servicequotas:GetAWSDefaultServiceQuota" in CHECKS[check].actions:
        aws.replies["service-quotas.GetServiceQuota"] = limits({}, otherwise=None)
        run(CHECKS[check], all_needs[0], aws.account())
    made = {action(call) for call in (aws.calls if check == "PF01" else asked_of_aws(aws))}
    said = set(CHECKS[check].actions)
    assert made <= said
    assert check in ONLY_WITH_OTHER_RESOURCES or made == said


def test_an_offline_check_asks_nobody(aws: Aws, all_needs: tuple[Needs, ...]) -> None:
    for check in CHECKS.values():
        if check.stage == "offline":
            for needs in all_needs:
                run(check, needs, aws.account())
    assert not aws.calls


def test_every_failed_answer_says_what_to_do(aws: Aws, needs_of: NeedsFactory) -> None:
    aws.replies |= {"service-quotas.GetServiceQuota": limits({}, otherwise=0), "s3.HeadBucket": Refusal("404")}
    failed: list[Any] = [
        answer
        for check in CHECKS.values()
        for answer in run(check, needs_of("team"), aws.account())
        if answer.status == "failed"
    ]
    assert {"PF02", "PF06", "PF07", "PF08"} <= {answer.check for answer in failed}
    assert all(answer.fix for answer in failed)
