"""Whether the endpoint can serve what is about to be published, with the numbers. Asked before anything is compiled.

Sources: huggingface/optimum-neuron v0.3.0 and v0.4.5 (neuron_config.json's versions must be the engine's, exactly;
layers are divided evenly over the cores); AWS Neuron documentation, inf2 architecture (16 GiB for each NeuronCore).
"""

from __future__ import annotations

from collections.abc import Iterator

from slipway_jobs.arithmetic.publication import larger_host
from slipway_jobs.environment import Environment, InstanceType, Service
from slipway_jobs.exporters import Exporter, exporters, without_exporter
from slipway_jobs.publishing.model_folder import BYTES_OF, Configuration, Model
from slipway_jobs.publishing.refusal import PublishRefused
from slipway_jobs.recipe.model import Export

EXPORT_PRECISION = "bfloat16"
"""What both exporters are told to compile in."""

_GIB = 2**30
_DEVICE_SHARE = 0.9
"""Part of the device memory that weights and keys and values may take; the program and its buffers need the rest."""


def check_compatibility(export: Export, model: Model, service: Service, environment: Environment) -> Exporter:
    """Return the exporter that compiles for the engine of a service.

    Args:
        export: what to compile for.
        model: the model.
        service: the service that the model's versions are for.
        environment: the environment.

    Raises:
        PublishRefused: the endpoint cannot serve the result; every reason, with its numbers.
    """
    host = environment.instance_types[service.instance_type]
    problems = [
        *filter(None, [without_exporter(service)]),
        *_kind_problems(model.configuration, service),
        *_shape_problems(export, model.configuration, service, host),
        *_memory_problems(export, model, service, environment),
    ]
    if problems:
        raise PublishRefused(problems)
    return exporters()[str(service.engine_release)]


def _kind_problems(configuration: Configuration, service: Service) -> Iterator[str]:
    exporter = exporters().get(str(service.engine_release))
    if exporter and configuration.model_type not in exporter.model_types:
        yield (
            f"engine {service.engine} serves what optimum-neuron {exporter.version} compiles "
            f"({', '.join(exporter.model_types)}), and this is a {configuration.model_type} model"
        )
    if configuration.quantization_config is not None:
        yield "its weights are quantized (quantization_config), and the exporter reads plain weights: take those"
    if configuration.precision != EXPORT_PRECISION:
        yield (
            f"its weights are {configuration.precision}, and the endpoint computes in {EXPORT_PRECISION}: train with "
            f"`precision: {EXPORT_PRECISION}`, or convert the model (`slipway docs endpoint#import-a-model`)"
        )


def _shape_problems(
    export: Export, configuration: Configuration, service: Service, host: InstanceType
) -> Iterator[str]:
    shards = export.tensor_parallel_size
    if shards > host.logical_neuron_cores:
        yield (
            f"tensor_parallel_size is {shards}, and {service.instance_type} has {host.logical_neuron_cores} NeuronCores"
        )
    if export.sequence_length > configuration.max_position_embeddings:
        yield (
            f"sequence_length is {export.sequence_length}, and the model knows "
            f"{configuration.max_position_embeddings} positions (max_position_embeddings)"
        )
    for name in ("hidden_size", "intermediate_size", "num_attention_heads"):
        if rest := getattr(configuration, name) % shards:
            yield (
                f"{name} {getattr(configuration, name)} cannot be divided by tensor_parallel_size {shards} "
                f"({rest} left)"
            )


def _memory_problems(export: Export, model: Model, service: Service, environment: Environment) -> Iterator[str]:
    host = environment.instance_types[service.instance_type]
    weights = model.resident_bytes(EXPORT_PRECISION)
    cache = device_bytes(export, model) - weights
    device = host.neuron_memory_gib * _GIB * export.tensor_parallel_size / host.logical_neuron_cores
    if weights + cache > device * _DEVICE_SHARE:
        yield (
            f"weights ({weights / _GIB:.1f} GiB) and keys and values of {export.batch_size} requests of "
            f"{export.sequence_length} tokens ({cache / _GIB:.1f} GiB) need {(weights + cache) / _GIB:.1f} GiB, and "
            f"{export.tensor_parallel_size} NeuronCores of {service.instance_type} have {device / _GIB:.0f} GiB, of "
            f"which {device * _DEVICE_SHARE / _GIB:.1f} GiB are free for them: more cores, a smaller batch_size or "
            "sequence_length"
        )
    if weights > host.memory_bytes:
        yield (
            f"the weights ({weights / _GIB:.1f} GiB) do not fit into the {host.memory_gib} GiB of host memory that "
            f"{service.instance_type} loads them through. {larger_host(weights, service, environment)}"
        )


def device_bytes(export: Export, model: Model) -> int:
    """Return the bytes of weights, keys and values on the devices; each core has one head of each at least."""
    configuration = model.configuration
    heads = max(configuration.num_key_value_heads or configuration.num_attention_heads, export.tensor_parallel_size)
    width = configuration.head_dim or configuration.hidden_size // configuration.num_attention_heads
    tokens = export.batch_size * export.sequence_length
    cache = 2 * configuration.num_hidden_layers * heads * width * tokens * BYTES_OF[EXPORT_PRECISION]
    return model.resident_bytes(EXPORT_PRECISION) + cache
