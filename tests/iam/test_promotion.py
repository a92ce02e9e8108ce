"""A model from a training account to a serving one: who reads, who adds, and who can do neither."""

import json
import re
from collections.abc import Mapping, Sequence
from typing import Any

import pytest

from tests.assembly import PROJECT, Assembly
from tests.conftest import AssemblyFactory
from tests.iam.account import Account
from tests.iam.simulator import ACCOUNT, Decision, Document, Request, decide
from tests.iam.test_published_models import ANY_S3, CREATES, NEW, NODE, PART, bucket, bucket_policy

SERVING = "444455556666"
PROMOTER = f"arn:aws:iam::{SERVING}:role/model-promoter"
OTHER = f"arn:aws:iam::{SERVING}:role/somebody"


@pytest.fixture
def training(assemblies: AssemblyFactory) -> Account:
    """The account whose environment file names the promoter."""
    return Account([assemblies("directory")])


@pytest.fixture
def serving(default: Assembly) -> Account:
    return Account([default])


def documented_policy(source: str, target: str) -> Document:
    """Return the policy that docs/endpoint.md prints for promoters, for two buckets."""
    text = (PROJECT / "docs" / "endpoint.md").read_text("utf-8")
    [found] = re.findall(r"<!-- promoter-policy.*?```json\n(.*?)```", text, re.DOTALL)
    filled: Document = json.loads(found.replace("TRAINING_BUCKET", source).replace("SERVING_BUCKET", target))
    return filled


def in_training(
    training: Account, principal: str, policies: Sequence[Document], calls: Sequence[tuple[str, str, str]]
) -> list[Decision]:
    """Return the decisions on calls in the training account: action, bucket, key."""
    requests = []
    for action, begins, key in calls:
        made = bucket(training, begins)
        arn = f"{made.arn}/{key}" if key else made.arn
        context = {"aws:SecureTransport": "true", "s3:TlsVersion": "1.3"}
        requests.append(
            Request(principal, action, arn, policies, context, resource_policy=bucket_policy(training, made))
        )
    return decide(requests)


READS = [("s3:ListBucket", "Models", ""), ("s3:GetObject", "Models", "tanuki-8b/v1/model.pt")]
MORE = [
    ("s3:PutObject", "Models", "tanuki-8b/v1/model.pt"),
    ("s3:DeleteObject", "Models", "tanuki-8b/v1/model.pt"),
    ("s3:GetObjectVersion", "Models", "tanuki-8b/v1/model.pt"),
    ("s3:PutBucketPolicy", "Models", ""),
    *((action, begins, key) for action, _, key in READS for begins in ("Checkpoints", "Data")),
]


def test_the_named_role_of_another_account_reads_models_and_nothing_else(training: Account) -> None:
    assert set(in_training(training, PROMOTER, [ANY_S3], READS)) == {"Allowed"}
    assert "Allowed" not in in_training(training, PROMOTER, [ANY_S3], MORE)


def test_other_roles_of_that_account_read_nothing(training: Account) -> None:
    assert "Allowed" not in in_training(training, OTHER, [ANY_S3], [*READS, *MORE])


def test_an_environment_whose_file_names_nobody_is_read_by_nobody(serving: Account) -> None:
    assert "Allowed" not in in_training(serving, PROMOTER, [ANY_S3], [*READS, *MORE])


def in_serving(
    serving: Account, principal: str, policies: Sequence[Document], calls: Sequence[tuple[str, Mapping[str, str]]]
) -> list[Decision]:
    """Return the decisions on calls that concern a version in the serving account's model bucket."""
    made = bucket(serving, "Models")
    policy: Any = json.loads(json.dumps(bucket_policy(serving, made)).replace(ACCOUNT, SERVING))
    key = f"{made.arn}/tanuki-8b/v1/model.pt"
    return decide(
        [
            Request(
                principal,
                action,
                made.arn if action == "s3:ListBucket" else key,
                policies,
                {**context, "aws:PrincipalArn": principal},
                resource_policy=policy,
                account=SERVING,
            )
            for action, context in calls
        ]
    )


COPY = [
    ("s3:ListBucket", {}),
    ("s3:GetObject", {}),
    ("s3:PutObject", NEW),
    ("s3:PutObject", PART),
    ("s3:AbortMultipartUpload", {}),
]
CHANGES = [
    ("s3:PutObject", CREATES),
    ("s3:DeleteObject", {}),
    ("s3:DeleteObjectVersion", {}),
    ("s3:PutObjectTagging", {}),
    ("s3:PutObjectAcl", {}),
]


def test_the_documented_promoter_copies_and_changes_nothing(training: Account, serving: Account) -> None:
    policy = documented_policy(bucket(training, "Models").name, bucket(serving, "Models").name)

    assert set(in_training(training, PROMOTER, [policy], READS)) == {"Allowed"}
    assert "Allowed" not in in_training(training, PROMOTER, [policy], MORE)
    assert set(in_serving(serving, PROMOTER, [policy], COPY)) == {"Allowed"}
    assert "Allowed" not in in_serving(serving, PROMOTER, [policy], CHANGES)


def test_the_documented_promoter_finds_the_bucket(serving: Account) -> None:
    stack = f"arn:aws:cloudformation:us-west-2:{SERVING}:stack/slipway-serving-storage/0a1b2c3d"
    policies = [documented_policy("a-training-bucket", "a-serving-bucket")]

    decisions = decide(
        [
            Request(PROMOTER, f"cloudformation:{name}", stack, policies, account=SERVING)
            for name in ("DescribeStacks", "UpdateStack")
        ]
    )

    assert decisions == ["Allowed", "ImplicitlyDenied"]


def test_nobody_of_the_training_account_writes_the_serving_accounts_bucket(training: Account, serving: Account) -> None:
    principals = [role.arn for role in training.roles()] + [NODE, f"arn:aws:iam::{ACCOUNT}:role/admin"]

    for principal in principals:
        assert "Allowed" not in in_serving(serving, principal, [ANY_S3], [*COPY, *CHANGES]), principal
