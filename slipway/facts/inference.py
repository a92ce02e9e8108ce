"""Inference engines (containers with an OpenAI-compatible API) and the machine image of their hosts."""

from __future__ import annotations

import operator
from collections.abc import Iterator, Mapping
from functools import cache
from typing import Annotated, Literal, NamedTuple

from pydantic import BaseModel, ConfigDict, Field

from slipway.facts.engine_settings import CompiledShape, EngineSettings, Template, template_fields
from slipway.facts.rows import FrozenList, FrozenMapping, Row, Text, find, load_rows

NeuronVersion = Annotated[str, Field(pattern=r"^[0-9]+(\.[0-9]+){3}$")]
"""Version of a Neuron system package without its build, for example ``2.28.0.0``."""

_Port = Annotated[int, Field(ge=1, le=65535)]
_Seconds = Annotated[int, Field(ge=0)]
_COMPARISONS = {"at most": operator.le, "equal to": operator.eq, "below": operator.lt}


class SettingsProblem(NamedTuple):
    """Why an engine would end at its start.

    Attributes:
        field: Where in the model's section of an environment file, for example ``("limits", "max_batch_size")``.
        message: What is wrong, with the numbers.
        fix: What to write.
    """

    field: tuple[str, ...]
    message: str
    fix: str


class CompiledLimit(BaseModel):
    """A limit that an engine takes, against the value that the model was compiled with.

    Attributes:
        compiled: The compiled value that bounds it.
        comparison: What the engine demands of the limit at its start. ``below`` also of a smaller total, where one is
            set.
        default_divisor: Left out, the limit is the compiled value divided by this and rounded down.
    """

    model_config = ConfigDict(frozen=True, strict=True, extra="forbid")

    compiled: Literal["batch_size", "sequence_length"]
    comparison: Literal["at most", "equal to", "below"]
    default_divisor: Annotated[int, Field(ge=1)] = 1


