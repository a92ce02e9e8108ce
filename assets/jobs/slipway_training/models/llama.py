"""Llama and its family, over linear layers that may be divided among the workers of a tensor-parallel group.

The same model runs with NeuronX Distributed's layers on Trainium and with counterparts over gloo on processors
(slipway_training.strategies.tensor_parallel). Its weights have the names and shapes of NeuronX Distributed's Llama
example (examples/training/llama/modeling_llama_nxd.py with `qkv_linear`). What that has not is named as in transformers
(`q_norm`, `k_norm`), or by us: `qkv_bias.bias` holds a worker's biases of queries, keys and values.

States of tokens have the shape (sequence, batch, hidden): with sequence parallelism each worker holds a part of the
sequence between the divided layers, and the norms' work and memory are divided too.
"""

from __future__ import annotations

from dataclasses import dataclass

from torch import Tensor, nn

from slipway_jobs.recipe.architecture import Llama as LlamaConfiguration
from slipway_training.models.attention import Attention
from slipway_training.models.llama_initialization import Fill
from slipway_training.models.parallel_layers import ParallelLayers, RMSNorm

IGNORED = -100
"""A label that does not count."""


@dataclass(frozen=True)
class Stage:
    """The part of a model that one pipeline stage holds."""

    layers: range
    """Its decoder layers, by their numbers in the model."""

    first: bool = True
    """Whether it holds the embedding."""

    last: bool = True
    """Whether it holds the last norm and the output layer."""


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
