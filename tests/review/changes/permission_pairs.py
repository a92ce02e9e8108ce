"""Edits of policies and security groups."""

from typing import Any

from tests.review.changes.pairs import Pair, Templates

GROUP = "AWS::EC2::SecurityGroup"
POLICY = "AWS::IAM::ManagedPolicy"
NODES = "whoever has policy NodePolicy2A54148E"
HOSTS = "ModelsTanuki8bServiceHostsRole0F030802"


def _statements(templates: Templates) -> Any:
    return templates.properties("storage", POLICY)["PolicyDocument"]["Statement"]


def _any_action(templates: Templates) -> None:
    for row in _statements(templates):
        if row["Action"] == "s3:GetObject":
            row["Action"] = "s3:*"


def _any_resource(templates: Templates) -> None:
    for row in _statements(templates):
        if row["Action"] == "s3:GetObject":
            row["Resource"] = "*"


def _fewer_actions(templates: Templates) -> None:
    for row in _statements(templates):
        if isinstance(row["Action"], list):
            row["Action"] = row["Action"][:1]


def _split_and_turned(templates: Templates) -> None:
    document = templates.properties("storage", POLICY)["PolicyDocument"]
    document["Statement"] = [
        {**row, "Action": action}
        for row in reversed(document["Statement"])
        for action in (row["Action"] if isinstance(row["Action"], list) else [row["Action"]])
    ]


def _with_condition(templates: Templates) -> None:
    for row in _statements(templates):
        row["Condition"] = {"StringEquals": {"aws:PrincipalOrgID": "o-example"}}


def _other_condition(templates: Templates) -> None:
    for row in _statements(templates)[1:2]:
        row["Condition"] = {"StringEquals": {"aws:PrincipalOrgID": ["o-example", "o-other"]}}


def _trust(templates: Templates) -> None:
    templates.resources("inference")[HOSTS]["Properties"]["AssumeRolePolicyDocument"]["Statement"].append(
        {"Action": "sts:AssumeRole", "Effect": "Allow", "Principal": {"AWS": "arn:aws:iam::111122223333:root"}}
    )


def _attached(templates: Templates) -> None:
    templates.resources("inference")[HOSTS]["Properties"]["ManagedPolicyArns"].append(
        "arn:aws:iam::aws:policy/AmazonS3FullAccess"
    )


def _moved(templates: Templates) -> None:
    resources = templates.resources("inference")
    policy = resources["ModelsTanuki8bServiceHostsRoleDefaultPolicy6AF98362"]["Properties"]
    resources[HOSTS]["Properties"]["Policies"] = [
        {"PolicyName": "moved", "PolicyDocument": {"Statement": [policy["PolicyDocument"]["Statement"].pop(0)]}}
    ]


def _public_bucket(templates: Templates) -> None:
    templates.properties("storage", "AWS::S3::BucketPolicy")["PolicyDocument"]["Statement"].append(
        {"Action": "s3:GetObject", "Effect": "Allow", "Principal": "*", "Resource": "arn:aws:s3:::public/*"}
    )


def _plain_http(templates: Templates) -> None:
    document = templates.properties("storage", "AWS::S3::BucketPolicy")["PolicyDocument"]
    document["Statement"] = [row for row in document["Statement"] if row["Effect"] != "Deny"]


def _permission(templates: Templates) -> None:
    templates.resources("network")["Permission"] = {
        "Type": "AWS::Lambda::Permission",
        "Properties": {
            "Action": "lambda:InvokeFunction",
            "FunctionName": "watch",
            "Principal": "sns.amazonaws.com",
            "SourceAccount": "111122223333",
        },
    }


def _ingress(templates: Templates) -> Any:
    return templates.properties("inference", GROUP)["SecurityGroupIngress"][0]


def _open_group(templates: Templates) -> None:
    _ingress(templates)["CidrIp"] = "0.0.0.0/0"


def _wide_group(templates: Templates) -> None:
    _ingress(templates)["CidrIp"] = "10.0.0.0/8"


def _narrow_group(templates: Templates) -> None:
    _ingress(templates)["CidrIp"] = "10.1.2.0/24"


def _more_ports(templates: Templates) -> None:
    _ingress(templates)["ToPort"] = 443


