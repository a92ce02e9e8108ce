"""What a template can ask of the region around its stack."""

from collections.abc import Sequence
from typing import Protocol


class Context(Protocol):
    """Values that intrinsic functions and dynamic references take from outside their own stack.

    Every method raises ProvisioningError, naming what is missing, when there is no such value.
    """

    def stack_output(self, stack_name: str, output_name: str, region: str) -> str:
        """The current value of another stack's output (Fn::GetStackOutput, a weak reference)."""
        ...

    def exported_value(self, export_name: str) -> str:
        """The value of an export (Fn::ImportValue); the exporting stack is locked from now on."""
        ...

    def ssm_parameter(self, name: str) -> str:
        """The value of a Systems Manager parameter; ``name:version`` asks for one version."""
        ...

    def secret(self, secret_id: str, json_key: str | None, stage: str | None, version: str | None) -> str:
        """A Secrets Manager secret, or one field of its JSON document."""
        ...

    def availability_zones(self, region: str) -> Sequence[str]:
        """The names of a region's availability zones."""
        ...
