"""The deployed service: what it is, what it serves, and how it is updated to serve something else."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from botocore.exceptions import ClientError
from pydantic import BaseModel, ConfigDict

from slipway.roll_out.errors import RefusedError

SERVED = "ServedModel"
"""The stack's parameter with the prefix that is served."""

PREVIOUS = "PreviousModel"
"""The stack's parameter with the prefix that was served before."""

METADATA = "Slipway::Service"
"""Key of the template's metadata that describes the service."""

NONE = "no-model-chosen"
"""Value of both parameters before the first roll-out."""

_CAPABILITIES = ["CAPABILITY_IAM", "CAPABILITY_NAMED_IAM", "CAPABILITY_AUTO_EXPAND"]


class ServiceDescription(BaseModel):
    """What a version must fit, as the deployed template says it."""

    model_config = ConfigDict(frozen=True, strict=True, extra="ignore")

    model: str
    """Name of the model whose versions it serves."""

    engine: str
    """Name of the inference engine."""

    neuron_release: str | None
    """Neuron SDK release in the engine's image; none where it is not known."""

    instance_type: str
    """EC2 instance type of the hosts."""

    logical_neuron_cores: int
    """NeuronCores of a host."""

    neuron_memory_gib: int
    """Device memory of a host."""

    memory_gib: int
    """Memory of a host."""

    desired_count: int
    """Tasks that serve a version."""


@dataclass(frozen=True)
class Service:
    """A deployed inference stack.

    Attributes:
        cloudformation: boto3 client.
        stack: the stack's name.
        id: its ARN.
        status: such as `UPDATE_COMPLETE`.
        description: what it is.
        bucket: the model bucket.
        parameters: the stack's parameters with their values.
    """

    cloudformation: Any
    stack: str
    id: str
    status: str
    description: ServiceDescription
    bucket: str
    parameters: Mapping[str, str]

    @property
    def served(self) -> str | None:
        """Prefix that is served; none before the first roll-out."""
        return _chosen(self.parameters[SERVED])

    @property
    def previous(self) -> str | None:
        """Prefix that was served before."""
        return _chosen(self.parameters[PREVIOUS])

    def serve(self, prefix: str) -> None:
        """Begin the update that serves another prefix; everything else of the stack stays.

        Args:
            prefix: `<model>/<version>`.
        """
        changed = {SERVED: prefix, PREVIOUS: self.parameters[SERVED]}
        self.cloudformation.update_stack(
            StackName=self.stack,
            UsePreviousTemplate=True,
            Parameters=[
                {"ParameterKey": name, "ParameterValue": changed[name]}
                if name in changed
                else {"ParameterKey": name, "UsePreviousValue": True}
                for name in self.parameters
            ],
            Capabilities=_CAPABILITIES,
        )


def _chosen(value: str) -> str | None:
    return None if value == NONE else value


def find_service(cloudformation: Any, stack: str) -> Service:
    """Return the service of a deployed stack.

    Raises:
        RefusedError: the stack is not deployed, or not with a model that is rolled out.
        botocore.exceptions.ClientError: AWS refuses.
    """
    try:
        [found] = cloudformation.describe_stacks(StackName=stack)["Stacks"]
    except ClientError as error:
        if "does not exist" not in str(error):
            raise
        raise RefusedError(f"{stack} is not deployed in this account and Region: `npx cdk deploy` it first") from error
    parameters = {item["ParameterKey"]: item["ParameterValue"] for item in found.get("Parameters", [])}
    body = cloudformation.get_template(StackName=stack, TemplateStage="Original")["TemplateBody"]
    template = json.loads(body) if isinstance(body, str) else body
    description = template.get("Metadata", {}).get(METADATA)
    if description is None or not {SERVED, PREVIOUS} <= set(parameters):
        raise RefusedError(
            f"{stack} serves a fixed prefix: write `model: {{name: ...}}` in the inference section, deploy, and then "
            "roll versions out"
        )
    return Service(
        cloudformation,
        stack,
        found["StackId"],
        found["StackStatus"],
        # The provider hands JSON out as ordered mappings.
        ServiceDescription.model_validate_json(json.dumps(description)),
        next(item["OutputValue"] for item in found.get("Outputs", []) if item["OutputKey"] == "ModelBucket"),
        parameters,
    )
