"""Whether the endpoint can serve what is about to be published, with the numbers. Asked before anything is compiled.

Sources: huggingface/optimum-neuron v0.3.0 and v0.4.5 (neuron_config.json's versions must be the engine's, exactly;
layers are divided evenly over the cores); AWS Neuron documentation, inf2 architecture (16 GiB for each NeuronCore).
"""

from __future__ import annotations

from collections.abc import Iterator

from slipway_jobs.environment import Environment, InstanceType, Service
from slipway_jobs.exporters import Exporter, exporters, without_exporter
from slipway_jobs.publishing.model_folder import BYTES_OF, ModelFolder
from slipway_jobs.publishing.refusal import PublishRefused
from slipway_jobs.recipe.architecture import Architecture, Llama
from slipway_jobs.recipe.model import Export, Recipe

EXPORT_PRECISION = "bfloat16"
"""What both exporters are told to compile in."""

_GIB = 2**30
_DEVICE_SHARE = 0.9
"""Part of the device memory that weights and keys and values may take; the program and its buffers need the rest."""


def check_compatibility(
    recipe: Recipe, export: Export, model: ModelFolder, service: Service, environment: Environment
) -> Exporter:
    """Return the exporter that compiles for the engine of a service.

    Args:
        recipe: the recipe.
        export: its `publish.export`.
        model: the converted model.
        service: the service that the model's versions are for.
        environment: the environment.

    Raises:
        PublishRefused: the endpoint cannot serve the result; every reason, with its numbers.
    """
    host = environment.instance_types[service.instance_type]
    problems = [
        *filter(None, [without_exporter(service)]),
        *_shape_problems(recipe, export, model, service, host),
        *_memory_problems(recipe, export, model, service, host),
    ]
    if problems:
        raise PublishRefused(problems)
    return exporters()[str(service.engine_release)]


def _shape_problems(
    recipe: Recipe, export: Export, model: ModelFolder, service: Service, host: InstanceType
) -> Iterator[str]:
    shards = export.tensor_parallel_size
    if not isinstance(recipe.model, Llama):
        yield (
            f"engine {service.engine} generates text, and a {recipe.model.architecture} model does not: leave "
            "publish.export out, it is published as it is then"
        )
        return
    if shards > host.logical_neuron_cores:
        yield (
            f"publish.export.tensor_parallel_size is {shards}, and {service.instance_type} has "
            f"{host.logical_neuron_cores} NeuronCores"
        )
    if export.sequence_length > model.max_position_embeddings:
        yield (
            f"publish.export.sequence_length is {export.sequence_length}, and the model knows "
            f"{model.max_position_embeddings} positions (max_position_embeddings)"
        )
    for name in ("hidden_size", "intermediate_size"):
        if size := getattr(recipe.model, name) % shards:
            yield (
                f"{name} {getattr(recipe.model, name)} cannot be divided by publish.export.tensor_parallel_size "
                f"{shards} ({size} left)"
            )
    if model.precision == "float32":
        yield (
            f"the converted model is float32, and the endpoint computes in {EXPORT_PRECISION}: train with precision "
            f"bfloat16, or convert with --precision {EXPORT_PRECISION}"
        )


def _memory_problems(
    recipe: Recipe, export: Export, model: ModelFolder, service: Service, host: InstanceType
) -> Iterator[str]:
    if not isinstance(recipe.model, Llama):
        return
    weights = model.resident_bytes(EXPORT_PRECISION)
    cache = device_bytes(recipe.model, export, model) - weights
    device = host.neuron_memory_gib * _GIB * export.tensor_parallel_size / host.logical_neuron_cores
    if weights + cache > device * _DEVICE_SHARE:
        yield (
            f"weights ({weights / _GIB:.1f} GiB) and keys and values of {export.batch_size} requests of "
            f"{export.sequence_length} tokens ({cache / _GIB:.1f} GiB) need {(weights + cache) / _GIB:.1f} GiB, and "
            f"{export.tensor_parallel_size} NeuronCores of {service.instance_type} have {device / _GIB:.0f} GiB, of "
            f"which {device * _DEVICE_SHARE / _GIB:.1f} GiB are free for them: more cores, a smaller batch_size or "
            "sequence_length"
        )
    if weights > host.memory_gib * _GIB:
        yield (
            f"the weights ({weights / _GIB:.1f} GiB) do not fit into the {host.memory_gib} GiB of host memory that "
            f"{service.instance_type} loads them through: choose a larger instance_type of the model"
        )


def device_bytes(architecture: Architecture, export: Export, model: ModelFolder) -> int:
    """Return the bytes of weights, keys and values on the devices; each core has one head of each at least."""
    weights = model.resident_bytes(EXPORT_PRECISION)
    if not isinstance(architecture, Llama):
        return weights
    heads = max(architecture.num_key_value_heads, export.tensor_parallel_size)
    width = architecture.hidden_size // architecture.num_attention_heads
    tokens = export.batch_size * export.sequence_length
    return weights + 2 * architecture.num_hidden_layers * heads * width * tokens * BYTES_OF[EXPORT_PRECISION]
