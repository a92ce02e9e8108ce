"""The region around a stack, as intrinsic functions and dynamic references see it."""

import json
from collections.abc import Callable, Mapping, Sequence

from botocore.exceptions import ClientError

from slipway_emulator.clients import Clients
from slipway_emulator.failures import ProvisioningError
from slipway_emulator.ledger import Ledger
from slipway_emulator.stacks.model import Stack

FindStack = Callable[[str, str], Stack | None]
"""Stack name or id, region -> the stack that is not deleted."""

Exports = Callable[[str], Mapping[str, str]]
"""Region -> export name to value."""


class RegionContext:
    """Looks values up for one operation on one stack, and remembers which exports and outputs of others it read."""

    def __init__(self, region: str, clients: Clients, ledger: Ledger, find_stack: FindStack, exports: Exports) -> None:
        self._region = region
        self._clients = clients
        self._ledger = ledger
        self._find_stack = find_stack
        self._exports = exports
        self.imports: set[str] = set()
        self.outputs: dict[tuple[str, str, str], str] = {}

    def stack_output(self, stack_name: str, output_name: str, region: str) -> str:
        """The current value of another stack's output."""
        stack = self._find_stack(stack_name, region)
        if stack is None:
            raise ProvisioningError(
                f"Fn::GetStackOutput: stack {stack_name} does not exist in {region}"
                f" (its output {output_name} was asked for)"
            )
        for output in stack.state.outputs:
            if output.key == output_name:
                self._clients.guard.require("cloudformation:DescribeStacks", region, StackName=stack.id)
                self.outputs[stack_name, output_name, region] = output.value
                return output.value
        raise ProvisioningError(f"Fn::GetStackOutput: stack {stack_name} has no output {output_name}")

    def changed_outputs(self, outputs: Mapping[tuple[str, str, str], str]) -> set[tuple[str, str]]:
        """Stack name and output name of those whose value is another one now.

        Args:
            outputs: values that were read, by stack name, output name and region.
        """
        return {
            (stack, name) for (stack, name, region), value in outputs.items() if self._now(stack, name, region) != value
        }

    def _now(self, stack: str, name: str, region: str) -> str | None:
        try:
            return self.stack_output(stack, name, region)
        except ProvisioningError:
            return None  # gone: if the template still reads it, the operation fails on it

    def exported_value(self, export_name: str) -> str:
        """The value of an export of this region."""
        exports = self._exports(self._region)
        if export_name not in exports:
            raise ProvisioningError(f"No export named {export_name} found.")
        self.imports.add(export_name)
        return exports[export_name]

    def ssm_parameter(self, name: str) -> str:
        """The value of a Systems Manager parameter."""
        client = self._clients.get("ssm", self._region)
        try:
            found = client.get_parameters(Names=[name], WithDecryption=True)["Parameters"]
        except ClientError as error:
            raise ProvisioningError(f"Could not read parameter {name}: {error}") from error
        if not found:
            raise ProvisioningError(f"Unable to fetch parameters [{name}] from parameter store for this account.")
        parameter = found[0]
        if parameter["Type"] == "SecureString":
            self._ledger.hide(parameter["Value"])
        return str(parameter["Value"])

    def secret(self, secret_id: str, json_key: str | None, stage: str | None, version: str | None) -> str:
        """A secret's text or one field of it; the ledger never shows either."""
        choice = {"VersionStage": stage, "VersionId": version}
        client = self._clients.get("secretsmanager", self._region)
        try:
            answer = client.get_secret_value(
                SecretId=secret_id, **{name: value for name, value in choice.items() if value}
            )
        except ClientError as error:
            raise ProvisioningError(f"Could not read secret {secret_id}: {error}") from error
        text = str(answer["SecretString"])
        self._ledger.hide(text)
        if json_key is None:
            return text
        try:
            value = str(json.loads(text)[json_key])
        except (ValueError, KeyError, TypeError) as error:
            raise ProvisioningError(f"Could not find a field {json_key} in secret {secret_id}") from error
        self._ledger.hide(value)
        return value

    def availability_zones(self, region: str) -> Sequence[str]:
        """The names of a region's availability zones."""
        zones = self._clients.get("ec2", region).describe_availability_zones()["AvailabilityZones"]
        return sorted(zone["ZoneName"] for zone in zones)
