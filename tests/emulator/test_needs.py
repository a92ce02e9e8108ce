"""What a call needs, against the rules that AWS's documentation gives for it."""

from collections.abc import Mapping, Sequence
from typing import Any

import pytest

from slipway_emulator.permissions.calls import Call
from slipway_emulator.permissions.needs import UnknownActionError, needs
from slipway_emulator.settings import ACCOUNT

REGION = "us-west-2"
ROLE = f"arn:aws:iam::{ACCOUNT}:role/jobs"


def of(operation: str, **parameters: Any) -> dict[tuple[str, str | None], Mapping[str, Sequence[str]]]:
    service, _, name = operation.partition(":")
    found = list(needs(Call("key", REGION, service, name, parameters)))
    return {(need.action, need.resource): need.keys for need in found}


def regional(service: str, name: str) -> str:
    return f"arn:aws:{service}:{REGION}:{ACCOUNT}:{name}"


# Operation, parameters, and what it needs. Sources: each service's page of the Service Authorization Reference; S3 User
# Guide, "Required permissions for Amazon S3 API operations"; Lambda API reference, FunctionCode.
NEEDS: list[tuple[str, dict[str, Any], set[tuple[str, str | None]]]] = [
    ("sts:GetCallerIdentity", {}, set()),
    ("sts:AssumeRole", {"RoleArn": ROLE, "RoleSessionName": "a"}, {("sts:AssumeRole", ROLE)}),
    ("iam:GetRole", {"RoleName": "jobs"}, {("iam:GetRole", ROLE)}),
    (
        "iam:CreateRole",
        {"RoleName": "jobs", "Path": "/parallelcluster/"},
        {("iam:CreateRole", f"arn:aws:iam::{ACCOUNT}:role/parallelcluster/jobs")},
    ),
    (
        "iam:AddRoleToInstanceProfile",
        {"InstanceProfileName": "p", "RoleName": "jobs"},
        {
            ("iam:AddRoleToInstanceProfile", f"arn:aws:iam::{ACCOUNT}:instance-profile/p"),
            ("iam:PassRole", ROLE),
        },
    ),
    ("s3:HeadObject", {"Bucket": "b", "Key": "a/c"}, {("s3:GetObject", "arn:aws:s3:::b/a/c")}),
    ("s3:ListObjectsV2", {"Bucket": "b", "Prefix": "a/"}, {("s3:ListBucket", "arn:aws:s3:::b")}),
    ("s3:ListBuckets", {}, {("s3:ListAllMyBuckets", "*")}),
    ("s3:UploadPart", {"Bucket": "b", "Key": "k"}, {("s3:PutObject", "arn:aws:s3:::b/k")}),
    (
        "s3:CopyObject",
        {"Bucket": "b", "Key": "k", "CopySource": "other/x"},
        {("s3:GetObject", "arn:aws:s3:::other/x"), ("s3:PutObject", "arn:aws:s3:::b/k")},
    ),
    (
        "s3:DeleteObjects",
        {"Bucket": "b", "Delete": {"Objects": [{"Key": "x"}, {"Key": "y", "VersionId": "1"}]}},
        {("s3:DeleteObject", "arn:aws:s3:::b/x"), ("s3:DeleteObjectVersion", "arn:aws:s3:::b/y")},
    ),
    (
        "lambda:CreateFunction",
        {"FunctionName": "f", "Role": ROLE, "Code": {"S3Bucket": "assets", "S3Key": "code.zip"}},
        {
            ("lambda:CreateFunction", regional("lambda", "function:f")),
            ("s3:GetObject", "arn:aws:s3:::assets/code.zip"),
            ("iam:PassRole", ROLE),
        },
    ),
    ("ec2:DescribeVpcs", {}, {("ec2:DescribeVpcs", "*")}),
    (
        "ec2:TerminateInstances",
        {"InstanceIds": ["i-1", "i-2"]},
        {("ec2:TerminateInstances", regional("ec2", f"instance/{name}")) for name in ("i-1", "i-2")},
    ),
    ("ssm:GetParameter", {"Name": "/a/b"}, {("ssm:GetParameter", regional("ssm", "parameter/a/b"))}),
    ("ssm:GetParameters", {"Names": ["/a"]}, {("ssm:GetParameters", regional("ssm", "parameter/a"))}),
    (
        "route53:ListResourceRecordSets",
        {"HostedZoneId": "Z1"},
        {("route53:ListResourceRecordSets", "arn:aws:route53:::hostedzone/Z1")},
    ),
    (
        "budgets:CreateBudget",
        {"AccountId": ACCOUNT, "Budget": {"BudgetName": "b"}},
        {("budgets:ModifyBudget", f"arn:aws:budgets::{ACCOUNT}:budget/b")},
    ),
    (
        "cloudformation:CreateStack",
        {"StackName": "slipway-a", "RoleARN": ROLE},
        {("cloudformation:CreateStack", regional("cloudformation", "stack/slipway-a/*")), ("iam:PassRole", ROLE)},
    ),
    (
        "secretsmanager:GetSecretValue",
        {"SecretId": regional("secretsmanager", "secret:key-AbCdEf")},
        {("secretsmanager:GetSecretValue", regional("secretsmanager", "secret:key-AbCdEf"))},
    ),
    ("eks:DescribeCluster", {"name": "c"}, {("eks:DescribeCluster", regional("eks", "cluster/c"))}),
]


@pytest.mark.parametrize(("operation", "parameters", "expected"), NEEDS, ids=[row[0] for row in NEEDS])
def test_a_call_needs_its_actions_on_what_it_names(
    operation: str, parameters: dict[str, Any], expected: set[tuple[str, str | None]]
) -> None:
    assert set(of(operation, **parameters)) == expected


def test_condition_keys_are_those_that_aws_sends() -> None:
    tags = [{"Key": "team", "Value": "red"}]
    [keys] = of("iam:CreateRole", RoleName="jobs", PermissionsBoundary="arn:aws:iam::aws:policy/A", Tags=tags).values()

    assert keys["iam:permissionsboundary"] == ["arn:aws:iam::aws:policy/A"]
    assert keys["aws:requesttag/team"] == ["red"]
    assert keys["aws:tagkeys"] == ["team"]
    assert keys["aws:requestedregion"] == ["us-east-1"]  # where IAM is
    assert of("s3:ListObjectsV2", Bucket="b", Prefix="a/")["s3:ListBucket", "arn:aws:s3:::b"]["s3:prefix"] == ["a/"]


@pytest.mark.parametrize(
    ("operation", "service"),
    [
        ("lambda:CreateFunction", "lambda.amazonaws.com"),
        ("ecs:RegisterTaskDefinition", "ecs-tasks.amazonaws.com"),
        ("ec2:CreateFlowLogs", "vpc-flow-logs.amazonaws.com"),
    ],
)
def test_a_role_is_passed_to_the_service_that_takes_it_on(operation: str, service: str) -> None:
    names = {"Role": ROLE, "executionRoleArn": ROLE, "DeliverLogsPermissionArn": ROLE}

    assert of(operation, **names)["iam:PassRole", ROLE]["iam:passedtoservice"] == [service]


@pytest.mark.parametrize(
    ("operation", "parameters", "message"),
    [
        ("s3:DoNothing", {}, "no action is known for s3:DoNothing"),
        ("firehose:CreateDeliveryStream", {"RoleARN": ROLE}, "firehose:CreateDeliveryStream names a role"),
    ],
)
def test_a_call_that_no_table_knows_is_an_error(operation: str, parameters: dict[str, Any], message: str) -> None:
    with pytest.raises(UnknownActionError, match=message):
        of(operation, **parameters)
