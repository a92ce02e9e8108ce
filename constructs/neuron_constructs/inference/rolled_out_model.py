"""Which version of a model is served, as parameters of the stack that serves it.

A roll-out is an update of the stack with its own template and another value: version, hosts and tasks change together,
and when tasks do not become healthy CloudFormation takes all of it back. An SSM parameter would be a second truth: the
stack's roll-back leaves it alone, and CloudFormation writes its first value again whenever a tag of it changes.
`cdk deploy` goes on with the values that a stack has.
"""

import re
from collections.abc import Mapping
from dataclasses import dataclass

import aws_cdk as cdk
from constructs import Construct

SERVED = "ServedModel"
"""Parameter with the prefix that is served."""

PREVIOUS = "PreviousModel"
"""Parameter with the prefix that was served before."""

METADATA = "Slipway::Service"
"""Key of the template's metadata that tells `slipway roll-out` what the service is."""


@dataclass(frozen=True, kw_only=True)
class RolledOutModelProps:
    """Properties of a `RolledOutModel`."""

    name: str
    """The model's name: versions are folders below it."""

    none_chosen: str
    """Value of both parameters before the first roll-out."""

    service: Mapping[str, str | int | None]
    """What a version must fit: engine, its Neuron release, the hosts."""


class RolledOutModel:
    """Two parameters of a stack, and the condition that tells whether there is a version at all."""

    prefix: str
    is_chosen: cdk.CfnCondition

    def __init__(self, stack: cdk.Stack, props: RolledOutModelProps) -> None:
        """Add the parameters to the stack."""
        served = _parameter(stack, SERVED, "Prefix of the model that is served; `slipway roll-out` sets it", props)
        previous = _parameter(
            stack, PREVIOUS, "Prefix that was served before; `slipway roll-out --back` returns", props
        )
        self.prefix = served.value_as_string
        self.is_chosen = cdk.CfnCondition(
            stack,
            "ModelIsRolledOut",
            expression=cdk.Fn.condition_not(cdk.Fn.condition_equals(served.value_as_string, props.none_chosen)),
        )
        cdk.CfnOutput(stack, "Served", value=served.value_as_string, description="Prefix of the model that is served")
        cdk.CfnOutput(stack, "ServedBefore", value=previous.value_as_string, description="Prefix served before")
        stack.add_metadata(METADATA, dict(props.service))


def _parameter(scope: Construct, id: str, description: str, props: RolledOutModelProps) -> cdk.CfnParameter:  # noqa: A002
    return cdk.CfnParameter(
        scope,
        id,
        type="String",
        default=props.none_chosen,
        # The value becomes part of a shell script and of paths.
        allowed_pattern=f"^({re.escape(props.none_chosen)}|{re.escape(props.name)}/[a-z0-9]([a-z0-9.-]{{0,61}}[a-z0-9])?)$",
        constraint_description=f"must be {props.name}/VERSION",
        description=description,
    )