def _no_egress(templates: Templates) -> None:
    del templates.properties("training", GROUP)["SecurityGroupEgress"]


GROUP_UPDATED = ("update inference EC2::SecurityGroup",)
POLICY_UPDATED = ("update storage IAM::ManagedPolicy",)
BUCKET_POLICY_UPDATED = ("update storage S3::BucketPolicy",)

PAIRS = (
    Pair(
        "any action on the data",
        "default",
        _any_action,
        own=POLICY_UPDATED,
        broader=(f"iam: Allow s3:* on Data2D4B752F/*, Models7F217E31/* for {NODES}",),
    ),
    Pair(
        "reading anything",
        "default",
        _any_resource,
        own=POLICY_UPDATED,
        broader=(f"iam: Allow s3:GetObject on * for {NODES}",),
    ),
    Pair("fewer actions", "default", _fewer_actions, own=POLICY_UPDATED),
    Pair("statements split and in another order", "default", _split_and_turned, own=POLICY_UPDATED),
    Pair("a condition comes", "default", _with_condition, own=POLICY_UPDATED),
    Pair(
        "a condition lets more through",
        "default",
        _other_condition,
        own=POLICY_UPDATED,
        broader=(
            f"iam: Allow s3:GetObject on Data2D4B752F/*, Models7F217E31/* for {NODES}, "
            "if aws:PrincipalOrgID StringEquals o-example, o-other",
        ),
        prepare=_with_condition,
    ),
    Pair(
        "a role trusts another account",
        "default",
        _trust,
        own=("update inference IAM::Role",),
        broader=(f"iam: Allow sts:AssumeRole on {HOSTS} for AWS arn:aws:iam::111122223333:root",),
    ),
    Pair(
        "a role has another policy",
        "default",
        _attached,
        own=("update inference IAM::Role",),
        broader=(f"iam: Allow all of policy arn:aws:iam::aws:policy/AmazonS3FullAccess for role {HOSTS}",),
    ),
    Pair(
        "a statement moves into the role",
        "default",
        _moved,
        own=("update inference IAM::Policy", "update inference IAM::Role"),
    ),
    Pair(
        "a bucket for everyone",
        "default",
        _public_bucket,
        own=BUCKET_POLICY_UPDATED,
        broader=("iam: Allow s3:GetObject on arn:aws:s3:::public/* for anyone",),
    ),
    Pair(
        "a bucket without TLS",
        "default",
        _plain_http,
        own=BUCKET_POLICY_UPDATED,
        broader=(
            "iam: No longer deny s3:* on Data2D4B752F, Data2D4B752F/* for anyone, if aws:SecureTransport Bool false",
            "iam: No longer deny s3:* on Data2D4B752F, Data2D4B752F/* for anyone, if s3:TlsVersion NumericLessThan 1.2",
        ),
    ),
    Pair(
        "a function for a service",
        "default",
        _permission,
        own=("add network Lambda::Permission",),
        broader=("iam: Allow lambda:InvokeFunction on watch for sns.amazonaws.com, if SourceAccount is 111122223333",),
    ),
    Pair(
        "an endpoint for everyone",
        "default",
        _open_group,
        own=GROUP_UPDATED,
        broader=("security_group: tcp 80 from 0.0.0.0/0 to EndpointSecurityGroup3A4D971B",),
    ),
    Pair(
        "an endpoint for more",
        "default",
        _wide_group,
        own=GROUP_UPDATED,
        broader=("security_group: tcp 80 from 10.0.0.0/8 to EndpointSecurityGroup3A4D971B",),
        prepare=_narrow_group,
    ),
    Pair("an endpoint for fewer", "default", _narrow_group, own=GROUP_UPDATED, prepare=_wide_group),
    Pair(
        "more ports",
        "default",
        _more_ports,
        own=GROUP_UPDATED,
        broader=("security_group: tcp 80-443 from NetworkVpc7FB7348F to EndpointSecurityGroup3A4D971B",),
    ),
    Pair(
        "a group lets out everything",
        "default",
        _no_egress,
        own=("update training EC2::SecurityGroup",),
        broader=("security_group: Everything from NodeImagesSecurityGroup890F341A to 0.0.0.0/0",),
    ),
)
