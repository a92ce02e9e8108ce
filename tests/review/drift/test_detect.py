"""What was changed by hand: found in every stack, ranked by harm, and what could not be compared is said."""

from typing import Any

import pytest

from slipway.review.drift.detect import LONGEST_SECONDS, read_drift
from slipway.review.drift.model import Drift
from tests.review.drift.account import Changed, Stacks, stack_id

GROUP = {"GroupDescription": "hosts", "SecurityGroupIngress": [], "VpcId": "vpc-0a"}
OPEN = {"IpProtocol": "tcp", "FromPort": 22, "ToPort": 22, "CidrIp": "0.0.0.0/0"}
TAGGED = {"Tags": [{"Key": "slipway:environment", "Value": "default"}]}
ENCRYPTED: dict[str, Any] = {
    "BucketEncryption": {"ServerSideEncryptionConfiguration": [{"ServerSideEncryptionByDefault": {}}]}
}
READS = {"PolicyDocument": {"Statement": [{"Effect": "Allow", "Action": "s3:GetObject", "Resource": "*"}]}}
WRITES = {"PolicyDocument": {"Statement": [{"Effect": "Allow", "Action": "s3:*", "Resource": "*"}]}}

CHANGES = (
    Changed("training", "Tagged", "AWS::SNS::Topic", TAGGED, {}),
    Changed("training", "Slower", "AWS::Lambda::Function", {"Timeout": 60}, {"Timeout": 61}),
    Changed("training", "Gone", "AWS::SNS::Topic", {}, None),
    Changed("storage", "Plain", "AWS::S3::Bucket", ENCRYPTED, {}),
    Changed("storage", "Policy", "AWS::IAM::ManagedPolicy", READS, WRITES),
    Changed("network", "Group", "AWS::EC2::SecurityGroup", GROUP, {**GROUP, "SecurityGroupIngress": [OPEN]}),
    Changed("storage", "Lustre", "AWS::FSx::FileSystem", {"StorageCapacity": 1200}, None),
)


def found(stacks: Stacks, *names: str) -> tuple[Drift, list[float]]:
    waited: list[float] = []
    drift = read_drift(stacks.aws().account(), map(stack_id, names), waited.append)
    return drift, waited


def test_the_most_harmful_comes_first() -> None:
    drift, _ = found(Stacks(CHANGES), "network", "storage", "training")

    names = [one.logical_id for one in drift.resources]
    assert names[:2] == ["Lustre", "Group"]
    assert set(names[2:4]) == {"Policy", "Plain"}
    assert names[4:] == ["Gone", "Slower", "Tagged"]
    assert drift.not_compared == ()


def test_it_says_what_a_change_lets_somebody_do() -> None:
    drift, _ = found(Stacks(CHANGES), "network", "storage", "training")
    by_name = {one.logical_id: one for one in drift.resources}

    assert by_name["Lustre"].loses_data
    assert not by_name["Gone"].loses_data
    assert [one.harm for one in by_name["Group"].wider] == ["public"]
    assert "0.0.0.0/0" in by_name["Group"].wider[0].what
    assert by_name["Policy"].wider
    assert by_name["Plain"].wider
    assert by_name["Slower"].properties[0].model_dump() == {"path": "Timeout", "deployed": "60", "actual": "61"}
    tags = by_name["Tagged"].properties[0]
    assert (tags.deployed, tags.actual) == (TAGGED["Tags"], None)


def test_nested_stacks_are_compared() -> None:
    inner = Changed("provider", "Function", "AWS::Lambda::Function", {"Timeout": 60}, None)

    drift, _ = found(Stacks([inner], nested={"training": "provider"}), "training")

    assert drift.stacks == ("training", "provider")
    assert [one.stack for one in drift.resources] == ["provider"]


def test_every_page_is_read() -> None:
    many = [Changed("storage", f"Topic{number}", "AWS::SNS::Topic", {}, None) for number in range(25)]

    drift, _ = found(Stacks(many, page=10), "storage")

    assert len(drift.resources) == 25


def test_it_waits_for_the_end_and_not_for_ever() -> None:
    _, waited = found(Stacks(looks=3), "storage", "training")
    drift, waited_longer = found(Stacks(looks=10_000), "storage")

    assert len(waited) == 2
    assert sum(waited_longer) == LONGEST_SECONDS
    assert drift.not_compared == (f"storage: CloudFormation took more than {LONGEST_SECONDS} s",)


def test_an_interrupt_ends_the_wait() -> None:
    drift = read_drift(Stacks(looks=10_000).aws().account(), [stack_id("storage")], lambda _: True)

    assert drift.resources == ()


@pytest.mark.parametrize(
    ("stacks", "reason"),
    [
        (Stacks(CHANGES, refused=["storage"]), "storage: AWS: An error occurred (ValidationError)"),
        (Stacks(CHANGES, failed=["storage"]), "storage: Failed to read Bucket"),
    ],
)
def test_what_cannot_be_compared_is_said_beside_the_rest(stacks: Stacks, reason: str) -> None:
    drift, _ = found(stacks, "storage", "network")

    (sentence,) = drift.not_compared
    assert sentence.startswith(reason)
    assert "Group" in [one.logical_id for one in drift.resources]
