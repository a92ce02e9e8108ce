"""Changes that CloudFormation or AWS refuses in the middle of a deployment, each in a stack as small as it can be."""

from typing import Any

import pytest

from slipway.assembly.stacks import Stack
from slipway.review.changes.compare import compare
from slipway.review.changes.model import ResourceChange

POLICY: dict[str, Any] = {"PolicyDocument": {"Statement": []}}


def _stack(resources: dict[str, Any], name: str = "one") -> Stack:
    return Stack(name, "us-west-2", {"Resources": resources}, {}, termination_protection=False)


def _resource(resource_type: str, **properties: Any) -> dict[str, Any]:
    return {"Type": resource_type, "Properties": properties}


def _change(before: dict[str, Any], after: dict[str, Any], name: str) -> ResourceChange:
    changes = compare((_stack(before),), (_stack(after),)).resources
    return next(change for change in changes if change.logical_id == name)


def _served(function: dict[str, Any], name: str = "Answer") -> dict[str, Any]:
    return {"Function": function, name: _resource("Custom::Answer", ServiceToken={"Fn::GetAtt": ["Function", "Arn"]})}


def test_another_type_under_one_logical_id() -> None:
    change = _change(
        {"Files": _resource("AWS::EFS::FileSystem")}, {"Files": _resource("AWS::FSx::FileSystem")}, "Files"
    )

    assert change.effect == "replace"
    assert [(row.path, row.effect) for row in change.properties] == [("Type", "replace")]
    (note,) = change.notes
    assert note.startswith("It was AWS::EFS::FileSystem. CloudFormation refuses it")


@pytest.mark.parametrize("other", [{"FunctionName": "other"}, {"PackageType": "Image"}])
def test_a_custom_resource_that_another_function_serves(other: dict[str, str]) -> None:
    before = _resource("AWS::Lambda::Function", FunctionName="answer", PackageType="Zip")
    after = _resource("AWS::Lambda::Function", **{**before["Properties"], **other})

    change = _change(_served(before), _served(after), "Answer")

    assert change.caused_by == "one/Function"
    (note,) = change.notes
    assert "Modifying service token is not allowed." in note


def test_a_custom_resource_of_another_logical_id_may_have_another_function() -> None:
    before = _resource("AWS::Lambda::Function", FunctionName="answer")
    after = _resource("AWS::Lambda::Function", FunctionName="other")

    change = _change(_served(before), _served(after, "Reply"), "Reply")

    assert not any("service token" in note for note in change.notes)


def test_a_name_in_a_network_is_free_in_another_one() -> None:
    def network(cidr: str, description: str) -> dict[str, Any]:
        group = _resource(
            "AWS::EC2::SecurityGroup", GroupName="nodes", GroupDescription=description, VpcId={"Ref": "Vpc"}
        )
        return {"Vpc": _resource("AWS::EC2::VPC", CidrBlock=cidr), "Nodes": group}

    moved = _change(network("10.0.0.0/16", "a"), network("10.1.0.0/16", "a"), "Nodes")
    described = _change(network("10.0.0.0/16", "a"), network("10.0.0.0/16", "b"), "Nodes")

    assert (moved.effect, moved.notes) == ("replace", ())
    assert described.effect == "replace"
    (note,) = described.notes
    assert "GroupName stays the same" in note


@pytest.mark.parametrize("policy", [{}, {"DeletionPolicy": "Retain"}])
def test_a_new_resource_with_the_name_of_one_that_goes(policy: dict[str, str]) -> None:
    before = {"Old": {**_resource("AWS::S3::Bucket", BucketName="data"), **policy}}
    after = {"New": _resource("AWS::S3::Bucket", BucketName="data", VersioningConfiguration={"Status": "Enabled"})}

    (note,) = _change(before, after, "New").notes
    assert note.startswith("one/Old has the same BucketName.")
    assert _change(before, {"New": _resource("AWS::S3::Bucket", BucketName="other")}, "New").notes == ()


def test_a_resource_that_moves_to_another_stack_takes_its_name_with_it() -> None:
    bucket = {"Data": {**_resource("AWS::S3::Bucket", BucketName="data"), "DeletionPolicy": "Retain"}}

    changes = compare((_stack(bucket), _stack({}, "two")), (_stack({}), _stack(bucket, "two"))).resources

    assert [(change.stack, change.effect, len(change.notes)) for change in changes] == [
        ("two", "add", 1),
        ("one", "orphan", 0),
    ]


def test_a_bucket_has_one_policy() -> None:
    data = {"Data": _resource("AWS::S3::Bucket")}
    before = {**data, "Old": _resource("AWS::S3::BucketPolicy", Bucket={"Ref": "Data"}, **POLICY)}
    after = {**data, "New": _resource("AWS::S3::BucketPolicy", Bucket={"Ref": "Data"}, **POLICY)}

    assert any("Bucket stays the same" in note for note in _change(before, after, "New").notes)
