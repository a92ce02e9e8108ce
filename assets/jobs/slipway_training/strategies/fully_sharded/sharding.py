"""Makes a Llama of the transformers library whose parameters are split over a mesh of workers.

The plan of tensor parallelism is the one of torchtitan's Llama 3 (torchtitan/models/llama3, `apply_tp`): matrices by
columns and rows, states between them split along the sequence, so that norms and residuals are shared as well; the
layers' parameters are then split over the data-parallel workers (`fully_shard`, one group of parameters a layer).
The Neuron documentation runs the same calls on Trn2 ("How to use torch.distributed on Neuron", "Tutorial: Train with
DDP, FSDP2, and DTensor on Neuron", SDK 2.33): device and process group `neuron`, nothing else changed. That has been
tried on processors only, not on Trainium.
"""

from __future__ import annotations

from copy import copy
from functools import partial
from typing import TYPE_CHECKING, Any, cast

import torch
from torch import nn
from torch.distributed.fsdp import MixedPrecisionPolicy, fully_shard
from torch.distributed.tensor import Replicate, Shard
from torch.distributed.tensor.parallel import (
    ColwiseParallel,
    ParallelStyle,
    PrepareModuleInput,
    RowwiseParallel,
    SequenceParallel,
    parallelize_module,
)
from torch.utils.checkpoint import checkpoint

from slipway_training.models.transformers_configuration import model_class, transformers_configuration

if TYPE_CHECKING:
    from torch.distributed.device_mesh import DeviceMesh

    from slipway_jobs.recipe.architecture import Llama
    from slipway_jobs.recipe.model import Precision, Recipe

SEQUENCE = 1
"""Dimension of the sequence in a state of shape (batch, sequence, hidden)."""

_ATTENTION = "sdpa"
_RECOMPUTED_ATTENTION = "recomputed_sdpa"
"""transformers' names of ways to compute attention; the second one is ours."""


def sharded_llama(recipe: Recipe, llama: Llama, mesh: DeviceMesh, compiler: str | None) -> Any:
    """Make the model with uninitialized parameters: each worker has memory for its own parts only.

    Args:
        recipe: Says how to compute.
        llama: The model.
        mesh: Workers by `dp` (data parallel) and `tp` (tensor parallel).
        compiler: Backend of torch.compile for the layers, `neuron` on Trn2; None computes them eagerly.

    Returns:
        transformers' LlamaForCausalLM or another of the family, an FSDPModule too; Any, because transformers has no
        types here.
    """
    configuration = transformers_configuration(llama)
    configuration._attn_implementation = _ATTENTION
    configuration.use_cache = False
    with torch.device("meta"):
        model: Any = model_class(llama.architecture)(configuration)
    if mesh["tp"].size() > 1:
        _split_matrices(model, mesh["tp"], llama)
    if compiler is not None:
        _compile(model, compiler, fullgraph=recipe.parallelism.activation_checkpointing != "selective")
    _recompute(model, recipe.parallelism.activation_checkpointing)
    _split_parameters(model, mesh["dp"], recipe.precision)
    model.to_empty(device=mesh.device_type)
    # The only buffers; they follow from the configuration.
    model.model.rotary_emb = type(model.model.rotary_emb)(configuration).to(mesh.device_type)
    return model.train()


