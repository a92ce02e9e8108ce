"""Names of a Llama's weights in checkpoints: those of tensor parallelism, where transformers has other ones.

NeuronX Distributed's example model (examples/training/llama/modeling_llama_nxd.py) has query, key and value in one
layer, and gate and up in one matrix; biases are in one vector (slipway_training.models.llama). BERT's names are
transformers'.
"""

from __future__ import annotations

import re
from collections.abc import Mapping

import torch

from slipway_jobs.recipe.architecture import Llama
from slipway_jobs.recipe.model import Recipe

_QUERY = re.compile(r"(.*\.self_attn\.)q_proj\.weight")
_QUERY_BIAS = re.compile(r"(.*\.self_attn\.)q_proj\.bias")
_GATE = re.compile(r"(.*\.mlp\.)gate_proj\.weight")

State = Mapping[str, torch.Tensor]


def to_checkpoint(state: State, recipe: Recipe) -> dict[str, torch.Tensor]:
    """Return transformers' weights by the names of a checkpoint."""
    result = dict(state)
    if not isinstance(recipe.model, Llama):
        return result
    for name in state:
        if match := _QUERY.fullmatch(name):
            prefix = match[1]
            parts = [result.pop(f"{prefix}{letter}_proj.weight") for letter in "qkv"]
            result |= _joined_attention(prefix, parts, recipe)
        elif match := _QUERY_BIAS.fullmatch(name):
            parts = [result.pop(f"{match[1]}{letter}_proj.bias") for letter in "qkv"]
            result[f"{match[1]}qkv_bias.bias"] = torch.cat(parts)
        elif match := _GATE.fullmatch(name):
            gate, up = result.pop(name), result.pop(f"{match[1]}up_proj.weight")
            result[f"{match[1]}gate_up_proj.weight"] = torch.cat([gate, up])
    return result


def from_checkpoint(state: State, recipe: Recipe) -> dict[str, torch.Tensor]:
    """Return a checkpoint's weights by transformers' names: what `to_checkpoint` was given.

    Raises:
        KeyError: a weight is missing.
    """
    result = dict(state)
    if not isinstance(recipe.model, Llama):
        return result
    for layer in range(recipe.model.num_hidden_layers):
        attention, feed_forward = f"model.layers.{layer}.self_attn.", f"model.layers.{layer}.mlp."
        parts = _parted_attention(attention, result, recipe)
        result |= {f"{attention}{letter}_proj.weight": part for letter, part in zip("qkv", parts, strict=True)}
        if recipe.model.features.query_key_value_bias:
            parts = _parted(result.pop(f"{attention}qkv_bias.bias"), recipe)
            result |= {f"{attention}{letter}_proj.bias": part for letter, part in zip("qkv", parts, strict=True)}
        gate, up = result.pop(f"{feed_forward}gate_up_proj.weight").chunk(2)
        result |= {f"{feed_forward}gate_proj.weight": gate, f"{feed_forward}up_proj.weight": up}
    return result


def _joined_name(prefix: str, recipe: Recipe) -> str | None:
    """Return the name of query, key and value as one matrix; none where each has its own."""
    model = recipe.model
    assert isinstance(model, Llama)
    if not recipe.parallelism.fuse_qkv:
        return None
    grouped = model.num_key_value_heads != model.num_attention_heads
    return f"{prefix}qkv_proj.weight_qkv" if grouped else f"{prefix}qkv_proj.weight"


def _joined_attention(prefix: str, parts: list[torch.Tensor], recipe: Recipe) -> State:
    if name := _joined_name(prefix, recipe):
        return {name: torch.cat(parts)}
    return {f"{prefix}qkv_proj.weight_{letter}": part for letter, part in zip("qkv", parts, strict=True)}


def _parted_attention(prefix: str, state: dict[str, torch.Tensor], recipe: Recipe) -> list[torch.Tensor]:
    if name := _joined_name(prefix, recipe):
        return _parted(state.pop(name), recipe)
    return [state.pop(f"{prefix}qkv_proj.weight_{letter}") for letter in "qkv"]


def _parted(joined: torch.Tensor, recipe: Recipe) -> list[torch.Tensor]:
    model = recipe.model
    assert isinstance(model, Llama)
    return list(torch.split(joined, [model.query_size, model.key_value_size, model.key_value_size]))
