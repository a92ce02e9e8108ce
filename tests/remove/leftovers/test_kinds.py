"""The table: each row's list, its expressions and its commands are what AWS's own service models have."""

from collections.abc import Iterator
from typing import Any

import botocore.session
import jmespath
import pytest
from botocore import xform_name
from botocore.exceptions import ParamValidationError

from slipway.facts.prices import price
from slipway.remove.documented_leftovers import rules
from slipway.remove.leftovers.item import Item
from slipway.remove.leftovers.kind import Call, Kind, Left, kinds
from slipway.remove.leftovers.ownership import PARTS
from slipway.remove.leftovers.removal import commands
from tests.conftest import AssemblyFactory
from tests.remove.leftovers.aws_cli import AwsCall, parse

LEFT = [(kind, kind.left) for kind in kinds() if kind.left]
ANY = "1" * 20
"""A name, an id and a number that every service takes."""
OWN_ID = "2" * 20
RECORDS = '{"Changes": [{"Action": "DELETE", "ResourceRecordSet": {"Name": "a", "Type": "A"}}]}'
MODELS = botocore.session.get_session()


def item_of(kind: Kind, left: Left) -> Item:
    facts = {name: ANY for name in _names(left.items) if name not in ("tags", "goes_with")} | {"id": OWN_ID}
    return Item(kind, left, {**facts, "parent": "cluster", "account": "123456789012"}, {})


def _names(path: str) -> list[str]:
    """The names of the objects that an expression makes."""
    parsed: Any = jmespath.compile(path).parsed
    (made,) = [node for node in _nodes(parsed) if node["type"] == "multi_select_dict"]
    return [pair["value"] for pair in made["children"]]


def _nodes(node: dict[str, Any]) -> Iterator[dict[str, Any]]:
    yield node
    for child in node.get("children", ()):
        if isinstance(child, dict):
            yield from _nodes(child)


def _calls(kind: Kind) -> Iterator[Call]:
    parent = kind.for_each
    yield kind
    while parent:
        yield parent
        parent = parent.for_each
    if kind.left:
        yield from kind.left.first
        if kind.left.tagged_by:
            yield kind.left.tagged_by


@pytest.mark.parametrize(("kind", "left"), LEFT, ids=lambda value: value.kind if isinstance(value, Kind) else "")
def test_every_command_is_one_that_the_service_has(kind: Kind, left: Left) -> None:
    item = item_of(kind, left)
    lines = list(commands([item], "us-west-2", lambda _item, first: [_added(first)]))

    assert len(lines) == len(left.first) + len(left.remove)
    for line in lines:
        assert parse(line).region == "us-west-2"


def _added(first: Call) -> dict[str, str]:
    return {name: RECORDS if name == "batch" else ANY for name in _names(first.path)}


@pytest.mark.parametrize("kind", kinds(), ids=lambda kind: kind.kind)
def test_every_call_only_reads_and_has_parameters_that_the_service_knows(kind: Kind) -> None:
    model = MODELS.get_service_model(kind.service)
    operations = {xform_name(name): name for name in model.operation_names}
    for call in _calls(kind):
        assert call.operation.startswith(("describe_", "list_", "get_"))
        shape: Any = model.operation_model(operations[call.operation]).input_shape
        assert set(call.parameters) <= set(shape.members), call.operation


def test_every_kind_is_in_the_table_once_and_says_when_it_goes() -> None:
    names = [kind.kind for kind in kinds()]

    assert len(set(names)) == len(names)
    assert len(LEFT) >= 55
    assert {row.kind for row in rules().documented} <= set(names)


def test_every_price_that_is_named_is_known_and_goes_by_a_fact_that_is_listed() -> None:
    lines = [(left, line) for _, left in LEFT if isinstance(left.cost, tuple) for line in left.cost]

    assert lines
    for left, line in lines:
        assert line.quantity is None or line.quantity in _names(left.items)
        if "{" not in line.item:
            assert price(line.item, "us-west-2")


def test_what_holds_another_goes_first() -> None:
    stages = {kind.kind: left.stage for kind, left in LEFT}

    for order in (
        ("ECS service", "EC2 instance", "network interface", "security group", "subnet", "route table", "VPC"),
        ("NAT gateway", "Elastic IP address", "internet gateway", "VPC"),
        ("Auto Scaling group", "launch template"),
        ("AMI", "EBS snapshot"),
        ("load balancer", "target group"),
        ("EC2 instance", "EBS volume"),
        ("EC2 instance", "placement group", "VPC"),
        ("IAM role", "instance profile", "IAM managed policy"),
        ("EKS node group", "EKS cluster", "KMS key"),
        ("database", "database subnet group", "subnet"),
        ("FSx file system", "security group"),
    ):
        assert [stages[kind] for kind in order] == sorted({stages[kind] for kind in order}), order


@pytest.mark.parametrize(
    "line",
    [
        "aws ec2 delete-disk --volume-id vol-1 --region us-west-2",
        "aws ec2 delete-volume --id vol-1 --region us-west-2",
        "aws ec2 delete-volume --region us-west-2",
        "aws kms schedule-key-deletion --key-id k --pending-window-in-days 7x --region us-west-2",
        "aws ec2 wait volume-gone --volume-ids vol-1 --region us-west-2",
    ],
)
def test_the_proof_would_see_a_wrong_command(line: str) -> None:
    with pytest.raises((AssertionError, ValueError, ParamValidationError)):
        parse(line)


def test_a_right_command_is_the_call_that_it_names() -> None:
    assert parse("aws ecr delete-repository --repository-name abc --force --region us-west-2") == AwsCall(
        "ecr", "delete_repository", {"repositoryName": "abc", "force": True}, "us-west-2"
    )


def test_every_stack_of_an_environment_is_known_by_its_name(assemblies: AssemblyFactory) -> None:
    for environment in ("default", "kubernetes"):
        for stack in assemblies(environment).templates():
            assert stack.removeprefix(f"slipway-{environment}-") in PARTS
