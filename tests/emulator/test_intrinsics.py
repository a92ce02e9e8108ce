import json
from typing import Any

import pytest

from slipway_emulator.failures import ProvisioningError, TemplateError
from slipway_emulator.template.intrinsics import NO_VALUE
from tests.emulator.known_region import KnownResource, resolver

TEMPLATE = json.dumps(
    {
        "Mappings": {"Images": {"us-west-2": {"neuron": "ami-9"}}},
        "Conditions": {
            "Yes": {"Fn::Equals": ["1", 1]},
            "No": {"Fn::Not": [{"Condition": "Yes"}]},
            "Both": {"Fn::And": [{"Condition": "Yes"}, {"Condition": "No"}]},
            "Either": {"Fn::Or": [{"Condition": "Yes"}, {"Condition": "No"}]},
        },
        "Resources": {},
    }
)
RESOURCES = {"Bucket": KnownResource("bucket-7", {"Arn": "arn:aws:s3:::bucket-7", "Outputs.Token": "token"})}
PARAMETERS: dict[str, str | list[str]] = {"Size": "1200", "Zones": ["a", "b"]}


def resolve(node: Any) -> Any:
    return resolver(TEMPLATE, PARAMETERS, RESOURCES).resolve(node)


@pytest.mark.parametrize(
    ("node", "value"),
    [
        ({"Ref": "Size"}, "1200"),
        ({"Ref": "Bucket"}, "bucket-7"),
        ({"Ref": "AWS::Region"}, "us-west-2"),
        ({"Ref": "AWS::AccountId"}, "123456789012"),
        ({"Fn::GetAtt": ["Bucket", "Arn"]}, "arn:aws:s3:::bucket-7"),
        ({"Fn::GetAtt": "Bucket.Outputs.Token"}, "token"),
        ({"Fn::Join": ["-", ["a", {"Ref": "Size"}, True]]}, "a-1200-true"),
        ({"Fn::Join": [",", {"Ref": "Zones"}]}, "a,b"),
        ({"Fn::Sub": "s3://${Bucket}/${!not}/${Bucket.Arn}"}, "s3://bucket-7/${not}/arn:aws:s3:::bucket-7"),
        ({"Fn::Sub": ["${Own}-${Size}", {"Own": {"Ref": "AWS::StackName"}}]}, "training-1200"),
        ({"Fn::Select": ["1", {"Fn::Split": ["/", "a/b/c"]}]}, "b"),
        ({"Fn::GetAZs": ""}, ["us-west-2a", "us-west-2b"]),
        ({"Fn::GetAZs": "eu-north-1"}, ["eu-north-1a", "eu-north-1b"]),
        ({"Fn::FindInMap": ["Images", {"Ref": "AWS::Region"}, "neuron"]}, "ami-9"),
        ({"Fn::FindInMap": ["Images", "us-east-1", "neuron", {"DefaultValue": "ami-0"}]}, "ami-0"),
        ({"Fn::Base64": "é"}, "w6k="),
        ({"Fn::Cidr": ["10.0.0.0/16", 2, "13"]}, ["10.0.0.0/19", "10.0.32.0/19"]),
        ({"Fn::If": ["Yes", "chosen", {"Ref": "Nowhere"}]}, "chosen"),
        ({"Fn::If": ["Both", "x", "y"]}, "y"),
        ({"Fn::If": ["Either", "x", "y"]}, "x"),
        ({"Fn::ImportValue": "shared-bucket"}, "bucket-1"),
        ({"Fn::Length": {"Ref": "Zones"}}, 2),
        ({"Fn::ToJsonString": {"id": {"Ref": "Bucket"}}}, '{"id":"bucket-7"}'),
        ({"Fn::Contains": [["1", "2"], "2"]}, True),
        ({"Fn::GetStackOutput": {"StackName": "network", "OutputName": "VpcId"}}, "vpc-of-us-west-2"),
        (
            {"Fn::GetStackOutput": {"StackName": "network", "Region": "us-east-1", "OutputName": "VpcId"}},
            "vpc-of-us-east-1",
        ),
    ],
)
def test_resolves(node: Any, value: Any) -> None:
    assert resolve(node) == value


def test_no_value_removes_properties_and_items() -> None:
    no_value = {"Ref": "AWS::NoValue"}
    assert resolve({"kept": 1, "dropped": no_value, "list": ["a", no_value]}) == {"kept": 1, "list": ["a"]}
    assert resolve(no_value) is NO_VALUE


def test_condition_of_a_policy_statement_is_not_a_function() -> None:
    statement = {"Condition": {"Bool": {"aws:SecureTransport": "false"}}}
    assert resolve([statement]) == [statement]


@pytest.mark.parametrize(
    ("node", "named"),
    [
        ({"Ref": "Nowhere"}, "Nowhere"),
        ({"Fn::GetAtt": ["Nowhere", "Arn"]}, "Nowhere"),
        ({"Fn::GetAtt": ["Bucket", "Colour"]}, "Colour"),
        ({"Fn::FindInMap": ["Images", "us-east-1", "neuron"]}, "Images::us-east-1::neuron"),
        ({"Fn::If": ["Unknown", 1, 2]}, "Unknown"),
        ({"Fn::Select": [5, ["a"]]}, "Fn::Select"),
        ({"Fn::Cidr": ["10.0.0.0/24", 9, 6]}, "Fn::Cidr"),
        ({"Fn::Join": ["-", [{"object": 1, "is": "no text"}]]}, "Fn::Join"),
        ({"Fn::ImportValue": "nothing"}, "nothing"),
        ({"Fn::GetStackOutput": {"StackName": "network", "OutputName": "Gone"}}, "Gone"),
        ({"Fn::GetStackOutput": {"StackName": "network"}}, "Fn::GetStackOutput"),
        ({"Fn::Transform": {"Name": "AWS::Include"}}, "Fn::Transform"),
    ],
)
def test_failure_names_what_is_wrong(node: Any, named: str) -> None:
    with pytest.raises(ProvisioningError, match=named):
        resolve(node)


def test_active_leaves_out_what_its_condition_excludes() -> None:
    definitions = {"A": {"Type": "X"}, "B": {"Type": "X", "Condition": "No"}, "C": {"Type": "X", "Condition": "Yes"}}
    assert set(resolver(TEMPLATE).active(definitions)) == {"A", "C"}


def test_unknown_condition_is_a_template_error() -> None:
    with pytest.raises(TemplateError, match="Unknown"):
        resolver(TEMPLATE).active({"A": {"Type": "X", "Condition": "Unknown"}})
