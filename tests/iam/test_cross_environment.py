"""Two environments in one account: no role of the first reaches a resource of the second, save what a row explains."""

import json
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from fnmatch import fnmatchcase
from functools import cache
from pathlib import Path
from typing import Any

import pytest
import yaml
from cfnlint.schema import PROVIDER_SCHEMA_MANAGER  # type: ignore[import-untyped]

from slipway.assembly.stacks import ENVIRONMENT_TAG
from slipway.check.deploy_role.needs import read_needs
from slipway.check.deploy_role.policies import deploy_role_limits, deployer_policy, destroyer_policy, execution_policies
from slipway.config import load_environment
from tests.assembly import Assembly, environment_path, synthesize
from tests.conftest import AssemblyFactory
from tests.iam.account import Account, MadeResource
from tests.iam.cluster_roles import CLUSTER, RECORDED, ClusterNode
from tests.iam.simulator import ACCOUNT, Document, Request, decide

TABLE: Mapping[str, Any] = yaml.safe_load(Path(__file__).with_name("cross_environment.yaml").read_text("utf-8"))
FIRSTS = ("team", "kubernetes", "default")
TAGGING_SERVICES = ("autoscaling", "ec2", "ecs", "elasticloadbalancing", "iam")
"""Services with a condition key of their own for a resource's tags."""


@dataclass(frozen=True)
class Asked:
    """One request with the names that the table's rows use."""

    role: str
    kind: str
    request: Request


def copied(name: str, folder: Path) -> Assembly:
    """The environment once more, named like the first and more."""
    text = environment_path(name).read_text(encoding="utf-8")
    renamed = re.sub(r"(?m)^( *cluster_name|name): (\S+)", r"\1: \2-a", text)
    file = folder / f"{name}-a.yaml"
    file.write_text(renamed, encoding="utf-8")
    return synthesize(load_environment(file), folder / "assembly")


@cache
def takes_tags(kind: str, region: str) -> bool:
    """Whether CloudFormation gives a type its stack's tags."""
    schema = PROVIDER_SCHEMA_MANAGER.get_resource_schema(region, kind).schema
    return "Tags" in schema["properties"] and schema.get("tagging", {}).get("taggable", True)


def roles(first: Assembly, account: Account) -> Iterator[tuple[str, str, tuple[Document, ...], tuple[Document, ...]]]:
    """Yield name, ARN, policies and boundaries of every role of an environment.

    Those that deploy it are among them, and those that ParallelCluster makes for the nodes of the recorded cluster.
    """
    needs = read_needs(first.directory)
    printed = {
        "deployer": (deployer_policy(needs, ACCOUNT),),
        "destroyer": (destroyer_policy(needs),),
        "execution": execution_policies(needs),
    }
    for name, policies in printed.items():
        yield name, f"arn:aws:iam::{ACCOUNT}:role/{name}", policies, ()
    stacks = set(first.templates())
    for role in account.roles():
        if role.resource.stack.name in stacks:
            part = role.resource.stack.name.rpartition("-")[2]
            name = f"{part}/{role.resource.logical_id}"
            yield name, role.arn, tuple(role.policies), tuple(role.boundaries)
    if first.environment.training and first.environment.training.cluster_name == CLUSTER:
        for kind in json.loads(RECORDED.read_text("utf-8")):
            node = ClusterNode(first, kind)
            yield f"node/{kind}", node.arn, tuple(node.policies), ()


def targets(second: Assembly, account: Account) -> Iterator[tuple[str, str, str, dict[str, str], Document | None]]:
    """Yield kind, action, ARN, tags and resource policy of what is asked about the second environment."""
    environment = second.environment
    values = {"region": environment.region, "account": ACCOUNT, "environment": environment.name}
    values["cluster"] = environment.training.cluster_name if environment.training else "none"
    stacks = set(second.templates())
    for made in account.resources():
        if made.stack.name in stacks:
            tagged = made.kind in TABLE["asked"] and takes_tags(made.kind, environment.region)
            for row in TABLE["asked"].get(made.kind, ()):
                arn = row["resource"].format(arn=made.arn.removesuffix(":*"), name=made.name, **values)
                tags = {ENVIRONMENT_TAG: environment.name} if tagged else {}
                arn += ":*" if made.kind == "AWS::Logs::LogGroup" else ""
                yield from ((made.kind, action, arn, tags, trust(made, action)) for action in row["actions"])
    for row in TABLE["made"]:
        tags = {key: value.format(**values) for key, value in row["tags"].items()}
        for action in row["actions"]:
            yield row["resource"], action, row["resource"].format(**values), tags, None


def trust(made: MadeResource, action: str) -> Document | None:
    """Who may take on a role, or have it passed."""
    return made.resolved["AssumeRolePolicyDocument"] if action in {"sts:AssumeRole", "iam:PassRole"} else None


