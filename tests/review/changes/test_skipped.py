"""Which stacks the plan says that `cdk deploy` skips, by what the CDK CLI compares."""

from dataclasses import replace
from typing import Any

import pytest

from slipway.assembly.stacks import Stack, read_stacks
from slipway.review.changes.compare import compare
from slipway.review.changes.skipped import skipped_stacks
from tests.assembly import Assembly
from tests.review.changes.pairs import Templates

CONSUMER = Stack(
    name="consumer",
    region="us-west-2",
    template={"Resources": {"Topic": {"Type": "AWS::SNS::Topic"}}},
    tags={"slipway:environment": "x"},
    termination_protection=False,
)
IMAGE = "AWS::SSM::Parameter::Value<AWS::EC2::Image::Id>"


def with_parameter(**parameter: str) -> Stack:
    return replace(CONSUMER, template={**CONSUMER.template, "Parameters": {"Value": parameter}})


def test_the_plan_names_the_stacks_that_only_follow_another_one(default: Assembly) -> None:
    base = read_stacks(default.directory)
    edited = Templates(base)
    for subnet in (r for r in edited.resources("network").values() if r["Type"] == "AWS::EC2::Subnet"):
        subnet["Properties"]["CidrBlock"] = "10.9.0.0/20"
    edited.of_type("training", "AWS::S3::Bucket")["Properties"]["Tags"] = []

    changes = compare(base, tuple(edited.stacks.values()))

    following = {change.stack for change in changes.resources if change.caused_by}
    assert {"slipway-default-storage", "slipway-default-training"} <= following
    assert "slipway-default-storage" in changes.skipped_stacks
    assert not {"slipway-default-network", "slipway-default-training"} & set(changes.skipped_stacks)


def test_a_stack_whose_template_stays_the_same_is_skipped() -> None:
    assert skipped_stacks((CONSUMER,), (CONSUMER,), {"consumer"}) == ("consumer",)


@pytest.mark.parametrize(
    "parameter",
    [{"Type": "String"}, {"Type": IMAGE, "Description": "Version of the CDK Bootstrap resources [cdk:skip]"}],
)
def test_a_parameter_that_cannot_change_by_itself_changes_nothing_in_that(parameter: dict[str, str]) -> None:
    stack = with_parameter(**parameter)

    assert skipped_stacks((stack,), (stack,), {"consumer"}) == ("consumer",)


@pytest.mark.parametrize(
    ("base", "head", "changed"),
    [
        ((CONSUMER,), (CONSUMER,), set()),
        ((), (CONSUMER,), {"consumer"}),
        ((CONSUMER,), (replace(CONSUMER, template={"Resources": {}}),), {"consumer"}),
        ((CONSUMER,), (replace(CONSUMER, tags={}),), {"consumer"}),
        ((CONSUMER,), (replace(CONSUMER, termination_protection=True),), {"consumer"}),
        ((with_parameter(Type=IMAGE),), (with_parameter(Type=IMAGE),), {"consumer"}),
    ],
    ids=["unchanged", "new", "template", "tags", "protection", "parameter-store"],
)
def test_what_the_cli_deploys_is_not_named(base: Any, head: Any, changed: set[str]) -> None:
    assert skipped_stacks(base, head, changed) == ()
