"""What is there already, as AWS describes it: right, wrong, and missing."""

import json
import re
from dataclasses import replace
from typing import Any

import pytest

from slipway.check.preflight.answer import Answer
from slipway.check.preflight.check import CHECKS
from slipway.check.preflight.checks import customer_key
from slipway.check.preflight.needs import Needs
from slipway_emulator.existing_storage import KEY_STATEMENTS
from tests.assembly import PROJECT
from tests.check.preflight.aws import Aws, Refusal
from tests.check.preflight.conftest import Ask, NeedsFactory
from tests.check.preflight.test_every_check import action

ROLE = "arn:aws:iam::123456789012:role"
READER = "arn:aws:iam::444455556666:role/model-promoter"
KEY = "arn:aws:kms:us-west-2:123456789012:key/0a1b2c3d-1111-4000-8000-000000000001"
LUSTRE = {
    "FileSystemId": "fs-0a1b2c3d4e5f60001",
    "FileSystemType": "LUSTRE",
    "Lifecycle": "AVAILABLE",
    "StorageCapacity": 9600,
    "SubnetIds": ["subnet-0a1b2c3d4e5f60001"],
    "LustreConfiguration": {"MountName": "abcdefgh", "PerUnitStorageThroughput": 200},
}
METADATA = {
    "KeyId": KEY,
    "KeyState": "Enabled",
    "KeyManager": "CUSTOMER",
    "KeyUsage": "ENCRYPT_DECRYPT",
    "KeySpec": "SYMMETRIC_DEFAULT",
}
USERS: dict[str, dict[str, Any]] = {
    "roles by their own policies": {"Principal": {"AWS": "arn:aws:iam::123456789012:root"}},
    "CloudWatch Logs": {"Principal": {"Service": "logs.us-west-2.amazonaws.com"}},
    "CloudWatch alarms": {"Principal": {"Service": "cloudwatch.amazonaws.com"}},
    "AWS CloudTrail": {"Principal": {"Service": "cloudtrail.amazonaws.com"}},
    "EC2 Auto Scaling": {
        "Principal": {
            "AWS": f"{ROLE}/aws-service-role/autoscaling.amazonaws.com/AWSServiceRoleForAutoScaling",
        }
    },
    "ParallelCluster's nodes": {
        "Principal": {"AWS": "*"},
        "Condition": {"ArnLike": {"aws:PrincipalArn": "arn:aws:iam::123456789012:role/parallelcluster/*"}},
    },
    "ParallelCluster's provider": {
        "Principal": {"AWS": "*"},
        "Condition": {"ArnLike": {"aws:PrincipalArn": "arn:aws:iam::123456789012:role/slipway-*"}},
    },
}
SAFE = {
    "Statement": [
        {"Effect": "Deny", "Condition": {"Bool": {"aws:SecureTransport": "false"}}},
        {"Effect": "Deny", "Condition": {"Null": {"s3:if-none-match": "true"}}},
    ]
}


def key_policy(*without: str) -> dict[str, str]:
    """The answer of kms.GetKeyPolicy, without some of the users."""
    rows = [{"Effect": "Allow", "Action": "kms:*", **row} for who, row in USERS.items() if who not in without]
    return {"Policy": json.dumps({"Statement": rows})}


@pytest.fixture
def well(aws: Aws) -> Aws:
    """An account in which all is as the environment file says."""
    aws.replies |= {
        "fsx.DescribeFileSystems": {"FileSystems": [LUSTRE]},
        "fsx.DescribeVolumes": {"Volumes": [{"FileSystemId": "fs-0a1b2c3d4e5f60003"}]},
        "fsx.DescribeDataRepositoryAssociations": {
            "Associations": [
                {"FileSystemPath": path, "DataRepositoryPath": f"s3://example{path}"}
                for path in ("/data", "/checkpoints")
            ]
        },
        "efs.DescribeMountTargets": {
            "MountTargets": [
                {
                    "MountTargetId": "fsmt-0a1b2c3d4e5f60001",
                    "FileSystemId": "fs-0a1b2c3d4e5f60002",
                    "SubnetId": "subnet-0a1b2c3d4e5f60001",
                    "LifeCycleState": "available",
                    "AvailabilityZoneId": "usw2-az4",
                }
            ]
        },
        "ec2.DescribeSubnets": {
            "Subnets": [{"SubnetId": "subnet-0a1b2c3d4e5f60001", "AvailabilityZoneId": "usw2-az4"}]
        },
        "ec2.DescribeSecurityGroups": {"SecurityGroups": []},
        "ec2.GetEbsDefaultKmsKeyId": {"KmsKeyId": KEY},
        "kms.DescribeKey": {"KeyMetadata": METADATA},
        "kms.GetKeyPolicy": key_policy(),
        "s3.HeadBucket": {"BucketRegion": "us-west-2"},
        "s3.GetBucketEncryption": encrypted({"SSEAlgorithm": "aws:kms", "KMSMasterKeyID": KEY}),
        "s3.GetBucketVersioning": {"Status": "Enabled"},
        "s3.GetPublicAccessBlock": {
            "PublicAccessBlockConfiguration": {
                "BlockPublicAcls": True,
                "IgnorePublicAcls": True,
                "BlockPublicPolicy": True,
                "RestrictPublicBuckets": True,
            }
        },
        "s3.GetBucketPolicy": {"Policy": json.dumps(SAFE)},
        "s3.GetBucketNotificationConfiguration": {"EventBridgeConfiguration": {}},
    }
    return aws


