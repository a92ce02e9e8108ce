"""A job cannot replace or delete a published model: the decisions of IAM over all policies that apply."""

import json
from collections.abc import Mapping
from typing import Any

import pytest

from tests.assembly import Assembly
from tests.conftest import AssemblyFactory
from tests.iam.account import Account, MadeResource
from tests.iam.simulator import ACCOUNT, Decision, Request, decide

NODE = f"arn:aws:iam::{ACCOUNT}:role/parallelcluster/slipway-default/RoleHeadNode-1"
POD = {"aws:PrincipalTag/eks-cluster-arn": f"arn:aws:eks:us-west-2:{ACCOUNT}:cluster/slipway"}
CREATES = {"s3:ObjectCreationOperation": "true"}
NEW = {**CREATES, "s3:if-none-match": "*"}
PART = {"s3:ObjectCreationOperation": "false"}
ANY_S3 = {"Version": "2012-10-17", "Statement": [{"Effect": "Allow", "Action": "s3:*", "Resource": "*"}]}

CHANGES: Mapping[str, tuple[str, Mapping[str, str]]] = {
    "overwrite": ("s3:PutObject", CREATES),
    "delete": ("s3:DeleteObject", {}),
    "delete a version": ("s3:DeleteObjectVersion", {}),
    "tag": ("s3:PutObjectTagging", {}),
}


def bucket(account: Account, begins: str) -> MadeResource:
    return next(made for made in account.resources("AWS::S3::Bucket") if made.logical_id.startswith(begins))


def bucket_policy(account: Account, made: MadeResource) -> Any:
    (found,) = (
        policy.resolved["PolicyDocument"]
        for policy in account.resources("AWS::S3::BucketPolicy")
        if policy.resolved["Bucket"] == made.name
    )
    return found


def ask(account: Account, principal: str, policies: list[Any], context: Mapping[str, str]) -> dict[str, Decision]:
    """Return what becomes of each change of a published object."""
    models = bucket(account, "Models")
    requests = [
        Request(
            principal,
            action,
            f"{models.arn}/tanuki-8b/v1/model.safetensors",
            policies,
            {**keys, **context},
            resource_policy=bucket_policy(account, models),
        )
        for action, keys in CHANGES.values()
    ]
    return dict(zip(CHANGES, decide(requests), strict=True))


def node_policy(account: Account) -> Any:
    (found,) = (p for p in account.resources("AWS::IAM::ManagedPolicy") if p.logical_id.startswith("NodePolicy"))
    return found.resolved["PolicyDocument"]


def test_a_node_changes_no_published_object(default: Assembly) -> None:
    account = Account([default])

    decisions = ask(account, NODE, [node_policy(account)], {"aws:PrincipalArn": NODE})

    assert "Allowed" not in decisions.values()


@pytest.mark.parametrize("principal", ["node", "publisher", "pod"])
def test_the_bucket_denies_jobs_every_change_whatever_their_policies_say(default: Assembly, principal: str) -> None:
    account = Account([default])
    publisher = account.role("slipway-default-storage", "ModelPublisher").arn
    arn = {"node": NODE, "publisher": publisher, "pod": f"arn:aws:iam::{ACCOUNT}:role/pods"}[principal]

    decisions = ask(account, arn, [ANY_S3], {"aws:PrincipalArn": arn, **(POD if principal == "pod" else {})})

    assert set(decisions.values()) == {"ExplicitlyDenied"}


def test_an_administrator_may_remove_what_nobody_serves(default: Assembly) -> None:
    account = Account([default])
    arn = f"arn:aws:iam::{ACCOUNT}:role/admin"

    decisions = ask(account, arn, [ANY_S3], {"aws:PrincipalArn": arn})

    assert set(decisions.values()) == {"Allowed"}


@pytest.mark.parametrize(
    ("keys", "expected"), [(NEW, "Allowed"), (PART, "Allowed"), (CREATES, "ExplicitlyDenied")], ids=str
)
def test_the_publisher_adds_a_version_with_if_none_match_alone(
    default: Assembly, keys: dict[str, str], expected: str
) -> None:
    account = Account([default])
    role, models = account.role("slipway-default-storage", "ModelPublisher"), bucket(account, "Models")

    (decision,) = decide(
        [
            Request(
                role.arn,
                "s3:PutObject",
                f"{models.arn}/tanuki-8b/v2/config.json",
                role.policies,
                {**keys, "aws:PrincipalArn": role.arn},
                resource_policy=bucket_policy(account, models),
            )
        ]
    )

    assert decision == expected


@pytest.mark.parametrize(
    ("principal", "allowed"),
    [
        (NODE, True),
        (f"arn:aws:iam::{ACCOUNT}:role/parallelcluster/another/RoleHeadNode-1", False),
        (f"arn:aws:iam::{ACCOUNT}:role/somebody", False),
    ],
)
def test_nodes_of_this_cluster_alone_become_the_publisher(default: Assembly, principal: str, allowed: bool) -> None:
    account = Account([default])
    role = account.role("slipway-default-storage", "ModelPublisher")
    name = default.environment.training.cluster_name if default.environment.training else ""
    principal = principal.replace("/slipway-default/", f"/{name}/")

    (decision,) = decide(
        [
            Request(
                principal,
                "sts:AssumeRole",
                role.arn,
                [node_policy(account)],
                {"aws:PrincipalArn": principal},
                resource_policy=role.trust,
            )
        ]
    )

    assert (decision == "Allowed") is allowed


@pytest.mark.parametrize("kind", ["JobsRole", "PublisherRole"])
@pytest.mark.parametrize(
    ("environment", "space"), [("kubernetes", ""), ("teams", "research"), ("teams", "speech")], ids=str
)
def test_pods_of_the_publish_stage_alone_add_versions_and_none_deletes_one(
    assemblies: AssemblyFactory, environment: str, space: str, kind: str
) -> None:
    account = Account([assemblies(environment)])
    role = account.role(f"slipway-{environment}-kubernetes", f"{kind}{space}")
    models = bucket(account, "Models")
    policy = bucket_policy(account, models)
    context = {"aws:PrincipalArn": role.arn, **POD}

    read, new = decide(
        [
            Request(role.arn, f"s3:{action}Object", f"{models.arn}/m/2/a", role.policies, keys, (), policy)
            for action, keys in (("Get", context), ("Put", {**NEW, **context}))
        ]
    )

    assert read == "Allowed"
    assert (new == "Allowed") is (kind == "PublisherRole")
    assert "Allowed" not in ask(account, role.arn, list(role.policies), context).values()


def test_jobs_still_write_and_delete_checkpoints(default: Assembly) -> None:
    account = Account([default])
    checkpoints = bucket(account, "Checkpoints")
    policy = bucket_policy(account, checkpoints)

    decisions = decide(
        [
            Request(NODE, f"s3:{name}Object", f"{checkpoints.arn}/a", [node_policy(account)], resource_policy=policy)
            for name in ("Put", "Delete")
        ]
    )

    assert decisions == ["Allowed", "Allowed"], json.dumps(policy)
