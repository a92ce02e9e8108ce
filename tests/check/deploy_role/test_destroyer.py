"""Whoever destroys may do what `slipway destroy` does, and what its proof asks."""

import json
import re
from collections.abc import Iterator
from fnmatch import fnmatchcase
from functools import cache
from typing import Any

import boto3
import pytest

from slipway.catalogue import listings
from slipway.check.deploy_role.needs import read_needs
from slipway.check.deploy_role.policies import MANAGED_POLICY_CHARACTERS, Document, destroyer_policy
from tests.assembly import PROJECT, Assembly

REMOVE = PROJECT / "slipway" / "remove"
TEARDOWN = [*REMOVE.glob("*.py"), *(REMOVE / "teardown").glob("*.py"), PROJECT / "slipway" / "aws" / "stacks.py"]
SERVICES = {
    "scaling": "application-autoscaling",
    **{name: name for name in ("autoscaling", "cloudformation", "ec2", "ecs", "eks", "fsx", "ssm")},
}
"""What the teardown's code calls a client that has a name, with boto3's name of the service."""

PREFIXES = {"elb": "elasticloadbalancing", "elbv2": "elasticloadbalancing", "resourcegroupstaggingapi": "tag"}
OTHER_NAMES = {
    "s3:ListBuckets": "s3:ListAllMyBuckets",
    "budgets:DescribeBudgets": "budgets:ViewBudget",
    "ecs:DescribeTaskProtection": "ecs:GetTaskProtection",
}
"""Actions that are not named like their operation (Service Authorization Reference)."""


@pytest.fixture(scope="module")
def document(default: Assembly) -> Document:
    return destroyer_policy(read_needs(default.directory))


def allows(document: Document, action: str) -> bool:
    patterns = [pattern for statement in document["Statement"] for pattern in statement["Action"]]
    return any(fnmatchcase(action, pattern) for pattern in patterns)


@cache
def iam_action(service: str, method: str) -> str | None:
    """IAM's name of a boto3 method's action; none for a method that is no operation."""
    client: Any = boto3.client(service, region_name="us-west-2", aws_access_key_id="x", aws_secret_access_key="x")  # type: ignore[call-overload]
    operation = client.meta.method_to_api_mapping.get(method)
    action = f"{PREFIXES.get(service, service)}:{operation}"
    return OTHER_NAMES.get(action, action) if operation else None


def calls_of_the_teardown() -> Iterator[tuple[str, str]]:
    """Yield the service and the method of every call, and of every paginator, in its code."""
    names = rf"(?:\b({'|'.join(SERVICES)})|\.client\(\"([\w-]+)\"\))"
    for path in TEARDOWN:
        code = path.read_text(encoding="utf-8")
        for name, service, method, paged in re.findall(rf"{names}\s*\.(\w+)\(\s*(?:\"(\w+)\")?", code):
            yield service or SERVICES[name], paged if method == "get_paginator" else method


def operations(value: Any) -> Iterator[str]:
    """Yield all operations in a row of the kinds."""
    if isinstance(value, dict):
        yield from (text for key, text in value.items() if key == "operation" and isinstance(text, str))
        for item in value.values():
            yield from operations(item)
    elif isinstance(value, tuple | list):
        for item in value:
            yield from operations(item)


def test_every_call_of_the_teardown_is_allowed(document: Document) -> None:
    found = [iam_action(*call) for call in calls_of_the_teardown()]
    wanted = {action for action in found if action}

    assert len(wanted) > 25
    assert not sorted(action for action in wanted if not allows(document, action))


@pytest.mark.parametrize("service", sorted({row["service"] for row in listings()}))
def test_every_look_for_leftovers_is_allowed(document: Document, service: str) -> None:
    rows = [row for row in listings() if row["service"] == service]
    wanted = {(service, operation) for row in rows for operation in operations(row)}

    refused = [action for pair in wanted if (action := iam_action(*pair)) and not allows(document, action)]

    assert wanted
    assert not refused


@pytest.mark.parametrize("action", ["ssm:SendCommand", "ec2:TerminateInstances"])
def test_instances_of_others_are_out_of_reach(document: Document, action: str) -> None:
    found = [statement for statement in document["Statement"] if action in statement["Action"]]
    on_instances = [item for item in found if any(":instance/" in arn for arn in item["Resource"])]

    assert on_instances
    for statement in on_instances:
        [(key, value)] = statement["Condition"]["StringEquals"].items()
        assert key.lower().endswith(":resourcetag/slipway:environment")
        assert value == "default"
    assert not [arn for item in found for arn in item["Resource"] if arn == "*"]


def test_nothing_reads_data(document: Document) -> None:
    data = ("s3:GetObject", "secretsmanager:GetSecretValue", "ssm:GetParameter", "dynamodb:Scan", "logs:GetLogEvents")

    assert not [action for action in data if allows(document, action)]


def test_it_fits_a_managed_policy(document: Document) -> None:
    assert len(json.dumps(document, separators=(",", ":"))) <= MANAGED_POLICY_CHARACTERS