def _split_matrices(model: Any, tp: DeviceMesh, llama: Llama) -> None:
    layer_plan: dict[str, ParallelStyle] = {
        "input_layernorm": SequenceParallel(),
        # One gathering of the sequence for the three matrices, and one reduction of their gradients.
        "self_attn": PrepareModuleInput(
            input_kwarg_layouts={"hidden_states": Shard(SEQUENCE)},
            desired_input_kwarg_layouts={"hidden_states": Replicate()},
        ),
        "self_attn.q_proj": ColwiseParallel(),
        "self_attn.k_proj": ColwiseParallel(),
        "self_attn.v_proj": ColwiseParallel(),
        "self_attn.o_proj": RowwiseParallel(output_layouts=Shard(SEQUENCE)),
        "post_attention_layernorm": SequenceParallel(),
        "mlp": PrepareModuleInput(input_layouts=Shard(SEQUENCE), desired_input_layouts=Replicate()),
        "mlp.gate_proj": ColwiseParallel(),
        "mlp.up_proj": ColwiseParallel(),
        "mlp.down_proj": RowwiseParallel(output_layouts=Shard(SEQUENCE)),
    }
    if llama.features.query_key_norm:
        # Each worker norms its own heads, as in torchtitan's Qwen3 (torchtitan/models/qwen3, `apply_non_moe_tp`).
        layer_plan |= {
            f"self_attn.{part}_norm": SequenceParallel(sequence_dim=2, use_local_output=True) for part in "qk"
        }
    for layer in model.model.layers:
        parallelize_module(layer, tp, layer_plan)
    plan: dict[str, ParallelStyle] = {
        "model.embed_tokens": RowwiseParallel(input_layouts=Replicate(), output_layouts=Shard(SEQUENCE)),
        "model.norm": SequenceParallel(),
        # Logits stay split over the vocabulary: the loss is computed on the parts (`loss_parallel`).
        "lm_head": ColwiseParallel(input_layouts=Shard(SEQUENCE), output_layouts=Shard(-1), use_local_output=False),
    }
    parallelize_module(model, tp, plan)
    if llama.tie_word_embeddings:  # Both are split by rows; splitting made two parameters of one.
        model.lm_head.weight = model.model.embed_tokens.weight


def _compile(model: Any, compiler: str, *, fullgraph: bool) -> None:
    """Let torch.compile compute the layers; the graphs of one layer serve all of them.

    The Neuron backend recommends whole graphs and refuses dynamic shapes ("torch.compile backend reference", SDK 2.33).
    Only what a layer computes is compiled: FSDP's hooks, which communicate, stay outside. Backend `aot_eager` traces
    the same way, and with it processors give the same losses as without; the Neuron backend itself has not been tried.
    """
    for layer in model.model.layers:
        layer.forward = torch.compile(layer.forward, backend=compiler, fullgraph=fullgraph, dynamic=False)
    # The embedding's output may still be on its way (AsyncCollectiveTensor). As a graph's input that fails in torch
    # 2.13, or loses its gradient, depending on how forward and backward are told apart. A copy has arrived.
    model.model.embed_tokens.register_forward_hook(lambda _module, _inputs, output: output.clone())


def _recompute(model: Any, what: str) -> None:
    """Forget inner states in the forward pass and compute them again in the backward pass.

    `full` does so with layers, whose `forward` is replaced rather than the layer wrapped: names of parameters stay, and
    the hooks of FSDP run around it once. `selective` does so with attention between its matrices: scores, whose number
    grows with the square of the sequence. Llama draws no random numbers, so their state need not be kept.
    """
    from transformers.modeling_utils import ALL_ATTENTION_FUNCTIONS  # noqa: PLC0415  takes seconds

    for layer in model.model.layers:
        if what == "full":
            layer.forward = partial(checkpoint, layer.forward, use_reentrant=False, preserve_rng_state=False)
        if what == "selective":
            attention = layer.self_attn
            # Between two graphs: torch 2.13 fails on a checkpoint inside of one that communicates.
            ALL_ATTENTION_FUNCTIONS[_RECOMPUTED_ATTENTION] = torch.compiler.disable(  # type: ignore[no-untyped-call]
                partial(checkpoint, ALL_ATTENTION_FUNCTIONS[_ATTENTION], use_reentrant=False, preserve_rng_state=False)
            )
            # The model's own configuration keeps its name, by which it decides that no mask has to be made.
            attention.config = copy(attention.config)
            attention.config._attn_implementation = _RECOMPUTED_ATTENTION


def _split_parameters(model: nn.Module, dp: DeviceMesh, precision: Precision) -> None:
    """Split each parameter by rows over the data-parallel workers; one group for each layer, one for the rest.

    Parameters, gradients and optimizer states are kept in float32. With `bfloat16` a group is gathered and computed
    with in bfloat16, and its gradients are added up over the workers in float32.
    """
    policy = MixedPrecisionPolicy()
    if precision == "bfloat16":
        policy = MixedPrecisionPolicy(param_dtype=torch.bfloat16, reduce_dtype=torch.float32)
    layers = cast("Any", model).model.layers
    for layer in layers:
        fully_shard(layer, mesh=dp, mp_policy=policy)
    fully_shard(model, mesh=dp, mp_policy=policy)
