from typing import Any

import pytest
from botocore.session import get_session

from slipway_emulator.resources.expressions import evaluate
from slipway_emulator.resources.shapes import Fitter


def input_shape(service: str, operation: str) -> Any:
    return get_session().get_service_model(service).operation_model(operation).input_shape


def test_names_are_matched_without_case_and_values_coerced() -> None:
    fitter = Fitter({})
    fitted = fitter.fit(
        input_shape("ecs", "CreateService"),
        {
            "ServiceName": "model",
            "DesiredCount": "2",
            "EnableECSManagedTags": "true",
            "LoadBalancers": [{"ContainerPort": 80.0, "TargetGroupArn": "arn"}],
        },
    )
    assert fitted == {
        "serviceName": "model",
        "desiredCount": 2,
        "enableECSManagedTags": True,
        "loadBalancers": [{"containerPort": 80, "targetGroupArn": "arn"}],
    }
    assert fitter.unmapped == []


def test_property_without_a_home_is_reported_with_its_path() -> None:
    fitter = Fitter({})
    fitted = fitter.fit(
        input_shape("ec2", "CreateVpc"), {"CidrBlock": "10.0.0.0/16", "Colour": "red", "TagSpecifications": [{"X": 1}]}
    )
    assert fitted["CidrBlock"] == "10.0.0.0/16"
    assert fitter.unmapped == ["Colour", "TagSpecifications.X"]


def test_renames_follow_paths_and_may_nest() -> None:
    fitter = Fitter({"LifecycleConfiguration.Rules.ExpirationInDays": "Expiration.Days"})
    fitted = fitter.fit(
        input_shape("s3", "PutBucketLifecycleConfiguration"),
        {"Bucket": "b", "LifecycleConfiguration": {"Rules": [{"Status": "Enabled", "ExpirationInDays": "7"}]}},
    )
    assert fitted["LifecycleConfiguration"]["Rules"] == [{"Status": "Enabled", "Expiration": {"Days": 7}}]


def test_documents_become_text_and_tags_become_maps() -> None:
    fitter = Fitter({})
    role = fitter.fit(input_shape("iam", "CreateRole"), {"AssumeRolePolicyDocument": {"Version": "2012-10-17"}})
    function = fitter.fit(input_shape("lambda", "CreateFunction"), {"Tags": [{"Key": "a", "Value": "b"}]})
    assert role["AssumeRolePolicyDocument"] == '{"Version": "2012-10-17"}'
    assert function["Tags"] == {"a": "b"}


def test_number_that_is_none_is_refused() -> None:
    with pytest.raises(ValueError, match="many"):
        Fitter({}).fit(input_shape("ecs", "CreateService"), {"DesiredCount": "many"})


def test_security_group_rule_becomes_a_permission() -> None:
    rule = {"IpProtocol": "tcp", "FromPort": "988", "ToPort": 988, "CidrIp": "10.0.0.0/16", "Description": "Lustre"}
    assert evaluate("permissions(value)", {"value": rule}) == [
        {
            "IpProtocol": "tcp",
            "FromPort": 988,
            "ToPort": 988,
            "IpRanges": [{"CidrIp": "10.0.0.0/16", "Description": "Lustre"}],
        }
    ]
