"""Context and resources that the template tests resolve against."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from slipway_emulator.failures import ProvisioningError
from slipway_emulator.template.document import Template
from slipway_emulator.template.intrinsics import Resolver, StackIdentity

IDENTITY = StackIdentity("training", "arn:aws:cloudformation:us-west-2:123456789012:stack/training/1", "us-west-2")


@dataclass(frozen=True)
class KnownResource:
    physical_id: str
    attributes: Mapping[str, Any] = field(default_factory=dict)

    def attribute(self, name: str) -> Any:
        if name not in self.attributes:
            raise ProvisioningError(f"no attribute {name}")
        return self.attributes[name]


class KnownRegion:
    """A region with one export, one stack output, one parameter and one secret."""

    def stack_output(self, stack_name: str, output_name: str, region: str) -> str:
        if (stack_name, output_name) != ("network", "VpcId"):
            raise ProvisioningError(f"stack {stack_name} has no output {output_name}")
        return f"vpc-of-{region}"

    def exported_value(self, export_name: str) -> str:
        if export_name != "shared-bucket":
            raise ProvisioningError(f"No export named {export_name} found.")
        return "bucket-1"

    def ssm_parameter(self, name: str) -> str:
        if name != "/images/neuron":
            raise ProvisioningError(f"no parameter {name}")
        return "ami-1"

    def secret(self, secret_id: str, json_key: str | None, stage: str | None, version: str | None) -> str:
        return f"{secret_id}|{json_key}|{stage}|{version}"

    def availability_zones(self, region: str) -> Sequence[str]:
        return [f"{region}a", f"{region}b"]


def resolver(
    template: str = '{"Resources": {}}',
    parameters: Mapping[str, str | list[str]] | None = None,
    resources: Mapping[str, KnownResource] | None = None,
) -> Resolver:
    return Resolver(IDENTITY, Template(template), parameters or {}, KnownRegion(), dict(resources or {}))