class InferenceEngine(Row):
    """The contract of one engine's container.

    Attributes:
        name: The engine's name in environment files.
        image: Container image with a pinned tag. An environment may name another image with the same contract.
        neuron_release: Neuron SDK release in that image. The engine loads only models that this release compiled.
        neuron_runtime: Version of the Neuron runtime library in that image. It works with some drivers only, see
            ``drivers_for``.
        machine_image: The hosts' image, a row of ``machine_images`` whose driver works with that library.
        instance_families: Families (see ``instance_family``) the image runs on.
        architectures: Model architectures it serves, as ``architectures`` in a model's ``config.json`` names them.
        model_files: Files of the model's folder without which the server would look for the model elsewhere, or compile
            it. A task ends where one is missing: its folder is empty, a mount is dead, or the model is not for this
            engine.
        entry_point: What the container runs in place of the image's own entry point; none where that one is right.
        command: Templates (see ``EngineSettings``) of the arguments. One with a field that has no value is left out.
        environment: Templates of the variables' values, likewise.
        model_id: Template of what clients send as ``model``: the id that the server lists. It is the same for every
            version.
        port: TCP port the server listens on; closed until the model is loaded.
        health_path: Answers 200 when the server can generate.
        metrics_path: Prometheus metrics.
        inference_paths: Paths of the OpenAI-compatible API; nothing else need be reachable for users.
        other_paths: Every other path that the server answers with the settings of this row, ``{name}`` for a variable
            part. A load balancer must not forward them.
        linux_capabilities: Capabilities the container needs. It gets no others, not even those of Docker's default set.
        writable_directories: Where the server writes. Each is an empty volume that ends with the task; the rest of the
            container's file system is read-only.
        working_directory: Where the server starts; none for the image's own.
        root_because: Why the container runs as root.
        shared_memory_mib: Size of ``/dev/shm`` the engine was tested with.
        drain_seconds: How long the server finishes running requests after SIGTERM; 0 when it does not.
        stop_timeout_seconds: Time until SIGKILL that lets the server drain.
        load_minutes: Minutes from the container's start to the first healthy answer that are to be allowed.
        needs_compiled: Whether the server needs the compiled shape as arguments; else it reads the model's file.
        limits: The limits that can be set, by their name in an environment file.
        metrics: The server's names of its metrics, by neutral names: the gauges ``queue_size`` and
            ``running_requests``, the counters ``prompt_tokens``, ``generated_tokens`` and ``requests_succeeded``, the
            histograms ``time_to_first_token`` and ``request_duration``. What a server does not have is not there.
        replaced_by: The engine to change to where upstream gives this one no fixes any more.
        note: The engine's state of maintenance, and what its users must know.
    """

    name: Text
    image: Text
    neuron_release: Annotated[str, Field(pattern=r"^[0-9]+\.[0-9]+\.[0-9]+$")]
    neuron_runtime: NeuronVersion
    machine_image: Text
    instance_families: FrozenList[Text]
    architectures: FrozenList[Text]
    model_files: FrozenList[Text]
    entry_point: FrozenList[Text] | None = None
    command: FrozenList[Template] = ()
    environment: FrozenMapping[Template]
    model_id: Template
    port: _Port
    health_path: Text
    metrics_path: Text
    inference_paths: FrozenList[Text]
    other_paths: FrozenList[Text]
    linux_capabilities: FrozenList[Text]
    writable_directories: FrozenList[Text]
    working_directory: Text | None = None
    root_because: Text
    shared_memory_mib: Annotated[int, Field(ge=64)]
    drain_seconds: _Seconds
    stop_timeout_seconds: _Seconds
    load_minutes: Annotated[int, Field(ge=1)]
    needs_compiled: bool = False
    limits: FrozenMapping[CompiledLimit]
    metrics: FrozenMapping[Text]
    replaced_by: Text | None = None
    note: Text

    def release_in(self, image: str | None) -> str | None:
        """Return the Neuron SDK release in an image: this engine's own, or a copy of it under the same tag.

        Args:
            image: The image that an environment names; none for the engine's own.

        Returns:
            The release; none where the image has another tag or a digest, which tell nothing.
        """
        return self.neuron_release if self._is_own(image) else None

    def runtime_in(self, image: str | None) -> str | None:
        """Return the Neuron runtime library in an image, as ``release_in`` does the release."""
        return self.neuron_runtime if self._is_own(image) else None

    def _is_own(self, image: str | None) -> bool:
        return image is None or image.endswith(f":{self.image.rpartition(':')[2]}")

    def command_for(self, settings: EngineSettings) -> list[str]:
        """Return the container's arguments; empty where the image's own are right."""
        values = settings.values(self.port)
        return [argument.format_map(values) for argument in self.command if template_fields(argument) <= values.keys()]

    def environment_for(self, settings: EngineSettings) -> dict[str, str]:
        """Return the container's variables without the API key."""
        values = settings.values(self.port)
        return {
            name: value.format_map(values)
            for name, value in self.environment.items()
            if template_fields(value) <= values.keys()
        }

    def model_id_for(self, settings: EngineSettings) -> str:
        """Return what clients send as ``model``."""
        return self.model_id.format_map(settings.values(self.port))

    def settings_problems(
        self, compiled: CompiledShape | None, limits: Mapping[str, int], logical_neuron_cores: int
    ) -> list[SettingsProblem]:
        """Return why the server would end at its start, by its own checks; empty when it would not.

        Args:
            compiled: What the model was compiled for. Without it only the limits among themselves can be compared.
            limits: The limits to set, by name; none for those left out.
            logical_neuron_cores: NeuronCores of the host.
        """
        if compiled is None and self.needs_compiled:
            message = f"{self.name} reads it from no file of the model: it must be an argument"
            fix = "Write batch_size, sequence_length and tensor_parallel_size as they were compiled."
            return [SettingsProblem(("compiled",), message, fix)]
        problems = [*self._core_problems(compiled, logical_neuron_cores)]
        for name, value in limits.items():
            problems += self._limit_problems(name, value, compiled)
        return problems or [*self._input_problems(compiled, limits)]

    def _core_problems(self, compiled: CompiledShape | None, cores: int) -> Iterator[SettingsProblem]:
        if compiled is not None and compiled.tensor_parallel_size > cores:
            message = f"the model needs {compiled.tensor_parallel_size} NeuronCores, a host has {cores}"
            fix = f"Choose a larger instance type, or compile for at most {cores}."
            yield SettingsProblem(("compiled", "tensor_parallel_size"), message, fix)

    def _limit_problems(self, name: str, value: int, compiled: CompiledShape | None) -> Iterator[SettingsProblem]:
        limit, field = self.limits.get(name), ("limits", name)
        if limit is None:
            yield SettingsProblem(field, f"{self.name} has no such limit (got {value})", "Leave it out.")
        elif compiled is not None:
            most: int = getattr(compiled, limit.compiled)
            if not _COMPARISONS[limit.comparison](value, most):
                message = f"must be {limit.comparison} the compiled {limit.compiled} (got {value}, compiled is {most})"
                smaller = most - 1 if limit.comparison == "below" else most
                less = "" if limit.comparison == "equal to" else " or less"
                yield SettingsProblem(field, message, f"Write {smaller}{less}, or leave it out.")

    def _input_problems(self, compiled: CompiledShape | None, limits: Mapping[str, int]) -> Iterator[SettingsProblem]:
        """A prompt must leave room for an answer: also the default one under a smaller total."""
        total, limit = limits.get("max_total_tokens"), self.limits.get("max_input_tokens")
        if total is None or limit is None or limit.comparison != "below":
            return
        given = limits.get("max_input_tokens")
        default = None if compiled is None else getattr(compiled, limit.compiled) // limit.default_divisor
        longest = default if given is None else given
        if longest is not None and longest >= total:
            origin = f"got {longest}" if given is not None else f"left out it is {longest}"
            message = f"must be below max_total_tokens ({origin}, max_total_tokens is {total})"
            yield SettingsProblem(("limits", "max_input_tokens"), message, f"Write {total - 1} or less.")


class MachineImage(Row):
    """A release of a machine image (AMI) that AWS publishes under an SSM parameter.

    Attributes:
        name: Slipway's name of the release.
        ssm_parameter: Parameter that holds the release's id in each Region; it names the release and never changes.
        neuron_driver: Version of the Neuron driver in it.
    """

    name: Text
    ssm_parameter: Annotated[str, Field(pattern="^/aws/service/")]
    neuron_driver: NeuronVersion


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
    """Return one machine image, for example ``ecs-neuron-al2023-20260618``.

    Raises:
        UnknownFact: Slipway uses no such image.
    """
    return find("machine image", name, machine_images())
