"""A service of AWS acts only for this account: nobody can have it use our roles and buckets for another."""

import json
from collections.abc import Iterator, Mapping
from typing import Any

from tests.assembly import Assembly
from tests.iam.account import Account, MadeResource
from tests.iam.simulator import ACCOUNT, Request, decide

STRANGER = "444455556666"
POLICIES = ("AssumeRolePolicyDocument", "PolicyDocument", "KeyPolicy", "RepositoryPolicyText", "ResourcePolicy")
UNBOUND = {
    ("AWS::IAM::Role", "ec2.amazonaws.com"): "An instance takes its role itself: EC2 sends no source account.",
    ("AWS::IAM::Role", "eks.amazonaws.com"): "Amazon EKS documents no source account for the role of a cluster.",
    ("AWS::IAM::Role", "lambda.amazonaws.com"): "AWS Lambda documents none for the role of a function.",
    ("AWS::IAM::Role", "pods.eks.amazonaws.com"): "Only associations of the own account's clusters name the role.",
    ("AWS::S3::BucketPolicy", "delivery.logs.amazonaws.com"): "The path of every object has this account's id.",
}
"""Who is not bound by a condition, with the reason. The Amazon ECS agent's execution role: see `EXECUTION_ROLE`."""
EXECUTION_ROLE = "ExecutionRole"
"""Amazon ECS documents the source account for the task role, and not for the role that pulls images."""
BINDING = ("aws:SourceAccount", "aws:SourceArn", "kms:EncryptionContext", "kms:ViaService")


def statements(made: MadeResource) -> Iterator[tuple[str, Mapping[str, Any]]]:
    """Yield each statement of a resource that names a service, with the service."""
    for name in POLICIES:
        document = made.stack.resolver.resolve(made.properties.get(name))
        for statement in document["Statement"] if isinstance(document, dict) else ():
            principal = statement.get("Principal")
            services = principal.get("Service", []) if isinstance(principal, dict) else []
            for service in [services] if isinstance(services, str) else services:
                yield service, statement


def is_bound(made: MadeResource, service: str, statement: Mapping[str, Any]) -> bool:
    """Return whether this statement, or a denial beside it, asks for which account the service acts."""
    denials = [each for name, each in statements(made) if name == service and each["Effect"] == "Deny"]
    return any(key in json.dumps(each.get("Condition", {})) for each in (statement, *denials) for key in BINDING)


def test_every_service_is_bound_to_the_account(each_assembly: Assembly) -> None:
    unbound = [
        f"{made.logical_id} {service}"
        for made in Account([each_assembly]).resources()
        for service, statement in statements(made)
        if statement["Effect"] == "Allow"
        and (made.kind, service) not in UNBOUND
        and EXECUTION_ROLE not in made.logical_id
        and not is_bound(made, service, statement)
    ]

    assert unbound == []


def test_every_function_is_called_for_one_resource(each_assembly: Assembly) -> None:
    for made in Account([each_assembly]).resources("AWS::Lambda::Permission"):
        assert {"SourceArn", "SourceAccount"} & made.properties.keys(), made.logical_id


def test_logs_of_another_account_do_not_get_into_the_log_bucket(each_assembly: Assembly) -> None:
    account = Account([each_assembly])
    stack = account.stacks[f"slipway-{each_assembly.environment.name}-network"]
    (policy,) = (made for made in stack.resources.values() if made.kind == "AWS::S3::BucketPolicy")
    (statement,) = (
        each
        for service, each in statements(policy)
        if service == "logging.s3.amazonaws.com" and each["Effect"] == "Allow"
    )
    target = statement["Resource"] if isinstance(statement["Resource"], str) else statement["Resource"][0]

    decisions = decide(
        [
            Request(
                "logging.s3.amazonaws.com",
                "s3:PutObject",
                target.replace("*", "log"),
                [],
                {"aws:SourceAccount": source},
                resource_policy=policy.resolved["PolicyDocument"],
            )
            for source in (ACCOUNT, STRANGER)
        ]
    )

    assert decisions == ["Allowed", "ExplicitlyDenied"]