def asked_of(action: str, document: Document | None) -> Document | None:
    """Return the resource policy that a request is asked with: a trust policy decides on taking a role alone."""
    return document if action == "sts:AssumeRole" else None


def trusted_services(document: Document | None) -> Iterator[str]:
    """Yield the services that may take on a role; the usual two where its trust policy names none, or is not known."""
    named = [
        service
        for statement in (document or {"Statement": ()})["Statement"]
        if isinstance(statement["Principal"], dict)
        for services in [statement["Principal"].get("Service", [])]
        for service in ([services] if isinstance(services, str) else services)
    ]
    yield from sorted(set(named)) or ("ec2.amazonaws.com", "lambda.amazonaws.com")


def sent(action: str, arn: str, tags: Mapping[str, str], document: Document | None) -> Iterator[dict[str, str]]:
    """Yield condition keys that AWS sends with a request; the simulator drops those that it does not.

    A role is passed once to each service that may take it on.
    """
    service = arn.split(":")[2]
    own = [f"{service}:ResourceTag"] if service in TAGGING_SERVICES else []
    keys = [*own, "aws:ResourceTag", *(["ssm:resourceTag"] if action.startswith("ssm:") else [])]
    common = {"aws:RequestedRegion": arn.split(":")[3] or "us-west-2", "aws:ResourceAccount": ACCOUNT}
    context = {**common, **{f"{key}/{tag}": value for key in keys for tag, value in tags.items()}}
    if action == "iam:PassRole":
        yield from ({**context, "iam:PassedToService": service} for service in trusted_services(document))
    else:
        yield context


@pytest.fixture(scope="module")
def allowed(assemblies: AssemblyFactory, tmp_path_factory: pytest.TempPathFactory) -> list[Asked]:
    """Every request of a role of a first environment that is allowed on a resource of its copy."""
    asked: list[Asked] = []
    for name in FIRSTS:
        first, second = assemblies(name), copied(name, tmp_path_factory.mktemp(name))
        account = Account([first, second])
        wanted = list(targets(second, account))
        for role, arn, policies, boundaries in roles(first, account):
            asked += [
                Asked(
                    role,
                    kind,
                    Request(arn, action, on, policies, {}, boundaries, asked_of(action, policy), if_sent=keys),
                )
                for kind, action, on, tags, policy in wanted
                for keys in sent(action, on, tags, policy)
            ]
    assert len(asked) > 5000
    decisions = decide([one.request for one in asked])
    return [one for one, decision in zip(asked, decisions, strict=True) if decision == "Allowed"]


def explains(row: Mapping[str, Any], one: Asked) -> bool:
    """Whether a row of the table has a request."""
    return (
        any(fnmatchcase(one.role, pattern) for pattern in row["roles"])
        and any(fnmatchcase(one.request.action, pattern) for pattern in row["actions"])
        and any(fnmatchcase(one.kind, pattern) for pattern in row["types"])
    )


def test_no_role_reaches_the_other_environment_without_a_reason(allowed: list[Asked]) -> None:
    unexplained = {
        f"{one.role}: {one.request.action} on {one.kind}"
        for one in allowed
        if not any(explains(row, one) for row in TABLE["allowed"])
    }

    assert not sorted(unexplained)


def test_every_reason_is_needed(allowed: list[Asked]) -> None:
    unneeded = [
        f"{field}: {name}"
        for row in TABLE["allowed"]
        for field in ("roles", "actions", "types")
        for name in row[field]
        if not any(explains({**row, field: [name]}, one) for one in allowed)
    ]
    assert not unneeded


@pytest.mark.parametrize("name", FIRSTS)
def test_every_type_is_asked_about_or_says_why_not(assemblies: AssemblyFactory, name: str) -> None:
    patterns = [pattern for row in TABLE["not_asked"] for pattern in row["types"]]
    types = {made.kind for made in Account([assemblies(name)]).resources()} - set(TABLE["asked"])

    assert not sorted(kind for kind in types if not any(fnmatchcase(kind, pattern) for pattern in patterns))


def test_an_own_bootstraps_role_for_deployments_reaches_no_stack_of_others(directory: Assembly) -> None:
    stacks = "arn:aws:cloudformation:us-east-2:111122223333:stack"
    bootstrap = {
        "Version": "2012-10-17",
        "Statement": [{"Effect": "Allow", "Action": "cloudformation:*", "Resource": "*"}],
    }
    policies = [bootstrap, deploy_role_limits(read_needs(directory.directory))]

    decisions = decide(
        [
            Request(
                f"arn:aws:iam::{ACCOUNT}:role/deploy", f"cloudformation:{action}", f"{stacks}/{name}/0c5a1c90", policies
            )
            for name in ("slipway-directory-storage", "slipway-directory-a-storage")
            for action in ("CreateChangeSet", "ExecuteChangeSet", "DeleteStack")
        ]
    )

    assert decisions == ["Allowed"] * 3 + ["ExplicitlyDenied"] * 3
