"""Llama and its family, over linear layers that may be divided among the workers of a tensor-parallel group.

The same model runs with NeuronX Distributed's layers on Trainium and with counterparts over gloo on processors
(slipway_training.strategies.tensor_parallel). Its weights have the names and shapes of NeuronX Distributed's Llama
example (examples/training/llama/modeling_llama_nxd.py with `qkv_linear`). What that has not is named as in transformers
(`q_norm`, `k_norm`), or by us: `qkv_bias.bias` holds a worker's biases of queries, keys and values.

States of tokens have the shape (sequence, batch, hidden): with sequence parallelism each worker holds a part of the
sequence between the divided layers, and the norms' work and memory are divided too.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Protocol

import torch
from torch import Tensor, nn

from slipway_jobs.recipe.architecture import Llama as LlamaConfiguration
from slipway_jobs.recipe.architecture import RopeScaling
from slipway_training.models.llama_initialization import Fill, Fillable, HeadOrder

IGNORED = -100
"""A label that does not count."""


class ParallelLayers(Protocol):
    """Makes the layers that hold the model's matrices."""

    tensor_parallel_size: int
    """Workers that share each layer."""

    split_sequence: bool
    """Whether states between the layers are parts of the sequence; the embedding then returns the sequence first."""

    heads: HeadOrder
    """Where the attention heads lie."""

    transposed_heads: bool
    """Whether what attends takes heads as (…, size, sequence) instead of (…, sequence, size)."""

    precision: torch.dtype
    """Type of the weights."""

    def embedding(self, rows: int, width: int, fill: Fill) -> nn.Module:
        """Make an embedding whose rows are divided: (batch, sequence) token numbers to states."""
        ...

    def column(self, inputs: int, outputs: int, fill: Fillable, parts: int = 1) -> nn.Module:
        """Make a layer whose outputs are divided; `parts` matrices on top of each other are divided one by one."""
        ...

    def row(self, inputs: int, outputs: int, fill: Fill) -> nn.Module:
        """Make a layer whose inputs are divided."""
        ...

    def query_key_value(self, inputs: int, query: int, key_value: int, fills: tuple[Fill, Fill, Fill]) -> nn.Module:
        """Make the layer that returns a worker's queries, keys and values: three tensors, or one that holds all."""
        ...

    def query_key_value_bias(self, query: int, key_value: int) -> nn.Module:
        """Make what adds biases, zero at the start, to the three tensors of `query_key_value`."""
        ...

    def core_attention(self) -> nn.Module:
        """Make what attends: `CoreAttention`, or one with the same arguments."""
        ...

    def mark_norm_weight(self, weight: nn.Parameter) -> None:
        """Take note of a norm's weight: all workers hold it, and each sees a part of the sequence."""
        ...

    def cross_entropy(self, logits: Tensor, labels: Tensor) -> Tensor:
        """Return the loss of each token: logits (tokens, vocabulary / workers), overwritten; labels (tokens,)."""
        ...


@dataclass(frozen=True)
class Stage:
    """The part of a model that one pipeline stage holds."""

    layers: range
    """Its decoder layers, by their numbers in the model."""

    first: bool = True
    """Whether it holds the embedding."""

    last: bool = True
    """Whether it holds the last norm and the output layer."""


class RMSNorm(nn.Module):
    """Root mean square norm, computed in float32."""

    def __init__(self, width: int, epsilon: float, layers: ParallelLayers) -> None:
        super().__init__()
        self.weight = nn.Parameter(torch.ones(width, dtype=layers.precision))
        layers.mark_norm_weight(self.weight)
        self.epsilon = epsilon

    def forward(self, states: Tensor) -> Tensor:
        """Norm each token's state."""
        wide = states.float()
        wide = wide * torch.rsqrt(wide.square().mean(-1, keepdim=True) + self.epsilon)
        return (self.weight * wide).to(states.dtype)


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


class FeedForward(nn.Module):
    """SwiGLU."""

    def __init__(self, model: LlamaConfiguration, layers: ParallelLayers, name: str, seed: int) -> None:
        super().__init__()
        inputs, inner, deviation = model.hidden_size, model.intermediate_size, model.initializer_range
        self.gate_up_proj = layers.column(inputs, 2 * inner, Fill(f"{name}.gate_up_proj", seed, deviation), parts=2)
        self.down_proj = layers.row(inner, inputs, Fill(f"{name}.down_proj", seed, deviation))

    def forward(self, states: Tensor) -> Tensor:
        """Compute each token's part."""
        gate, up = self.gate_up_proj(states).chunk(2, dim=-1)
        output: Tensor = self.down_proj(nn.functional.silu(gate) * up)
        return output