def encrypted(default: dict[str, str]) -> dict[str, Any]:
    """The answer of s3.GetBucketEncryption."""
    return {"ServerSideEncryptionConfiguration": {"Rules": [{"ApplyServerSideEncryptionByDefault": default}]}}


@pytest.fixture
def needs(needs_of: NeedsFactory) -> Needs:
    """The needs of the environment with existing file systems, buckets and key."""
    return needs_of("existing")


def not_passed(answers: list[Answer]) -> list[tuple[str, str, str]]:
    """Status, subject and message of all that is not well."""
    return [(row.status, row.subject, row.message) for row in answers if row.status != "passed"]


@pytest.mark.parametrize("check", ["PF25", "PF26", "PF27"])
def test_what_is_as_the_file_says_passes(check: str, needs: Needs, well: Aws, ask: Ask) -> None:
    answers = ask(check, needs, well)

    assert answers
    assert not_passed(answers) == []
    assert {action(call) for call in well.calls} == set(CHECKS[check].actions)


def documented_policies() -> list[Any]:
    page = (PROJECT / "docs" / "existing-resources.md").read_text(encoding="utf-8")
    blocks: list[str] = re.findall(r"```json\n(.*?)```", page, re.DOTALL)
    return [json.loads(block.replace("111122223333", "123456789012")) for block in blocks]


def test_the_key_of_a_rehearsal_has_the_documented_statements_for_roles() -> None:
    _, of_key, _ = documented_policies()

    assert [statement for statement in KEY_STATEMENTS if statement not in of_key] == []


def test_the_documented_policies_are_what_it_asks_for(needs: Needs, well: Aws, ask: Ask) -> None:
    """With the statement about plain HTTP, which the page describes in words."""
    of_bucket, of_key, of_readers = documented_policies()
    well.replies["s3.GetBucketPolicy"] = {"Policy": json.dumps({"Statement": [*of_bucket, SAFE["Statement"][0]]})}
    well.replies["kms.GetKeyPolicy"] = {"Policy": json.dumps({"Statement": [*of_key, of_readers]})}

    assert not_passed(ask("PF26", needs, well) + ask("PF27", with_reader(needs), well)) == []


def with_reader(needs: Needs) -> Needs:
    """Return the needs with a model bucket of Slipway's own that a role of another account reads."""
    allowed = {"Effect": "Allow", "Principal": {"AWS": READER}, "Action": "s3:GetObject", "Resource": "*"}
    secure = {"Effect": "Deny", "Principal": {"AWS": "*"}, "Action": "s3:*", "Resource": "*"}
    policy = {"Type": "AWS::S3::BucketPolicy", "Properties": {"PolicyDocument": {"Statement": [secure, allowed]}}}
    stack, *others = needs.stacks
    template = {**stack.template, "Resources": {**stack.template["Resources"], "ModelsPolicy": policy}}
    return replace(needs, stacks=(replace(stack, template=template), *others))


def test_a_reader_in_another_account_needs_a_statement_in_the_key_policy(needs: Needs, well: Aws, ask: Ask) -> None:
    (found,) = (row for row in ask("PF27", with_reader(needs), well) if row.status != "passed")

    assert (found.status, found.subject) == ("failed", f"key policy, {READER}")
    assert found.message.startswith(f"no statement allows {READER}")
    assert found.fix


@pytest.mark.parametrize("named", [READER, "arn:aws:iam::444455556666:root"])
def test_the_key_policy_names_the_reader_or_its_account(named: str, needs: Needs, well: Aws, ask: Ask) -> None:
    rows = json.loads(key_policy()["Policy"])["Statement"]
    rows.append({"Effect": "Allow", "Action": "kms:Decrypt", "Principal": {"AWS": named}})
    well.replies["kms.GetKeyPolicy"] = {"Policy": json.dumps({"Statement": rows})}

    assert not_passed(ask("PF27", with_reader(needs), well)) == []


