"""Whether the endpoint's host can hold what a recipe exports, as far as that is arithmetic."""

from __future__ import annotations

from collections.abc import Iterator

from slipway_jobs.arithmetic.assumptions import Range, assumptions
from slipway_jobs.arithmetic.device_memory import GIB, RESERVE, Memory, exactly, gib
from slipway_jobs.arithmetic.model_size import kv_width, model_size
from slipway_jobs.arithmetic.placement import Placement
from slipway_jobs.environment import Environment, InstanceType, Service
from slipway_jobs.exporters import exporters, without_exporter
from slipway_jobs.recipe.architecture import Llama
from slipway_jobs.recipe.model import Export
from slipway_jobs.recipe.problems import Finding, listed

HOST_SHARE = 0.6
"""Part of a host's memory that weights may take while they are loaded. Reports of engines that were killed on
inf2.xlarge are common (huggingface/optimum-neuron's issues); no documentation names a limit."""

_BEST_TOKENS = 256
"""Tokens that each core hands on, of which the next one is picked. A core with fewer has no graph.

Sources: huggingface/optimum-neuron v0.3.0 and v0.4.5, optimum/neuron/models/inference/backend/config.py (`max_topk`);
aws-neuron/neuronx-distributed c9ee222 (Neuron SDK 2.24.0), src/neuronx_distributed/operators/topk.py.
"""

_SECTION = ("publish", "export")
_UNCOMPILED = "Write `--set publish.export=null` to publish the model uncompiled."
_BFLOAT16 = 2


def export(placement: Placement) -> Iterator[Finding]:
    """An exporter compiles for the endpoint's engine, and the result fits cores and device memory of its host."""
    recipe, environment = placement.recipe, placement.environment
    section = recipe.publish and recipe.publish.export
    if not recipe.publish or not section:
        return
    if not isinstance(recipe.model, Llama):
        yield Finding(_SECTION, f"the endpoint serves decoders, not `{recipe.model.architecture}`", "Leave it out.")
        return
    yield from _lengths(section, recipe.model)
    service = environment.service_of(recipe.publish.model)
    if service is None:
        return  # `uncompiled` says so
    if reason := without_exporter(service):
        yield Finding(_SECTION, reason, _UNCOMPILED)
        return
    exporter = exporters()[str(service.engine_release)]
    if recipe.model.architecture not in exporter.model_types:
        known = listed([f"`{kind}`" for kind in exporter.model_types], "and")
        message = f"optimum-neuron {exporter.version} compiles {known}, not `{recipe.model.architecture}`"
        yield Finding(_SECTION, message, _UNCOMPILED)
        return
    yield from _otherwise_compiled(section, service)
    host = environment.instance_types[service.instance_type]
    cores, tp = host.logical_neuron_cores, section.tensor_parallel_size
    key = (*_SECTION, "tensor_parallel_size")
    if tp > cores:
        message = f"{tp} NeuronCores, and the endpoint's host {service.instance_type} has {cores}"
        yield Finding(key, message, f"Write {listed(_fitting(recipe.model, cores))}.")
    elif recipe.model.num_attention_heads % tp:
        message = f"{recipe.model.num_attention_heads} attention heads are not a multiple of {tp} NeuronCores"
        yield Finding(key, message, f"Write {listed(_fitting(recipe.model, cores))}.")
    elif (rows := recipe.model.vocab_size) < _BEST_TOKENS * tp:
        message = f"{rows} rows are {rows // tp} on each of {tp} NeuronCores, and the engine takes the {_BEST_TOKENS} "
        message += "best of each"
        yield Finding(("model", "vocab_size"), message, f"Write {_BEST_TOKENS * tp} or more.")
    else:
        memory = serving_memory(recipe.model, section, host)
        if memory.total.low > memory.limit:
            message = f"a core of {service.instance_type} has {memory.limit / GIB:.1f} GiB, and it needs "
            message += f"{gib(memory.total)}: {memory.breakdown()}"
            fix = "Raise `tensor_parallel_size`, or lower `batch_size` or `sequence_length`."
            yield Finding(key, message, fix)


def uncompiled(placement: Placement) -> Iterator[Finding]:
    """Notice: nothing serves the model, so it is published as the transformers library reads it."""
    publish, environment = placement.recipe.publish, placement.environment
    if publish and publish.export and (reason := without_service(publish.model, environment)):
        fix = f"To compile it, add `{publish.model}` to `inference.models` of the environment file and deploy first."
        yield Finding(_SECTION, f"{reason}: the model is published uncompiled", fix)


