"""Inference engines (containers with an OpenAI-compatible API) and the machine image of their hosts."""

from __future__ import annotations

from collections.abc import Mapping
from functools import cache
from typing import Annotated

from pydantic import Field

from slipway.facts.rows import FrozenList, FrozenMapping, Row, Text, find, load_rows

_Port = Annotated[int, Field(ge=1, le=65535)]
_Seconds = Annotated[int, Field(ge=0)]


class InferenceEngine(Row):
    """The contract of one engine's container.

    Attributes:
        name: The engine's name in environment files.
        image: Container image with a pinned tag. An environment may name another image with the same contract.
        neuron_release: Neuron SDK release in that image. The engine loads only models that this release compiled.
        instance_families: Families (see ``instance_family``) the image runs on.
        port: TCP port the server listens on; closed until the model is loaded.
        health_path: Answers 200 when the server can generate.
        metrics_path: Prometheus metrics.
        inference_paths: Paths of the OpenAI-compatible API; nothing else need be reachable for users.
        model_environment: Variable that takes the directory of the compiled model.
        served_name_environment: Variable that takes the id that clients know the model by, in place of its directory;
            none where the engine has no such setting.
        api_key_environment: Variable that takes the key clients send as ``Authorization: Bearer``.
        environment: Variables to set always.
        shared_memory_mib: Size of ``/dev/shm`` the engine was tested with.
        drain_seconds: How long the server finishes running requests after SIGTERM; 0 when it does not.
        stop_timeout_seconds: Time until SIGKILL that lets the server drain.
        queue_size_metric: Gauge of waiting requests, the signal to scale on.
        running_requests_metric: Gauge of requests in the current batch.
        note: The engine's state of maintenance.
    """

    name: Text
    image: Text
    neuron_release: Annotated[str, Field(pattern=r"^[0-9]+\.[0-9]+\.[0-9]+$")]
    instance_families: FrozenList[Text]
    port: _Port
    health_path: Text
    metrics_path: Text
    inference_paths: FrozenList[Text]
    model_environment: Text
    served_name_environment: Text | None
    api_key_environment: Text
    environment: FrozenMapping[Text]
    shared_memory_mib: Annotated[int, Field(ge=64)]
    drain_seconds: _Seconds
    stop_timeout_seconds: _Seconds
    queue_size_metric: Text
    running_requests_metric: Text
    note: Text

    def release_in(self, image: str | None) -> str | None:
        """Return the Neuron SDK release in an image: this engine's own, or a copy of it under the same tag.

        Args:
            image: The image that an environment names; none for the engine's own.

        Returns:
            The release; none where the image has another tag or a digest, which tell nothing.
        """
        tag = self.image.rpartition(":")[2]
        return self.neuron_release if image is None or image.endswith(f":{tag}") else None


class MachineImage(Row):
    """A machine image (AMI) that AWS publishes under an SSM parameter.

    Attributes:
        name: Slipway's name of the image.
        ssm_parameter: Parameter that holds the id of the newest image; it changes with every AWS release.
    """

    name: Text
    ssm_parameter: Annotated[str, Field(pattern="^/aws/service/")]


@cache
def inference_engines() -> Mapping[str, InferenceEngine]:
    """Return every inference engine by name."""
    return load_rows(InferenceEngine, "inference_engines.yaml")


def inference_engine(name: str) -> InferenceEngine:
    """Return one inference engine.

    Raises:
        UnknownFact: Slipway knows no such engine.
    """
    return find("inference engine", name, inference_engines())


@cache
def machine_images() -> Mapping[str, MachineImage]:
    """Return every machine image by name."""
    return load_rows(MachineImage, "machine_images.yaml")


def machine_image(name: str) -> MachineImage:
    """Return one machine image, for example ``ecs-neuron-al2023``.

    Raises:
        UnknownFact: Slipway uses no such image.
    """
    return find("machine image", name, machine_images())
