"""How the workers share a model: the identities that TP, PP, DP, heads, layers, sequence and batch must keep."""

from __future__ import annotations

import math
from collections.abc import Iterator

from slipway_jobs.arithmetic.placement import Placement
from slipway_jobs.recipe.architecture import Llama
from slipway_jobs.recipe.attention_order import attention_order
from slipway_jobs.recipe.model import Recipe
from slipway_jobs.recipe.problems import Finding, listed

_TP = ("parallelism", "tensor_parallel_size")
_PP = ("parallelism", "pipeline_parallel_size")
_KV = ("parallelism", "kv_size_multiplier")
_DIVIDED = ("num_attention_heads", "hidden_size", "intermediate_size", "vocab_size")


def data_parallel_size(placement: Placement) -> int:
    """Return the number of model replicas, rounded down; `replicas` finds where it is not whole."""
    return placement.world_size // model_parallel_size(placement.recipe)


def model_parallel_size(recipe: Recipe) -> int:
    """Return the workers of one replica."""
    return recipe.parallelism.tensor_parallel_size * recipe.parallelism.pipeline_parallel_size


def accumulation(placement: Placement) -> int:
    """Return the micro-batches of a step on one replica, at least 1; `batch` finds where it is not whole."""
    batch = placement.recipe.batch
    return max(1, batch.global_size // (max(1, data_parallel_size(placement)) * batch.micro_size))


def replicas(placement: Placement) -> Iterator[Finding]:
    """TP x PP x DP is nodes x workers per node, and TP stays inside a node."""
    recipe, per_node = placement.recipe, placement.workers_per_node
    tp, pp = recipe.parallelism.tensor_parallel_size, recipe.parallelism.pipeline_parallel_size
    if per_node % tp:
        message = f"{tp} workers share a layer, and the {per_node} workers of a node are not a multiple of {tp}"
        yield Finding(_TP, message, f"Write {listed(divisors(per_node))}.")
    elif placement.world_size % (tp * pp):
        nodes = recipe.hardware.nodes
        message = (
            f"TP {tp} x PP {pp} = {tp * pp} workers for a replica do not divide {nodes} nodes x {per_node} workers = "
            f"{placement.world_size} workers"
        )
        stages = [n for n in divisors(placement.world_size // tp) if n <= recipe.model.num_hidden_layers]
        yield Finding(_PP, message, f"Write {listed(stages)}, or change `nodes`.")


def batch(placement: Placement) -> Iterator[Finding]:
    """The global batch is DP x micro x accumulation, with at least as many micro-batches as pipeline stages."""
    if next(replicas(placement), None):
        return
    sizes, dp = placement.recipe.batch, data_parallel_size(placement)
    pp = placement.recipe.parallelism.pipeline_parallel_size
    together = dp * sizes.micro_size
    if sizes.global_size % together:
        message = (
            f"{sizes.global_size} samples are not a multiple of {dp} replicas x {sizes.micro_size} samples = {together}"
        )
        below = sizes.global_size // together * together
        fix = f"Write {listed([size for size in (below, below + together) if size])}."
        yield Finding(("batch", "global_size"), message, fix)
    elif sizes.global_size // together < pp:
        message = f"{sizes.global_size // together} micro-batches for each of {dp} replicas do not fill {pp} stages"
        yield Finding(("batch", "global_size"), message, f"Write {together * pp} or more.")


def tensors(recipe: Recipe) -> Iterator[Finding]:
    """Heads, widths and vocabulary divide by TP; each stage has a layer."""
    model, parallelism = recipe.model, recipe.parallelism
    tp, pp = parallelism.tensor_parallel_size, parallelism.pipeline_parallel_size
    if model.hidden_size % model.num_attention_heads and not (isinstance(model, Llama) and model.head_dim):
        message = f"{model.hidden_size} is not a multiple of {model.num_attention_heads} attention heads"
        yield Finding(("model", "hidden_size"), message, "Take both from the model's config.json.")
    sizes = {name: getattr(model, name) for name in _DIVIDED}
    if odd := [f"{name} {size}" for name, size in sizes.items() if size % tp]:
        yield Finding(_TP, f"{tp} workers do not divide {listed(odd, 'and')}", f"Write {listed(_shared(sizes))}.")
    if model.num_hidden_layers < pp:
        message = f"{model.num_hidden_layers} layers are fewer than {pp} stages"
        yield Finding(_PP, message, f"Write {listed(divisors(model.num_hidden_layers))}.")


def uneven_stages(recipe: Recipe) -> Iterator[Finding]:
    """Notice: stages of unequal length wait for the longest."""
    layers, stages = recipe.model.num_hidden_layers, recipe.parallelism.pipeline_parallel_size
    if layers % stages:
        message = f"{layers} layers in {stages} stages: the last ones have one layer more, the others wait for them"
        yield Finding(_PP, message, f"Write {listed(divisors(layers))}.")


def key_value_heads(recipe: Recipe) -> Iterator[Finding]:
    """Each worker of a tensor-parallel group has at least one key and value head."""
    model, parallelism = recipe.model, recipe.parallelism
    if not isinstance(model, Llama):
        return
    tp, times = parallelism.tensor_parallel_size, parallelism.kv_size_multiplier
    queries, heads = model.num_attention_heads, model.num_key_value_heads
    repeated = f"{heads} key and value heads x {times} = {heads * times}"
    if queries % heads:
        message = f"{queries} query heads are not a multiple of {heads} key and value heads"
        yield Finding(("model", "num_key_value_heads"), message, "Take both from the model's config.json.")
    elif heads * times > queries:
        yield Finding(_KV, f"{repeated} are more than {queries} query heads", _multiplier(queries, heads, tp))
    elif tp % times:
        message = f"{tp} workers are not a multiple of {times}"
        yield Finding(_KV, message, _multiplier(queries, heads, tp))
    elif heads * times % tp:
        yield Finding(_KV, f"{repeated} are not a multiple of {tp} workers", _multiplier(queries, heads, tp))


def repeated_heads(placement: Placement) -> Iterator[Finding]:
    """Repeated heads that lie beside each other are one for each worker."""
    model, parallelism = placement.recipe.model, placement.recipe.parallelism
    if not isinstance(model, Llama) or parallelism.kv_size_multiplier == 1:
        return
    tp, heads = parallelism.tensor_parallel_size, model.num_key_value_heads
    repeated = heads * parallelism.kv_size_multiplier
    if repeated > tp and repeated % tp == 0 and attention_order(placement.recipe.hardware) == "trn2":
        message = f"{heads} key and value heads x {parallelism.kv_size_multiplier} = {repeated} are not {tp} workers, "
        message += f"and on {placement.instance_type} repeated heads are one for each worker"
        yield Finding(_KV, message, _multiplier(model.num_attention_heads, heads, tp))


def _multiplier(queries: int, heads: int, tp: int) -> str:
    """Say which multiplier fits a tensor-parallel size."""
    fits = [times for times in divisors(queries // heads) if heads * times % tp == 0 and tp % times == 0]
    if fits:
        return f"Write {fits[0]}."
    return f"None fits: choose `tensor_parallel_size` among {listed(divisors(queries))}."


def sequence(recipe: Recipe) -> Iterator[Finding]:
    """The sequence fits the model's positions, and divides by TP, as sequence parallelism cuts it."""
    length, longest = recipe.data.sequence_length, recipe.model.max_position_embeddings
    tp = recipe.parallelism.tensor_parallel_size
    if length > longest:
        message = f"{length} tokens are more than the model's max_position_embeddings {longest}"
        yield Finding(("data", "sequence_length"), message, f"Write {longest} or less.")
    if length % tp:
        message = f"{length} tokens are not a multiple of {tp} workers, which share each sequence"
        yield Finding(("data", "sequence_length"), message, f"Write {length // tp * tp or tp}.")


def divisors(number: int) -> list[int]:
    """List what divides a number, ascending."""
    small = [n for n in range(1, math.isqrt(number) + 1) if number % n == 0]
    return sorted({*small, *(number // n for n in small)})


def _shared(sizes: dict[str, int]) -> list[int]:
    return [n for n in divisors(sizes["num_attention_heads"]) if not any(size % n for size in sizes.values())]
