"""Grouped-query attention with rotary positions, over heads that may be divided among workers."""

from __future__ import annotations

import math

import torch
from torch import Tensor, nn

from slipway_jobs.recipe.architecture import Llama as LlamaConfiguration
from slipway_jobs.recipe.architecture import RopeScaling
from slipway_training.models.llama_initialization import Fill
from slipway_training.models.parallel_layers import ParallelLayers, RMSNorm


def rotary_frequencies(head_size: int, theta: float, scaling: RopeScaling | None, device: torch.device) -> Tensor:
    """Return the angle by which each pair of a head's numbers is turned from one token to the next.

    With Llama 3.1's stretch (`_compute_llama3_parameters` in transformers) long wavelengths are divided by the factor,
    short ones stay, and those between are blended.
    """
    exponents = torch.arange(0, head_size, 2, dtype=torch.float32, device=device) / head_size
    frequencies = 1.0 / (theta**exponents)
    if scaling is None:
        return frequencies
    wavelengths = 2 * math.pi / frequencies
    low, high = scaling.low_freq_factor, scaling.high_freq_factor
    blend = (scaling.original_max_position_embeddings / wavelengths - low) / (high - low)
    blend = blend.clamp(0.0, 1.0)
    return (1 - blend) * frequencies / scaling.factor + blend * frequencies


def turn(states: Tensor, cosine: Tensor, sine: Tensor, dimension: int = -1) -> Tensor:
    """Turn heads by their tokens' positions; `dimension` is that of a head's numbers in all three."""
    first, second = states.chunk(2, dim=dimension)
    return states * cosine + torch.cat((-second, first), dim=dimension) * sine


class CoreAttention(nn.Module):
    """Causal attention without weights of its own: what selective recomputation computes twice.

    Its scores take sequence_length ** 2 * 4 bytes for each head and sample.
    """

    def forward(self, query: Tensor, key: Tensor, value: Tensor) -> Tensor:
        """Attend: query (batch, key heads, queries of each, sequence, size), key and value (…, 1, sequence, size)."""
        length = query.shape[-2]
        scores = torch.matmul(query, key.transpose(-2, -1)).float() / math.sqrt(query.shape[-1])
        later = torch.ones((length, length), dtype=torch.float32, device=query.device).triu(diagonal=1).bool()
        # A finite number: minus infinity times zero would be no number in what the compiler makes of it.
        weights = torch.softmax(scores.masked_fill(later, -10000.0), dim=-1)
        return torch.matmul(weights.to(query.dtype), value)


class Attention(nn.Module):
    """Grouped-query attention with rotary positions."""

    def __init__(self, model: LlamaConfiguration, layers: ParallelLayers, name: str, seed: int) -> None:
        super().__init__()
        self.model = model
        self.head_size = model.head_size
        self.heads = model.num_attention_heads // layers.tensor_parallel_size
        heads, deviation = layers.heads, model.initializer_range
        self.key_value_heads = model.num_key_value_heads * heads.multiplier // layers.tensor_parallel_size
        query_size, key_value_size = model.query_size, model.key_value_size
        query, key, value = (f"{name}.{part}_proj" for part in "qkv")
        fills = (Fill(query, seed, deviation, heads), Fill(key, seed, deviation), Fill(value, seed, deviation))
        self.qkv_proj = layers.query_key_value(model.hidden_size, query_size, key_value_size, fills)
        if model.features.query_key_value_bias:
            self.qkv_bias = layers.query_key_value_bias(query_size, key_value_size)
        if model.features.query_key_norm:
            # Each worker norms its own heads: the weights' gradients are parts, as those of the other norms.
            self.q_norm, self.k_norm = (RMSNorm(self.head_size, model.rms_norm_eps, layers) for _ in range(2))
        output = Fill(f"{name}.o_proj", seed, deviation, heads, output=True)
        self.o_proj = layers.row(query_size, model.hidden_size, output)
        self.core_attention = layers.core_attention()
        self.transposed = layers.transposed_heads

    def forward(self, states: Tensor) -> Tensor:
        """Let tokens attend to earlier ones."""
        projected = self.qkv_proj(states)
        query, key, value = projected.chunk(3, dim=-1) if isinstance(projected, Tensor) else projected
        if self.model.features.query_key_value_bias:
            query, key, value = self.qkv_bias(query, key, value)
        length, batch = query.shape[:2]
        query = query.reshape(length, batch, self.heads, self.head_size)
        key, value = (part.reshape(length, batch, self.key_value_heads, self.head_size) for part in (key, value))
        if self.model.features.query_key_norm:
            query, key = self.q_norm(query), self.k_norm(key)
        order = (1, 2, 3, 0) if self.transposed else (1, 2, 0, 3)
        query, key, value = (part.permute(order) for part in (query, key, value))
        angles = torch.arange(length, dtype=torch.float32, device=query.device)[:, None] * rotary_frequencies(
            self.head_size, self.model.rope_theta, self.model.rope_scaling, query.device
        )
        angles = torch.cat((angles, angles), dim=-1)
        angles, dimension = (angles.t(), -2) if self.transposed else (angles, -1)
        cosine, sine = angles.cos().to(query.dtype), angles.sin().to(query.dtype)
        query, key = turn(query, cosine, sine, dimension), turn(key, cosine, sine, dimension)
        grouped = query.reshape(batch, self.key_value_heads, -1, *query.shape[2:])
        attended = self.core_attention(grouped, key.unsqueeze(2), value.unsqueeze(2)).flatten(1, 2)
        attended = attended.permute(2, 0, 1, 3).reshape(length, batch, self.heads * self.head_size)
        output: Tensor = self.o_proj(attended)
        return output
