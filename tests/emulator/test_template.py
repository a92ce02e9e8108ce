import json
from typing import Any

import pytest

from slipway_emulator.failures import ProvisioningError, TemplateError
from slipway_emulator.template.document import Template
from slipway_emulator.template.dynamic_references import with_dynamic_references
from slipway_emulator.template.parameters import parameter_values
from slipway_emulator.template.references import creation_order, references
from slipway_emulator.template.rules import check_rules
from tests.emulator.known_region import KnownRegion, resolver

SECRET_ARN = "arn:aws:secretsmanager:us-west-2:123456789012:secret:token-AbCdEf"


def test_short_forms_of_yaml() -> None:
    body = "Resources:\n  A: {Type: X, Properties: {a: !Ref B, b: !GetAtt C.D.E, c: !Sub '${F}', d: 2012-10-17}}\n"
    assert Template(body).resources["A"]["Properties"] == {
        "a": {"Ref": "B"},
        "b": {"Fn::GetAtt": ["C", "D.E"]},
        "c": {"Fn::Sub": "${F}"},
        "d": "2012-10-17",
    }


@pytest.mark.parametrize(
    ("body", "named"),
    [
        ("{not json", "not well-formed"),
        ("- a list", "unsupported structure"),
        ('{"Resources": {}}', "At least one Resources member"),
        ('{"Resources": {"A": {}}}', "/Resources/A"),
        ('{"Transform": "AWS::Serverless-2016-10-31", "Resources": {"A": {"Type": "X"}}}', "Serverless"),
    ],
)
def test_malformed_template_is_refused(body: str, named: str) -> None:
    with pytest.raises(TemplateError, match=named):
        Template(body).check()


@pytest.mark.parametrize(
    ("node", "found"),
    [
        ({"Ref": "A"}, {"A"}),
        ({"Fn::GetAtt": ["A", "Arn"]}, {"A"}),
        ({"Fn::GetAtt": "A.Outputs.X"}, {"A"}),
        ({"deep": [{"Fn::Sub": "${A}-${!B}-${C.Arn}"}]}, {"A", "C"}),
        ({"Fn::Sub": ["${A}${B}", {"A": {"Ref": "C"}}]}, {"B", "C"}),
        ({"DependsOn": ["A", "B"]}, {"A", "B"}),
        ({"DependsOn": "A"}, {"A"}),
        ({"Ref": "AWS::Region"}, set()),
    ],
)
def test_references(node: Any, found: set[str]) -> None:
    assert references(node, {"A", "B", "C"}) == found


def test_creation_order_puts_what_is_needed_first() -> None:
    resources: dict[str, dict[str, Any]] = {
        "Service": {"Type": "X", "DependsOn": ["Listener"]},
        "Listener": {"Type": "X", "Properties": {"Arn": {"Ref": "LoadBalancer"}}},
        "LoadBalancer": {"Type": "X"},
        "Other": {"Type": "X"},
    }
    order = creation_order(resources)
    assert order.index("LoadBalancer") < order.index("Listener") < order.index("Service")
    assert creation_order(dict(reversed(resources.items()))) != []
    assert set(order) == set(resources)


def test_circle_is_named() -> None:
    with pytest.raises(TemplateError, match=r"Circular dependency between resources: \[A, B\]"):
        creation_order({"A": {"DependsOn": "B"}, "B": {"DependsOn": "A"}, "C": {}})


def parameters(declared: dict[str, Any], submitted: dict[str, str]) -> dict[str, str | list[str]]:
    return parameter_values(Template(json.dumps({"Parameters": declared})), submitted, KnownRegion())


def test_parameter_values() -> None:
    declared = {
        "Plain": {"Type": "String"},
        "Number": {"Type": "Number", "Default": 5},
        "Flag": {"Type": "String", "Default": True},
        "List": {"Type": "CommaDelimitedList", "Default": "a, b"},
        "Image": {"Type": "AWS::SSM::Parameter::Value<AWS::EC2::Image::Id>", "Default": "/images/neuron"},
    }
    assert parameters(declared, {"Plain": "x"}) == {
        "Plain": "x",
        "Number": "5",
        "Flag": "true",
        "List": ["a", "b"],
        "Image": "ami-1",
    }


@pytest.mark.parametrize(
    ("rule", "submitted", "message"),
    [
        ({"Type": "String"}, {}, r"\[P\] must have values"),
        ({"Type": "String", "Default": ""}, {"Q": "x"}, r"\[Q\] do not exist in the template"),
        ({"Type": "String", "AllowedValues": ["a", "b"]}, {"P": "c"}, "'P' must be one of"),
        ({"Type": "String", "AllowedPattern": "[a-z]+"}, {"P": "A"}, "'P' must match"),
        ({"Type": "AWS::SSM::Parameter::Value<String>", "Default": "/gone"}, {}, "/gone"),
    ],
)
def test_wrong_parameter_is_refused(rule: dict[str, Any], submitted: dict[str, str], message: str) -> None:
    with pytest.raises(ProvisioningError, match=message):
        parameters({"P": rule}, submitted)


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("{{resolve:ssm:/images/neuron}}", "ami-1"),
        ("image={{resolve:ssm:/images/neuron}};", "image=ami-1;"),
        ("{{resolve:secretsmanager:token}}", "token|None|None|None"),
        ("{{resolve:secretsmanager:token:SecretString:key:AWSCURRENT}}", "token|key|AWSCURRENT|None"),
        (f"{{{{resolve:secretsmanager:{SECRET_ARN}:SecretString:key::}}}}", f"{SECRET_ARN}|key|None|None"),
        ("no reference", "no reference"),
    ],
)
def test_dynamic_references(text: str, value: str) -> None:
    assert with_dynamic_references({"a": [text, 1]}, KnownRegion()) == {"a": [value, 1]}


@pytest.mark.parametrize("text", ["{{resolve:vault:x}}", "{{resolve:secretsmanager:t:SecretBinary}}"])
def test_unknown_dynamic_reference_is_refused(text: str) -> None:
    with pytest.raises(ProvisioningError):
        with_dynamic_references(text, KnownRegion())


def test_rule_that_does_not_hold_is_refused_with_its_description() -> None:
    too_old = {"Fn::Not": [{"Fn::Contains": [["1", "2"], {"Ref": "Version"}]}]}
    template = json.dumps({"Rules": {"New": {"Assertions": [{"Assert": too_old, "AssertDescription": "bootstrap"}]}}})
    check_rules(resolver(template, {"Version": "30"}))
    with pytest.raises(TemplateError, match="bootstrap"):
        check_rules(resolver(template, {"Version": "2"}))