def tight_serving_host(placement: Placement) -> Iterator[Finding]:
    """Notice: the endpoint's host may be too small to load the exported model."""
    publish, environment = placement.recipe.publish, placement.environment
    service = environment.service_of(publish.model) if publish and publish.export else None
    if service and isinstance(placement.recipe.model, Llama):
        weights = model_size(placement.recipe.model).total * _BFLOAT16
        if message := tight_host(weights, service, environment):
            yield Finding(_SECTION, message, larger_host(weights, service, environment))


def tight_host(weight_bytes: int, service: Service, environment: Environment) -> str | None:
    """Say that weights may not pass through the memory of a service's host, or return None if there is enough.

    Args:
        weight_bytes: bytes of the weights as they are served.
        service: the service.
        environment: the environment.
    """
    memory = environment.instance_types[service.instance_type].memory_bytes
    if weight_bytes <= memory * HOST_SHARE:
        return None
    return (
        f"the weights ({weight_bytes / GIB:.1f} GiB) take {weight_bytes / memory:.0%} of the {memory / GIB:.0f} GiB "
        f"of host memory that {service.instance_type} loads them through; above {HOST_SHARE:.0%} the engine may be "
        "killed for lack of memory"
    )


def larger_host(weight_bytes: int, service: Service, environment: Environment) -> str:
    """Say which hosts of the service's engine have memory enough for weights, with prices: one of each family.

    Args:
        weight_bytes: bytes of the weights as they are served.
        service: the service.
        environment: the environment.
    """
    known = environment.instance_types
    enough = [name for name in service.larger_hosts if weight_bytes <= known[name].memory_bytes * HOST_SHARE]
    cheapest = {name.partition(".")[0]: name for name in reversed(enough)}.values()
    hosts = [f"{name} ({_price(known[name])})" for name in sorted(cheapest, key=enough.index)]
    if not hosts:
        return f"No host of {service.engine} in {environment.region} has more memory: publish a smaller model."
    return f"Choose a larger `instance_type` of the model in the environment file: {listed(hosts)}."


def _price(host: InstanceType) -> str:
    usd = host.usd_per_hour
    return "no on-demand price" if usd is None else f"${usd:.2f} an hour, list price"


def without_service(model: str, environment: Environment) -> str | None:
    """Say why versions of a model cannot be compiled, or return None if the endpoint has a service for them."""
    if environment.service_of(model):
        return None
    if not environment.inference:
        return f"the environment {environment.name} has no endpoint"
    known = listed([f"`{service.model}`" for service in environment.inference], "and")
    return f"the endpoint has no model `{model}`, only {known}"


def serving_memory(model: Llama, section: Export, host: InstanceType) -> Memory:
    """Estimate the device memory of a NeuronCore that serves: bfloat16 weights and the cache of keys and values."""
    tp = section.tensor_parallel_size
    heads = max(model.num_key_value_heads, tp)
    width = kv_width(model) // model.num_key_value_heads * heads
    tokens = section.batch_size * section.sequence_length
    cache = 2 * model.num_hidden_layers * width * tokens * _BFLOAT16 / tp
    parts: dict[str, Range] = {
        "weights": exactly(model_size(model).total * _BFLOAT16 / tp),
        "keys and values": exactly(cache),
        RESERVE: assumptions().device_reserve_gib * GIB,
    }
    return Memory(parts, host.neuron_memory_gib * GIB / max(1, host.logical_neuron_cores))


def _otherwise_compiled(section: Export, service: Service) -> Iterator[Finding]:
    """What the environment file says of compiled models holds for every version."""
    for name in () if service.compiled is None else ("batch_size", "sequence_length", "tensor_parallel_size"):
        wanted, said = getattr(section, name), getattr(service.compiled, name)
        if wanted != said:
            message = f"{wanted}, and the endpoint's service is for models that are compiled with {said}"
            yield Finding((*_SECTION, name), message, f"Write {said}, or change `compiled` in the environment file.")


def _lengths(section: Export, model: Llama) -> Iterator[Finding]:
    if section.sequence_length > model.max_position_embeddings:
        message = f"{section.sequence_length} tokens are more than max_position_embeddings "
        message += f"{model.max_position_embeddings}"
        key = (*_SECTION, "sequence_length")
        yield Finding(key, message, f"Write {model.max_position_embeddings} or less.")


def _fitting(model: Llama, cores: int) -> list[int]:
    return [n for n in range(1, cores + 1) if model.num_attention_heads % n == 0]