def test_the_readers_are_those_of_the_template(needs_of: NeedsFactory) -> None:
    assert [user.principal for user in customer_key._readers(needs_of("directory"))] == [READER]


@pytest.mark.parametrize("check", ["PF25", "PF26", "PF27"])
def test_an_environment_with_everything_of_its_own_asks_nothing(
    check: str, needs_of: NeedsFactory, well: Aws, ask: Ask
) -> None:
    assert ask(check, needs_of("default"), well) == []
    assert not well.calls


@pytest.mark.parametrize(
    ("check", "operation", "reply", "status", "said"),
    [
        ("PF25", "fsx.DescribeFileSystems", Refusal("FileSystemNotFound"), "failed", "has none with this id"),
        (
            "PF25",
            "fsx.DescribeFileSystems",
            {"FileSystems": [{**LUSTRE, "StorageCapacity": 4800}]},
            "failed",
            "capacity_gib is 4800, not 9600",
        ),
        (
            "PF25",
            "fsx.DescribeFileSystems",
            {"FileSystems": [{**LUSTRE, "LustreConfiguration": {"MountName": "other"}}]},
            "failed",
            "mount_name is other, not abcdefgh",
        ),
        ("PF25", "fsx.DescribeFileSystems", {"FileSystems": [{**LUSTRE, "Lifecycle": "FAILED"}]}, "failed", "FAILED"),
        (
            "PF25",
            "ec2.DescribeSubnets",
            {"Subnets": [{"SubnetId": "subnet-0a1b2c3d4e5f60001", "AvailabilityZoneId": "usw2-az1"}]},
            "failed",
            "it is in usw2-az1, and the training zone is usw2-az4",
        ),
        ("PF25", "efs.DescribeMountTargets", {"MountTargets": []}, "failed", "mount targets in no zone"),
        ("PF25", "ec2.DescribeSecurityGroups", Refusal("InvalidGroup.NotFound"), "failed", "has none with this id"),
        ("PF25", "fsx.DescribeDataRepositoryAssociations", {"Associations": []}, "warning", "is nowhere else"),
        ("PF26", "s3.HeadBucket", Refusal("404"), "failed", "there is no bucket of this name"),
        ("PF26", "s3.HeadBucket", {"BucketRegion": "eu-north-1"}, "failed", "it is in eu-north-1"),
        (
            "PF26",
            "s3.GetBucketEncryption",
            encrypted({"SSEAlgorithm": "aws:kms", "KMSMasterKeyID": "arn:aws:kms:us-west-2:123456789012:key/other"}),
            "failed",
            "key/other, which is not `kms.key_arn`",
        ),
        ("PF26", "s3.GetBucketVersioning", {}, "warning", "versioning is off"),
        ("PF26", "s3.GetPublicAccessBlock", Refusal("NoSuchPublicAccessBlockConfiguration"), "warning", "is off"),
        ("PF26", "s3.GetBucketPolicy", Refusal("NoSuchBucketPolicy"), "warning", "no statement denies plain HTTP"),
        (
            "PF26",
            "s3.GetBucketPolicy",
            {"Policy": json.dumps({"Statement": SAFE["Statement"][:1]})},
            "warning",
            "no statement denies that a job overwrites a published version",
        ),
        ("PF26", "s3.GetBucketNotificationConfiguration", {}, "warning", "Amazon EventBridge gets no events"),
        ("PF27", "kms.DescribeKey", Refusal("NotFoundException"), "failed", "has no such key"),
        (
            "PF27",
            "kms.DescribeKey",
            {"KeyMetadata": {**METADATA, "KeyState": "PendingDeletion"}},
            "failed",
            "its KeyState is PendingDeletion, not Enabled",
        ),
        *(
            ("PF27", "kms.GetKeyPolicy", key_policy(who), "failed", "and a role's policy cannot replace it")
            for who in USERS
        ),
        ("PF27", "ec2.GetEbsDefaultKmsKeyId", {"KmsKeyId": "alias/aws/ebs"}, "warning", "it is alias/aws/ebs"),
    ],
)
def test_what_is_not_is_found_and_has_a_fix(
    *, check: str, operation: str, reply: Any, status: str, said: str, needs: Needs, well: Aws, ask: Ask
) -> None:
    well.replies[operation] = reply

    answers = ask(check, needs, well)

    found = not_passed(answers)
    assert found
    assert {row[0] for row in found} == {status}
    assert any(said in message for _, _, message in found), found
    assert all(row.fix for row in answers if row.status != "passed")
