"""The rows agree with what they speak of: boto3's calls, moto's actions and CloudFormation's schemas."""

import importlib
from collections.abc import Mapping
from functools import cache

import pytest
from botocore import xform_name
from botocore.model import OperationModel, StructureShape
from botocore.session import get_session
from cfnlint.schema import PROVIDER_SCHEMA_MANAGER  # type: ignore[import-untyped]
from moto.core.utils import camelcase_to_underscores

from slipway_emulator.resources.expressions import compiled
from slipway_emulator.resources.row import Call, Record, Row, calls
from slipway_emulator.resources.rows import api_rows, records

REGION = "us-west-2"
MOTO_PACKAGES = {
    "lambda": "awslambda",
    "application-autoscaling": "applicationautoscaling",
    "cognito-idp": "cognitoidp",
}
# A topic takes its policy along, a user pool its resource servers.
GO_WITH_ANOTHER = {"AWS::SNS::TopicPolicy", "AWS::Cognito::UserPoolResourceServer"}
NOT_IN_REGISTRY = {"AWS::CDK::Metadata", "Custom::AWSCDK-EKS-HelmChart"}


@cache
def operations(service: str) -> dict[str, OperationModel]:
    """boto3's method names of a service and what they take."""
    model = get_session().get_service_model(service)
    return {xform_name(name): model.operation_model(name) for name in model.operation_names}


def declared_properties(resource_type: str) -> frozenset[str]:
    """Every top-level property of a type of CloudFormation's registry, attributes included."""
    return frozenset(PROVIDER_SCHEMA_MANAGER.get_resource_schema(REGION, resource_type).schema["properties"])


EVERY_CALL = [
    pytest.param(row.service, call, id=f"{resource_type}-{call.operation}")
    for resource_type, row in api_rows().items()
    for call in calls(row)
]
# moto's S3 has methods of its own making for some operations.
EVERY_CALL_OUTSIDE_S3 = [case for case in EVERY_CALL if case.values[0] != "s3"]
ALL_ROWS: Mapping[str, Row | Record] = {**api_rows(), **records()}


def expressions(row: Row | Record) -> list[str]:
    texts = [row.physical_id, *row.attributes.values()]
    if isinstance(row, Row):
        texts += [text for call in calls(row) for text in call.arguments.values()]
    return texts


@pytest.mark.parametrize(("service", "call"), EVERY_CALL)
def test_call_and_its_arguments_exist(service: str, call: Call) -> None:
    shape = operations(service)[call.operation].input_shape
    assert isinstance(shape, StructureShape)
    assert set(call.arguments) <= set(shape.members)


@pytest.mark.parametrize(("service", "call"), EVERY_CALL_OUTSIDE_S3)
def test_moto_has_the_action(service: str, call: Call) -> None:
    package = MOTO_PACKAGES.get(service, service)
    module = importlib.import_module(f"moto.{package}.responses")
    name = camelcase_to_underscores(operations(service)[call.operation].name)
    classes = [member for member in vars(module).values() if isinstance(member, type)]
    assert any(hasattr(member, name) for member in classes), f"moto.{package} has no {name}"


@pytest.mark.parametrize("resource_type", sorted(ALL_ROWS))
def test_expressions_are_well_formed(resource_type: str) -> None:
    for text in expressions(ALL_ROWS[resource_type]):
        compiled(text)


@pytest.mark.parametrize("resource_type", sorted(ALL_ROWS.keys() - NOT_IN_REGISTRY))
def test_type_is_one_of_cloudformation(resource_type: str) -> None:
    assert declared_properties(resource_type)


@pytest.mark.parametrize("resource_type", sorted(api_rows()))
def test_properties_are_those_of_the_type(resource_type: str) -> None:
    row = api_rows()[resource_type]
    named = {*row.settings, *(path.split(".")[0] for path in row.rename)}
    if row.name:
        named.add(row.name.property)
    assert named <= declared_properties(resource_type)


@pytest.mark.parametrize("resource_type", sorted(api_rows()))
def test_row_can_create_and_delete(resource_type: str) -> None:
    row = api_rows()[resource_type]
    assert row.operation or row.settings
    goes_alone = row.delete or any(setting.release for setting in row.settings.values())
    assert goes_alone or resource_type in GO_WITH_ANOTHER


@pytest.mark.parametrize("resource_type", sorted(records()))
def test_record_says_why(resource_type: str) -> None:
    assert records()[resource_type].why
