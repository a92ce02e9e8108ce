"""What a model is made of: layers that may be divided among the workers of a tensor-parallel group."""

from __future__ import annotations

from typing import Protocol

import torch
from torch import Tensor, nn

from slipway_training.models.llama_initialization import Fill, Fillable, HeadOrder


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
