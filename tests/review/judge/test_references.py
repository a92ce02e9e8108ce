"""References of synthesized templates resolve to what exists behind them, or say why they cannot."""

from typing import Any

import pytest

from slipway.review.judge.inside_parallelcluster.references import Made, References, Stack, UnresolvedReferenceError

NETWORK = Stack(
    "network",
    "us-west-2",
    {
        "Resources": {"Subnet": {"Type": "AWS::EC2::Subnet"}},
        "Outputs": {"SubnetId": {"Value": {"Ref": "Subnet"}}, "Zone": {"Value": {"Fn::GetAtt": ["Subnet", "Zone"]}}},
    },
)
TRAINING = Stack(
    "training",
    "us-east-2",
    {
        "Resources": {"Bucket": {"Type": "AWS::S3::Bucket"}},
        "Parameters": {
            "Size": {"Type": "Number", "Default": 5},
            "Bootstrap": {"Type": "AWS::SSM::Parameter::Value<String>", "Default": "/cdk-bootstrap/version"},
        },
    },
)


def made(stack: Stack, logical_id: str) -> Made:
    """A resource whose id and attribute say where they come from."""
    return Made(f"{stack.name}/{logical_id}", {"Zone": f"zone of {logical_id}"})


def resolve(value: Any) -> Any:
    return References({stack.name: stack for stack in (NETWORK, TRAINING)}, made).resolve(value, TRAINING)


@pytest.mark.parametrize(
    ("value", "resolved"),
    [
        ("text", "text"),
        (True, True),
        ({"Ref": "Bucket"}, "training/Bucket"),
        ({"Ref": "AWS::Region"}, "us-east-2"),
        ({"Ref": "Size"}, 5),
        ({"Fn::GetAtt": ["Bucket", "Zone"]}, "zone of Bucket"),
        ({"Fn::GetAtt": "Bucket.Zone"}, "zone of Bucket"),
        ({"Fn::Join": ["", ["s3://", {"Ref": "Bucket"}, "/cluster"]]}, "s3://training/Bucket/cluster"),
        ({"Fn::Select": ["1", ["a", {"Ref": "Bucket"}]]}, "training/Bucket"),
        (
            {"Fn::Sub": "${AWS::Partition}:${Bucket}:${Bucket.Zone}:${!Literal}"},
            "aws:training/Bucket:zone of Bucket:${Literal}",
        ),
        ({"Fn::Sub": ["${Name}", {"Name": {"Ref": "Bucket"}}]}, "training/Bucket"),
        ({"Fn::GetStackOutput": {"StackName": "network", "OutputName": "SubnetId"}}, "network/Subnet"),
        ({"Fn::GetStackOutput": {"StackName": "network", "OutputName": "Zone"}}, "zone of Subnet"),
        ({"Kept": 1, "Dropped": {"Ref": "AWS::NoValue"}}, {"Kept": 1}),
        (["kept", {"Ref": "AWS::NoValue"}], ["kept"]),
        ({"Deep": [{"Ref": "Bucket"}]}, {"Deep": ["training/Bucket"]}),
    ],
)
def test_resolves(value: Any, resolved: Any) -> None:
    assert resolve(value) == resolved


@pytest.mark.parametrize(
    ("value", "message"),
    [
        ({"Ref": "Nothing"}, "training: there is no resource Nothing"),
        ({"Ref": "Bootstrap"}, "training: parameter Bootstrap has no value before the deployment"),
        ({"Fn::GetAtt": ["Bucket", "Colour"]}, "training: the judge knows no attribute Colour of Bucket"),
        ({"Fn::Base64": "x"}, "training: the judge does not know Fn::Base64"),
        ({"Fn::GetStackOutput": {"StackName": "other", "OutputName": "X"}}, "refers to stack other, which is not"),
        ({"Fn::GetStackOutput": {"StackName": "network", "OutputName": "X"}}, "stack network has no output X"),
    ],
)
def test_says_what_it_cannot_resolve(value: Any, message: str) -> None:
    with pytest.raises(UnresolvedReferenceError, match=message):
        resolve(value)