class DecoderLayer(nn.Module):
    """Attention and feed-forward, each added to what comes in."""

    def __init__(self, model: LlamaConfiguration, layers: ParallelLayers, name: str, seed: int) -> None:
        super().__init__()
        self.self_attn = Attention(model, layers, f"{name}.self_attn", seed)
        self.mlp = FeedForward(model, layers, f"{name}.mlp", seed)
        self.input_layernorm = RMSNorm(model.hidden_size, model.rms_norm_eps, layers)
        self.post_attention_layernorm = RMSNorm(model.hidden_size, model.rms_norm_eps, layers)

    def forward(self, states: Tensor) -> Tensor:
        """Compute the states after the layer."""
        states = states + self.self_attn(self.input_layernorm(states))
        after: Tensor = states + self.mlp(self.post_attention_layernorm(states))
        return after


class Decoder(nn.Module):
    """Embedding, decoder layers and the last norm, or a stage's part of them."""

    def __init__(self, model: LlamaConfiguration, layers: ParallelLayers, stage: Stage, seed: int) -> None:
        super().__init__()
        self.stage = stage
        self.split_sequence = layers.split_sequence
        if stage.first:
            fill = Fill("model.embed_tokens", seed, model.initializer_range)
            self.embed_tokens = layers.embedding(model.vocab_size, model.hidden_size, fill)
        # A dictionary, so that a stage's layers have their numbers in the model.
        self.layers = nn.ModuleDict(
            {str(number): DecoderLayer(model, layers, f"model.layers.{number}", seed) for number in stage.layers}
        )
        if stage.last:
            self.norm = RMSNorm(model.hidden_size, model.rms_norm_eps, layers)

    def forward(self, states: Tensor) -> Tensor:
        """Compute states from token numbers (batch, sequence), or from the states of the stage before."""
        if self.stage.first:
            states = self.embed_tokens(states)
            if not self.split_sequence:
                states = states.transpose(0, 1).contiguous()
        for layer in self.layers.values():
            states = layer(states)
        return self.norm(states) if self.stage.last else states


class NextTokenLoss(nn.Module):
    """Mean cross entropy of each token's successor."""

    def __init__(self, layers: ParallelLayers) -> None:
        super().__init__()
        self.cross_entropy = layers.cross_entropy

    def forward(self, logits: Tensor, labels: Tensor) -> Tensor:
        """Compare logits (sequence, batch, vocabulary / workers) with labels (batch, sequence), which are shifted."""
        # A copy, because the cross entropy overwrites it.
        scores = logits[:-1].float().clone().flatten(0, 1)
        targets = labels.transpose(0, 1)[1:].reshape(-1)
        counted = (targets != IGNORED).float()
        return (self.cross_entropy(scores, targets) * counted).sum() / counted.sum().clamp_min(1.0)


class Llama(nn.Module):
    """A Llama, or one pipeline stage of it."""

    def __init__(self, model: LlamaConfiguration, layers: ParallelLayers, stage: Stage, seed: int) -> None:
        super().__init__()
        self.stage = stage
        self.model = Decoder(model, layers, stage, seed)
        if stage.last:
            fill = Fill("lm_head", seed, model.initializer_range)
            self.lm_head = layers.column(model.hidden_size, model.vocab_size, fill)
            self.loss = NextTokenLoss(layers)
        self.tied = model.tie_word_embeddings and stage.first and stage.last
        self.tie_weights()

    def tie_weights(self) -> None:
        """Let the output layer use the embedding's weight, where the model is so; again after a move to a device."""
        if self.tied:
            self.lm_head.weight = self.model.embed_tokens.weight

    def forward(self, input_ids: Tensor, labels: Tensor | None = None) -> Tensor:
        """Return the loss if there are labels; else logits, or the states for the next stage.

        Args:
            input_ids: Token numbers of shape (batch, sequence); on later stages the states of the stage before.
            labels: Labels of the same shape; -100 does not count.
        """
        states: Tensor = self.model(input_ids)
        if not self.stage.last:
            return states
        logits: Tensor = self.lm_head(states)
        if labels is None:
            return logits
        loss: Tensor = self.loss(logits, labels)
        return loss
