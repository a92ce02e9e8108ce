"""The orders of heads are those with which workers that know only their own heads compute the model's attention."""

from __future__ import annotations

import pytest
import torch
from torch.nn.functional import scaled_dot_product_attention
from transformers import LlamaForCausalLM
from transformers.models.llama.modeling_llama import apply_rotary_pos_emb, repeat_kv

from tests.training.conversion.sharder import Layout, rank_state
from tests.training.conversion.tiny import heads, llama, weights

PREFIX = "model.layers.0.self_attn."


@torch.no_grad()
def _on_ranks(model: LlamaForCausalLM, layout: Layout, states: torch.Tensor) -> torch.Tensor:
    """Compute attention worker by worker, as modeling_llama_nxd.py does, and add the parts of the output up."""
    width = model.config.head_dim
    positions = torch.arange(states.shape[1])[None]
    cos, sin = model.model.rotary_emb(states, positions)
    total = torch.zeros_like(states)
    for rank in range(layout.tp):
        local = rank_state(weights(model), heads(model), layout, rank, 0)
        q, k, v = (
            (states @ local[f"{PREFIX}qkv_proj.weight_{letter}"].t()).view(*states.shape[:2], -1, width).transpose(1, 2)
            for letter in "qkv"
        )
        q, k = apply_rotary_pos_emb(q, k, cos, sin)
        groups = q.shape[1] // k.shape[1]
        mixed = scaled_dot_product_attention(q, repeat_kv(k, groups), repeat_kv(v, groups), is_causal=True)
        total += mixed.transpose(1, 2).flatten(2) @ local[f"{PREFIX}o_proj.weight"].t()
    return total


@pytest.mark.parametrize("order", ["trn1", "trn2"])
@pytest.mark.parametrize(
    ("key_value_heads", "tp", "multiplier"), [(2, 4, 2), (2, 8, 4), (4, 4, 2), (2, 2, 2), (4, 2, 1)]
)
@torch.no_grad()
def test_workers_compute_the_attention_of_the_model(order: str, key_value_heads: int, tp: int, multiplier: int) -> None:
    model = llama(key_value_heads)
    states = torch.randn(2, 6, model.config.hidden_size)
    attention = model.model.layers[0].self_attn
    mask = torch.full((6, 6), float("-inf")).triu(1)[None, None]
    whole = attention(states, model.model.rotary_emb(states, torch.arange(6)[None]), attention_mask=mask)[0]
    torch.testing.assert_close(_on_ranks(model, Layout(tp, 1, multiplier, order=order), states), whole)
