"""What the shipped environments have no policy for: exceptions, keys, endpoints and what limits them."""

from dataclasses import replace
from typing import Any

import pytest

from slipway.assembly.stacks import Stack
from slipway.review.changes.compare import compare

ROLE: dict[str, Any] = {
    "Type": "AWS::IAM::Role",
    "Properties": {
        "AssumeRolePolicyDocument": {"Statement": []},
        "PermissionsBoundary": "arn:aws:iam::aws:policy/Limit",
    },
}


def _stack(resources: dict[str, Any]) -> Stack:
    return Stack("one", "us-west-2", {"Resources": resources}, {}, termination_protection=True)


def _broader(before: dict[str, Any], after: dict[str, Any]) -> list[str]:
    return [row.what for row in compare((_stack(before),), (_stack(after),)).broadenings]


def _policy(**statement: Any) -> dict[str, Any]:
    document = {"Statement": [{"Effect": "Allow", "Resource": "*", **statement}]}
    return {
        "Role": ROLE,
        "Policy": {"Type": "AWS::IAM::Policy", "Properties": {"Roles": [{"Ref": "Role"}], "PolicyDocument": document}},
    }


def _with_policy(resource_type: str, name: str, *statements: dict[str, Any]) -> dict[str, Any]:
    return {"Type": resource_type, "Properties": {name: {"Statement": list(statements)}}}


@pytest.mark.parametrize(
    ("before", "after", "is_broader"),
    [
        ({"NotAction": ["iam:*"]}, {"NotAction": ["iam:CreateUser"]}, True),
        ({"NotAction": ["iam:*", "sts:*"]}, {"NotAction": ["iam:*"]}, True),
        ({"NotAction": ["iam:*"]}, {"Action": "iam:PassRole"}, True),
        ({"NotAction": ["iam:*"]}, {"Action": "*"}, True),
        ({"NotAction": ["iam:*"]}, {"Action": "s3:GetObject"}, False),
        ({"NotAction": ["iam:*"]}, {"NotAction": ["iam:*", "sts:*"]}, False),
        ({"NotAction": ["iam:CreateUser"]}, {"NotAction": ["iam:*"]}, False),
        ({"Action": "*"}, {"NotAction": ["iam:*"]}, False),
    ],
)
def test_exceptions_are_compared_by_what_they_leave_out(
    before: dict[str, Any], after: dict[str, Any], is_broader: bool
) -> None:
    assert bool(_broader(_policy(**before), _policy(**after))) is is_broader


@pytest.mark.parametrize(
    ("statement", "harm"),
    [
        ({"Action": "*"}, "full_access"),
        ({"Action": "s3:*"}, "permissions"),
        ({"Action": ["s3:GetObject", "*"]}, "full_access"),
    ],
)
def test_an_allowed_star_is_full_access(statement: dict[str, Any], harm: str) -> None:
    changes = compare((_stack(_policy(Action="sts:GetCallerIdentity")),), (_stack(_policy(**statement)),))

    assert [row.harm for row in changes.broadenings] == [harm]


def test_everything_in_the_policy_of_a_key_is_that_key() -> None:
    grant = {
        "Effect": "Allow",
        "Action": "kms:*",
        "Principal": {"AWS": "arn:aws:iam::111122223333:root"},
        "Resource": "*",
    }
    one = _with_policy("AWS::KMS::Key", "KeyPolicy", grant)
    before = {"One": one, "Other": _with_policy("AWS::KMS::Key", "KeyPolicy")}

    assert _broader(before, {"One": one, "Other": one}) == [
        "Allow kms:* on Other for AWS arn:aws:iam::111122223333:root"
    ]


def test_what_goes_through_an_endpoint_is_given_to_nobody() -> None:
    everything = {"Effect": "Allow", "Action": "*", "Principal": "*", "Resource": "*"}
    read = {"Effect": "Allow", "Action": "s3:GetObject", "Principal": "*", "Resource": "arn:aws:s3:::data/*"}
    endpoint = _with_policy("AWS::EC2::VPCEndpoint", "PolicyDocument", read)
    policy = _with_policy("AWS::S3::BucketPolicy", "PolicyDocument")
    open_policy = _with_policy("AWS::S3::BucketPolicy", "PolicyDocument", read)

    assert _broader({"Way": endpoint, "Policy": policy}, {"Way": endpoint, "Policy": open_policy}) == [
        "Allow s3:GetObject on arn:aws:s3:::data/* for anyone"
    ]
    assert _broader(
        {"Way": endpoint}, {"Way": _with_policy("AWS::EC2::VPCEndpoint", "PolicyDocument", everything)}
    ) == ["Allow * on * for anyone through Way"]
    assert _broader({"Way": endpoint}, {"Way": {"Type": "AWS::EC2::VPCEndpoint"}}) == [
        "Allow * on * for anyone through Way"
    ]


def test_a_denial_that_goes_is_told_for_what_stays() -> None:
    bucket = {"Type": "AWS::S3::Bucket"}
    deny = {"Effect": "Deny", "Action": "s3:*", "Principal": "*", "Resource": [{"Ref": "One"}, {"Ref": "Other"}]}
    before = {"One": bucket, "Other": bucket, "Policy": _with_policy("AWS::S3::BucketPolicy", "PolicyDocument", deny)}

    assert _broader(before, {"One": bucket}) == ["No longer deny s3:* on One for anyone"]


def test_a_role_without_its_boundary() -> None:
    properties = {name: value for name, value in ROLE["Properties"].items() if name != "PermissionsBoundary"}

    assert _broader({"Role": ROLE}, {"Role": {**ROLE, "Properties": properties}}) == [
        "No permissions boundary limits it"
    ]


def test_a_stack_that_can_be_deleted_is_a_change() -> None:
    stack = _stack({"Role": ROLE})

    changes = compare((stack,), (replace(stack, termination_protection=False),))

    assert [row.what for row in changes.broadenings] == ["The stack can be deleted (no termination protection)"]
    assert not changes.is_empty


def test_a_port_that_only_a_service_knows_is_no_range() -> None:
    def group(peer: str) -> dict[str, Any]:
        port = {"Fn::GetAtt": ["Database", "Endpoint.Port"]}
        rule = {"IpProtocol": "tcp", "FromPort": port, "ToPort": port, "CidrIp": peer, "GroupId": "sg-1"}
        return {"Rule": {"Type": "AWS::EC2::SecurityGroupIngress", "Properties": rule}}

    assert _broader(group("10.0.0.0/8"), group("10.1.0.0/16")) == []
    assert _broader(group("10.1.0.0/16"), group("10.0.0.0/8")) == [
        "tcp ${one/Database.Endpoint.Port} from 10.0.0.0/8 to sg-1"
    ]


@pytest.mark.parametrize(
    ("before", "after", "wider"),
    [
        (None, "127.0.0.1/32", []),
        ("192.0.2.7/32", "127.0.0.0/8", []),
        (None, "192.0.2.7/32", ["SSH to the head node from 192.0.2.7/32"]),
        ("127.0.0.1/32", "0.0.0.0/0", ["SSH to the head node from 0.0.0.0/0"]),
    ],
)
def test_a_range_of_the_loopback_opens_nothing(before: str | None, after: str, wider: list[str]) -> None:
    def cluster(allowed: str) -> dict[str, Any]:
        settings = {"HeadNode": {"Ssh": {"AllowedIps": allowed}}}
        return {"Cluster": {"Type": "Custom::PclusterCluster", "Properties": {"ClusterConfiguration": settings}}}

    assert _broader(cluster(before) if before else {}, cluster(after)) == wider
