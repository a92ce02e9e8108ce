"""PF27: the services and roles of the environment can use the customer-managed key."""

import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any

from botocore.exceptions import ClientError

from slipway.assembly.existing import KEY
from slipway.assembly.stacks import CLUSTER_TYPE
from slipway.aws.account import Account
from slipway.check.preflight.answer import Answer
from slipway.check.preflight.check import check
from slipway.check.preflight.needs import Needs

_Answer = partial(Answer, check="PF27")


@dataclass(frozen=True)
class _User:
    """A principal that needs a statement in the key's policy: a role's policy cannot give it access.

    Attributes:
        who: for people.
        principal: what the statement's principal or condition has in it.
        types: resource types with which it is needed.
        or_account: the account whose name allows it as well: its own policies then say who uses the key.
    """

    who: str
    principal: str
    types: Sequence[str]
    or_account: str | None = None


_USERS = (
    _User("roles by their own policies", ":root", ("AWS::IAM::ManagedPolicy", "AWS::IAM::Policy")),
    _User("CloudWatch Logs", "logs.{region}.amazonaws.com", ("AWS::Logs::LogGroup",)),
    _User("CloudWatch alarms", "cloudwatch.amazonaws.com", ("AWS::SNS::Topic",)),
    _User("AWS Budgets", "budgets.amazonaws.com", ("AWS::Budgets::Budget",)),
    _User("AWS CloudTrail", "cloudtrail.amazonaws.com", ("AWS::CloudTrail::Trail",)),
    _User(
        "EC2 Auto Scaling",
        "AWSServiceRoleForAutoScaling",
        ("AWS::AutoScaling::AutoScalingGroup", "AWS::EKS::Nodegroup"),
    ),
    _User("FSx for Lustre", "AWSServiceRoleForFSxS3Access", ("AWS::FSx::DataRepositoryAssociation",)),
    _User("ParallelCluster's nodes", "role/parallelcluster/", (CLUSTER_TYPE,)),
    _User("ParallelCluster's provider", "role/slipway-", (CLUSTER_TYPE,)),
)


@check(
    "PF27",
    "the customer-managed key",
    stage="existence",
    prevents="`AccessDenied` of KMS in the middle of a deployment, logs and alarms that say nothing.",
    actions=("ec2:GetEbsDefaultKmsKeyId", "kms:DescribeKey", "kms:GetKeyPolicy"),
)
def customer_key(needs: Needs, account: Account) -> Iterator[Answer]:
    """Look at the key, at its policy as far as that can be read, and at the default key of the nodes' root volumes."""
    for key in needs.existing(KEY):
        subject = f"KMS key {key.id}"
        try:
            found = account.client("kms").describe_key(KeyId=key.id)["KeyMetadata"]
        except ClientError as error:
            if error.response["Error"]["Code"] != "NotFoundException":
                raise
            message, fix = f"{needs.region} has no such key", "name the right key in `kms.key_arn`"
            yield _Answer(status="failed", subject=subject, message=message, fix=fix)
            continue
        problems = list(_unfit(found))
        if problems:
            fix = "name an enabled symmetric key of your own"
            yield _Answer(status="failed", subject=subject, message="; ".join(problems), fix=fix)
            continue
        yield _Answer(status="passed", subject=subject, message="it is enabled, symmetric and the account's own")
        policy = json.loads(account.client("kms").get_key_policy(KeyId=key.id, PolicyName="default")["Policy"])
        yield from _users(policy, needs)
        yield from _root_volumes(key.id, needs, account)


def _unfit(found: Mapping[str, Any]) -> Iterator[str]:
    wanted = {
        "KeyState": "Enabled",
        "KeyManager": "CUSTOMER",
        "KeyUsage": "ENCRYPT_DECRYPT",
        "KeySpec": "SYMMETRIC_DEFAULT",
    }
    yield from (f"its {name} is {found[name]}, not {value}" for name, value in wanted.items() if found[name] != value)


def _users(policy: Mapping[str, Any], needs: Needs) -> Iterator[Answer]:
    allowed = [json.dumps(row) for row in policy["Statement"] if row["Effect"] == "Allow"]
    needed = [user for user in _USERS if any(needs.resources(*user.types))]
    for user in (*needed, *_readers(needs)):
        principal = user.principal.format(region=needs.region)
        subject = f"key policy, {user.who}"
        names = (principal, user.or_account or principal)
        if any(name in statement for statement in allowed for name in names):
            yield _Answer(status="passed", subject=subject, message=f"a statement allows {principal}")
        else:
            message = f"no statement allows {principal}, and a role's policy cannot replace it"
            fix = "add the statement for it of `slipway docs existing-resources` to the key's policy"
            yield _Answer(status="failed", subject=subject, message=message, fix=fix)


def _readers(needs: Needs) -> Iterator[_User]:
    """Yield the roles of other accounts that a bucket's policy lets read objects (`storage.model_readers`)."""
    for _, _, properties in needs.resources("AWS::S3::BucketPolicy"):
        for statement in properties["PolicyDocument"]["Statement"]:
            principal = statement["Principal"]
            named = principal.get("AWS", ()) if isinstance(principal, dict) else ()
            for role in [named] if isinstance(named, str) else named:
                if statement["Effect"] == "Allow" and statement["Action"] == "s3:GetObject" and ":role/" in role:
                    # KMS developer guide, "Allowing users in other accounts to use a KMS key": the key's policy names
                    # the role or its account, and the role's own policy allows the same.
                    yield _User(role, role, (), or_account=f"arn:aws:iam::{role.split(':')[4]}:root")


def _root_volumes(key: str, needs: Needs, account: Account) -> Iterator[Answer]:
    """ParallelCluster takes no key for root volumes: they have the account's default one."""
    if not needs.slurm_clusters:
        return
    default = account.client("ec2").get_ebs_default_kms_key_id()["KmsKeyId"]
    if default in {key, key.rpartition("/")[2]}:
        yield _Answer(status="passed", subject="default key of EBS", message="the nodes' root volumes have the key")
        return
    yield _Answer(
        status="warning",
        subject="default key of EBS",
        message=f"it is {default}; the cluster nodes' root volumes have it, for ParallelCluster takes no key for them",
        fix=f"to use the key there, for all new volumes of the account in {needs.region}:\n"
        f"aws ec2 modify-ebs-default-kms-key-id --region {needs.region} --kms-key-id {key}",
    )
