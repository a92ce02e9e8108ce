"""The values of a template's parameters."""

import re
from collections.abc import Mapping
from typing import Any

from slipway_emulator.failures import TemplateError
from slipway_emulator.template.context import Context
from slipway_emulator.template.document import Template

_SSM_TYPE = "AWS::SSM::Parameter::Value<"

ParameterValue = str | list[str]


def parameter_values(template: Template, submitted: Mapping[str, str], context: Context) -> dict[str, ParameterValue]:
    """The value of every parameter: submitted or default, checked, looked up, split when it is a list.

    Raises:
        TemplateError: A value is missing, not declared, or against the parameter's constraints.
        ProvisioningError: A Systems Manager parameter does not exist.
    """
    declared = template.section("Parameters")
    if unknown := sorted(set(submitted) - set(declared)):
        raise TemplateError(f"Parameters: [{', '.join(unknown)}] do not exist in the template")
    missing = [name for name, rule in declared.items() if name not in submitted and "Default" not in rule]
    if missing:
        raise TemplateError(f"Parameters: [{', '.join(missing)}] must have values")
    values: dict[str, ParameterValue] = {}
    for name, rule in declared.items():
        text = _as_text(submitted.get(name, rule.get("Default")))
        _check(name, rule, text)
        values[name] = _typed(rule.get("Type", "String"), text, context)
    return values


def _as_text(value: Any) -> str:
    """A default may be written as a number or a boolean; parameters are text."""
    return str(value).lower() if isinstance(value, bool) else str(value)


def _check(name: str, rule: Mapping[str, Any], text: str) -> None:
    allowed = rule.get("AllowedValues")
    pattern = rule.get("AllowedPattern")
    if allowed is not None and text not in [_as_text(value) for value in allowed]:
        raise TemplateError(f"Parameter '{name}' must be one of AllowedValues")
    if pattern is not None and not re.fullmatch(pattern, text):
        raise TemplateError(f"Parameter '{name}' must match pattern {pattern}")


def _typed(declared_type: str, text: str, context: Context) -> ParameterValue:
    if declared_type.startswith(_SSM_TYPE):
        declared_type = declared_type.removeprefix(_SSM_TYPE).removesuffix(">")
        text = context.ssm_parameter(text)
    if declared_type == "CommaDelimitedList" or declared_type.startswith("List<"):
        return [item.strip() for item in text.split(",")]
    return text
