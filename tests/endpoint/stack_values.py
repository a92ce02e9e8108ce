"""Values of a synthesized template's expressions, as a stack deployed from it would have them.

The rehearsal's resolver does the work. What only AWS knows has a value that says where it comes from: a resource is its
logical id, its attribute `Id.Attribute`, an export its name.
"""

import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from slipway_emulator.template.document import Template
from slipway_emulator.template.intrinsics import Resolver, StackIdentity
from slipway_emulator.template.parameters import parameter_values

_ROLLED_OUT = "Slipway::RolledOutModels"
_STACK = StackIdentity("endpoint", "arn:aws:cloudformation:us-west-2:111122223333:stack/endpoint/1", "us-west-2")


@dataclass(frozen=True)
class _NamedResource:
    physical_id: str

    def attribute(self, name: str) -> str:
        prefix = "arn:aws:service:us-west-2:111122223333:" if name.endswith("Arn") else ""
        return f"{prefix}{self.physical_id}.{name}"


class _NamedSurroundings:
    def stack_output(self, stack_name: str, output_name: str, region: str) -> str:
        return f"{region}.{stack_name}.{output_name}"

    def exported_value(self, export_name: str) -> str:
        return export_name

    def ssm_parameter(self, name: str) -> str:
        return name

    def secret(self, secret_id: str, json_key: str | None, stage: str | None, version: str | None) -> str:
        raise AssertionError(f"the template takes a secret's value into a property: {secret_id}")

    def availability_zones(self, region: str) -> Sequence[str]:
        return [f"{region}a", f"{region}b"]


# Types whose Ref is a property that the template gives.
_REF_IS_PROPERTY = {"AWS::Cognito::UserPoolResourceServer": "Identifier", "AWS::Cognito::UserPoolDomain": "Domain"}


def _physical_id(logical_id: str, definition: Mapping[str, Any]) -> str:
    given = definition.get("Properties", {}).get(_REF_IS_PROPERTY.get(definition["Type"], ""))
    return given if isinstance(given, str) else logical_id


class StackValues:
    """A template with given values of its parameters; the others have their defaults."""

    def __init__(self, template: Mapping[str, Any], parameters: Mapping[str, str] | None = None) -> None:
        document, surroundings = Template(json.dumps(template)), _NamedSurroundings()
        values = parameter_values(document, parameters or {}, surroundings)
        resources = {
            logical_id: _NamedResource(_physical_id(logical_id, definition))
            for logical_id, definition in document.resources.items()
        }
        self._resolver = Resolver(_STACK, document, values, surroundings, dict(resources))
        self._document = document

    def resources(self, resource_type: str) -> Iterator[tuple[str, dict[str, Any]]]:
        """Logical id and properties of the resources of a type that the stack has."""
        for logical_id, definition in self._resolver.active(self._document.resources).items():
            if definition["Type"] == resource_type:
                yield logical_id, self._resolver.resolve(definition.get("Properties", {}))

    def outputs(self) -> dict[str, str]:
        """The stack's outputs."""
        active = self._resolver.active(self._document.section("Outputs"))
        return {name: self._resolver.text(output["Value"]) for name, output in active.items()}

    @property
    def metadata(self) -> Mapping[str, Any]:
        """The template's metadata."""
        return self._document.section("Metadata")


def rolled_out_parameters(template: Mapping[str, Any]) -> dict[str, Mapping[str, str]]:
    """Names of the parameters of each model that is rolled out, by the model's name."""
    models = template.get("Metadata", {}).get(_ROLLED_OUT, {})
    return {name: described["parameters"] for name, described in models.items()}


def with_version(template: Mapping[str, Any], version: str = "v1") -> dict[str, str]:
    """Parameters of a stack whose models have all been rolled out, without a candidate."""
    return {names["served"]: f"{name}/{version}" for name, names in rolled_out_parameters(template).items()}
