"""What a node sends over EFA in an optimizer step, at least, and the speed that this allows.

Of a sum over k nodes each sends (k - 1)/k of the data to scatter it and as much to gather it again (Patarasuk and Yuan
2009: no algorithm sends less); inside a node NeuronLink sums and gathers. ZeRO-1 scatters gradients and gathers weights
(Rajbhandari et al. 2020, section 7.1). Tensor parallelism stays inside a node (`split.replicas`), and NeuronX
Distributed's parallel_state orders workers by stage, replica and tensor, so that a stage's replicas are neighbours.
"""

from __future__ import annotations

from slipway_jobs.arithmetic.device_memory import stage_parameters
from slipway_jobs.arithmetic.model_size import model_size
from slipway_jobs.arithmetic.placement import Placement
from slipway_jobs.arithmetic.speed import accelerator, tokens_per_step
from slipway_jobs.arithmetic.split import accumulation, data_parallel_size

_GRADIENT = 4
"""Bytes of a gradient: all strategies add them up in float32."""


def efa_bytes_per_second(placement: Placement) -> float | None:
    """Return what a node's EFA interfaces send in a second, or None without EFA or where nothing is known of them."""
    chip = accelerator(placement)
    if chip is None or not placement.queue.efa:
        return None
    return placement.instance.efa_interfaces * chip.gigabits_per_efa_interface * 1e9 / 8 or None


def sent_bytes(placement: Placement) -> float:
    """Return the bytes that the node that sends most sends in a step; it receives as many."""
    return _summed(placement) + _between_stages(placement)


def network_tokens_per_second(placement: Placement) -> float | None:
    """Return the tokens of a second if the nodes did nothing but send, at EFA's full rate; None where none is sent."""
    rate, sent = efa_bytes_per_second(placement), sent_bytes(placement)
    return rate * tokens_per_step(placement) / sent if rate and sent else None


def _summed(placement: Placement) -> float:
    """Bytes of gradients, and of weights that are gathered."""
    recipe, width = placement.recipe, _width(placement)
    stages = recipe.parallelism.pipeline_parallel_size
    # The nodes of one stage: between them its gradients are summed.
    nodes = max(1.0, recipe.hardware.nodes / stages)
    size = model_size(recipe.model, recipe.parallelism.kv_size_multiplier)
    if recipe.parallelism.strategy == "tensor_parallel":
        sent = max(stage_parameters(size, stages, first=first) for first in (True, False)) * (_GRADIENT + width)
    elif recipe.parallelism.strategy == "fully_sharded":
        # With each micro-batch. Layers are gathered for the forward and for the backward pass, the rest once (FSDP2).
        layers = size.layers * size.layer
        rest = size.total - layers
        sent = accumulation(placement) * (layers * (_GRADIENT + 2 * width) + rest * (_GRADIENT + width))
    else:
        sent = size.total * 2 * _GRADIENT
    return sent * (1 - 1 / nodes)


def _between_stages(placement: Placement) -> float:
    """Bytes of activations to the next stage, and of their gradients to the one before, of all micro-batches."""
    recipe = placement.recipe
    stages, nodes = recipe.parallelism.pipeline_parallel_size, recipe.hardware.nodes
    if stages == 1 or nodes == 1:
        return 0
    replicas = min(placement.workers_per_node / recipe.parallelism.tensor_parallel_size, data_parallel_size(placement))
    tokens = accumulation(placement) * recipe.batch.micro_size * recipe.data.sequence_length
    # Between two nodes one way for each; a node between two others sends both ways.
    ways = 2 if min(stages, nodes) > 2 else 1
    return ways * replicas * tokens * recipe.model.hidden_size * _width(placement)


def _width(placement: Placement) -> int:
    """Bytes of a number of the computation."""
    return 2 if placement.recipe.precision == "bfloat16" else 4
