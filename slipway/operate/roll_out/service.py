"""The deployed services: what each is, what it serves, and how it is updated to serve something else."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from pydantic import BaseModel, ConfigDict, TypeAdapter

from slipway import facts
from slipway.aws.stacks import deployed_template, find_stack
from slipway.errors import RefusedError
from slipway.operate.roll_out.state import WHOLE, State, Step, digest_of, pinned, prefix_of

METADATA = "Slipway::RolledOutModels"
"""Key of the template's metadata that describes the services, by the name of their model."""

_CAPABILITIES = ["CAPABILITY_IAM", "CAPABILITY_NAMED_IAM", "CAPABILITY_AUTO_EXPAND"]


_NOT_PINNED = "none"
"""Value of a parameter that names no manifest (constructs/neuron_constructs/inference/model.py)."""


class _Part(BaseModel):
    model_config = ConfigDict(frozen=True, strict=True, extra="ignore")


class Parameters(_Part):
    """Names of the stack's parameters with what is served; those of a candidate only where there can be one."""

    served: str
    previous: str
    candidate: str | None = None
    served_manifest: str | None = None
    previous_manifest: str | None = None
    candidate_manifest: str | None = None
    served_weight: str | None = None
    candidate_weight: str | None = None
    task_count: str | None = None


class ServiceDescription(_Part):
    """What a version must fit, as the deployed template says it."""

    parameters: Parameters
    """Where the stack says what is served."""

    none_chosen: str
    """Value of a parameter that names no version."""

    service_name: str
    """Name of its ECS service; the cluster has the stack's name."""

    engine: str
    """Name of the inference engine."""

    neuron_release: str | None = None
    """Neuron SDK release in the engine's image; none where it is not known."""

    neuron_runtime: str | None = None
    """Version of the Neuron runtime library in the engine's image; none where it is not known."""

    neuron_driver: str | None = None
    """Version of the Neuron driver in the hosts' image; none in templates of Slipway's early days, whose hosts take the
    newest image that AWS has."""

    architectures: tuple[str, ...] = ()
    """Model architectures that the engine serves, as `config.json` names them; empty where that is not known."""

    instance_type: str
    """EC2 instance type of the hosts."""

    logical_neuron_cores: int
    """NeuronCores of a host."""

    neuron_memory_gib: int
    """Device memory of a host."""

    memory_gib: int
    """Memory of a host."""

    volume_gib: int | None = None
    """Size of the volume that a version is copied to; none where nothing is copied."""

    desired_count: int
    """Tasks that serve a version, without those that scaling adds: the fewest."""

    compiled: facts.CompiledShape | None = None
    """What the environment file says that versions are compiled for."""

    limits: Mapping[str, int] = {}
    """Less than that, by name."""

    @property
    def has_pins(self) -> bool:
        """Whether hosts insist on the manifest that was rolled out."""
        return self.parameters.served_manifest is not None

    @property
    def has_canary(self) -> bool:
        """Whether a candidate can be served."""
        return self.parameters.candidate is not None

    @property
    def candidate_name(self) -> str:
        """Name of the candidate's ECS service."""
        return f"{self.service_name}-candidate"

    def state(self, values: Mapping[str, str]) -> State:
        """Return what is served, of the values of the stack's parameters."""

        def version(name: str | None, manifest: str | None) -> str | None:
            if name is None or values[name] == self.none_chosen:
                return None
            digest = values[manifest] if manifest else _NOT_PINNED
            return values[name] if digest == _NOT_PINNED else pinned(values[name], digest)

        names = self.parameters
        weight = values[names.candidate_weight] if names.candidate_weight else "0"
        return State(
            version(names.served, names.served_manifest),
            version(names.previous, names.previous_manifest),
            version(names.candidate, names.candidate_manifest),
            int(weight),
        )

    def values(self, step: Step) -> dict[str, str]:
        """Return the parameters that a step changes, with their new values."""
        names, new = self.parameters, {}
        for field, value in step.changes.items():
            if field == "percent":
                new[str(names.served_weight)] = str(WHOLE - int(value or 0))
                new[str(names.candidate_weight)] = str(value)
            else:
                version = None if value is None else str(value)
                new[getattr(names, field)] = prefix_of(version) or self.none_chosen
                if manifest := getattr(names, f"{field}_manifest"):
                    new[manifest] = digest_of(version) or _NOT_PINNED
        return new


_DESCRIPTIONS = TypeAdapter(dict[str, ServiceDescription])


@dataclass(frozen=True)
class InferenceStack:
    """A deployed inference stack.

    Attributes:
        cloudformation: boto3 client.
        name: its name.
        id: its ARN.
        status: such as `UPDATE_COMPLETE`.
        services: what each model's service is, by the model's name.
        bucket: the model bucket.
        values: the stack's parameters with their values.
    """

    cloudformation: Any
    name: str
    id: str
    status: str
    services: Mapping[str, ServiceDescription]
    bucket: str
    values: Mapping[str, str]

    @property
    def region(self) -> str:
        """AWS Region of the stack."""
        return self.id.split(":")[3]

    def state(self, model: str) -> State:
        """Return what is served of a model."""
        return self.services[model].state(self.values)

    def begin(self, model: str, step: Step, tasks: int) -> None:
        """Begin the update that is a step; everything else of the stack stays.

        Args:
            model: the model's name.
            step: the step.
            tasks: how many tasks the model's service wants now. CloudFormation sets the count again whenever it changes
                the service: told the minimum, it would end those that scaling has added.
        """
        service = self.services[model]
        changed = service.values(step)
        if service.parameters.task_count and step.before.served != step.after.served:
            changed[service.parameters.task_count] = str(max(service.desired_count, tasks))
        self.cloudformation.update_stack(
            StackName=self.id,
            UsePreviousTemplate=True,
            Parameters=[
                {"ParameterKey": name, "ParameterValue": changed[name]}
                if name in changed
                else {"ParameterKey": name, "UsePreviousValue": True}
                for name in self.values
            ],
            Capabilities=_CAPABILITIES,
        )


def find_inference_stack(cloudformation: Any, name: str) -> InferenceStack:
    """Return a deployed inference stack.

    Raises:
        RefusedError: the stack is not deployed, or not with a model that is rolled out.
        botocore.exceptions.ClientError: AWS refuses.
    """
    found = find_stack(cloudformation, name)
    template = deployed_template(cloudformation, name)
    if found is None or template is None:
        raise RefusedError(f"{name} is not deployed in this account and Region: `npx cdk deploy` it first")
    # boto3 answers with ordered mappings.
    services = _DESCRIPTIONS.validate_json(json.dumps(template.get("Metadata", {}).get(METADATA, {})))
    if not services:
        raise RefusedError(
            f"{name} serves fixed prefixes only: take `prefix` out of a model in the inference section, deploy, and "
            "then roll versions out"
        )
    return InferenceStack(
        cloudformation,
        name,
        found["StackId"],
        found["StackStatus"],
        services,
        next(item["OutputValue"] for item in found.get("Outputs", []) if item["OutputKey"] == "ModelBucket"),
        stack_values(found),
    )


def stack_values(found: Mapping[str, Any]) -> dict[str, str]:
    """Return the parameters of a stack, as CloudFormation describes it, with their values."""
    return {item["ParameterKey"]: item["ParameterValue"] for item in found.get("Parameters", [])}
