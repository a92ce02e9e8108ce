from collections.abc import Mapping
from typing import Any

import pytest

from slipway.check.preflight.answer import Answer
from tests.check.preflight.aws import Aws, Refusal
from tests.check.preflight.conftest import Ask, NeedsFactory


def trn1(answers: list[Answer]) -> Answer:
    (answer,) = [answer for answer in answers if "trn1.32xlarge" in answer.subject]
    return answer


def test_a_launch_that_would_succeed_passes(needs_of: NeedsFactory, aws: Aws, ask: Ask) -> None:
    """moto answers a DryRun as EC2 does, and launches nothing."""
    answers = ask("PF19", needs_of("default"), aws)
    assert {answer.status for answer in answers} == {"passed"}
    assert len(answers) == 4
    asked: list[Mapping[str, Any]] = [call.parameters for call in aws.calls if call.operation == "RunInstances"]
    assert all(call["DryRun"] is True for call in asked)
    assert all(call["BlockDeviceMappings"][0]["Ebs"]["Encrypted"] for call in asked)
    tags = [{"Key": "slipway:environment", "Value": "default"}]
    assert asked[0]["TagSpecifications"] == [
        {"ResourceType": "instance", "Tags": tags},
        {"ResourceType": "volume", "Tags": tags},
    ]


_NO_ALLOWANCE = "because no service control policy allows the ec2:RunInstances action"
_DENIAL = "with an explicit deny in a service control policy: arn:aws:organizations::999999999999:policy/o-x/p-y"


@pytest.mark.parametrize("reason", [_DENIAL, _NO_ALLOWANCE])
@pytest.mark.parametrize(
    "judged", [("instance/*", "failed"), ("volume/*", "failed"), ("network-interface/*", "warning")]
)
def test_what_the_organization_forbids_fails_where_nodes_are_alike(
    judged: tuple[str, str], reason: str, needs_of: NeedsFactory, aws: Aws, ask: Ask
) -> None:
    resource, status = judged
    message = (
        "You are not authorized to perform this operation. User: arn:aws:iam::123456789012:user/deployer is not "
        f"authorized to perform: ec2:RunInstances on resource: arn:aws:ec2:us-west-2:123456789012:{resource} {reason}. "
        "Encoded authorization failure message: abc"
    )
    aws.replies["ec2.RunInstances"] = Refusal("UnauthorizedOperation", message)
    answer = trn1(ask("PF19", needs_of("default"), aws))
    assert answer.status == status
    assert "the organization forbids it" in answer.message
    assert ("default VPC" in answer.message) == (status == "warning")
    assert answer.fix is not None
    assert "aws sts decode-authorization-message --encoded-message" in answer.fix


@pytest.mark.parametrize(
    ("code", "message"),
    [
        ("UnauthorizedOperation", "the caller's own policies forbid a launch"),
        ("VPCIdNotSpecified", "no default VPC to try a launch in (VPCIdNotSpecified)"),
        ("RequestLimitExceeded", "EC2 does not say"),
    ],
)
def test_what_cannot_be_told_is_not_checked(
    code: str, message: str, needs_of: NeedsFactory, aws: Aws, ask: Ask
) -> None:
    aws.replies["ec2.RunInstances"] = Refusal(code)
    answer = trn1(ask("PF19", needs_of("default"), aws))
    assert answer.status == "not_checked"
    assert message in answer.message
    assert answer.fix is not None
