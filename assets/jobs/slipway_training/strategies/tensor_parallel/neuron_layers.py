"""NeuronX Distributed's divided layers, for training on Trainium.

Proven with NeuronX Distributed 0.17's own Python code over gloo (its CPU mode, with stand-ins for what needs the Neuron
runtime): names, shapes, losses and gradients equal those over gloo. Not proven without Trainium: compilation, the
flash attention kernel, speed and memory.
"""

from __future__ import annotations

from collections.abc import Callable
from itertools import cycle
from typing import Any

import torch
import torch_xla.core.xla_model as xm
from neuronx_distributed.kernels.flash_attn import nki_flash_attn_func
from neuronx_distributed.modules.qkv_linear import GQAQKVColumnParallelLinear
from neuronx_distributed.parallel_layers.layers import ColumnParallelLinear, ParallelEmbedding, RowParallelLinear
from neuronx_distributed.parallel_layers.loss_functions import parallel_cross_entropy
from neuronx_distributed.parallel_layers.parallel_state import (
    get_kv_shared_replica_groups,
    get_tensor_model_parallel_rank,
    get_tensor_model_parallel_size,
)
from neuronx_distributed.parallel_layers.utils import set_tensor_model_parallel_attributes
from neuronx_distributed.utils.model_utils import get_platform_lnc
from torch import Tensor, nn

from slipway_training.models.attention import CoreAttention
from slipway_training.models.llama_initialization import Fill, Fillable, FillStacked, HeadOrder
from slipway_training.models.parallel_layers import RMSNorm

FLASH_ATTENTION_TOKENS = 2048
"""The flash attention kernel takes sequences that are a multiple of it (nki_flash_attn_func)."""


class FlashAttention(nn.Module):
    """Causal attention by the Neuron kernel, which keeps no scores. Arguments as `CoreAttention`'s, transposed.

    The kernel's own layout (`transpose_nki_inputs`, on in NeuronX Distributed's example: v2.28.0,
    tp_zero1_llama_hf_pretrain.py, line 669, and modeling_llama_nxd.py, line 487; in NxD Training: llama_model.py, line
    49) spares one transposition of queries, keys and values. With `mixed_precision` it computes in bfloat16 whatever
    its inputs are (nki-samples 0898a771, src/nki_samples/reference/attention.py, lines 305 and 371).
    """

    def forward(self, query: Tensor, key: Tensor, value: Tensor) -> Tensor:
        """Attend: heads are (…, size, sequence), the result is (…, sequence, size)."""
        key, value = (states.expand(*query.shape).flatten(1, 2) for states in (key, value))
        attended: Tensor = nki_flash_attn_func(
            query.flatten(1, 2),
            key,
            value,
            lnc=int(get_platform_lnc()),
            mixed_precision=query.dtype == torch.bfloat16,
            transpose_nki_inputs=True,
        )
        return attended.reshape(*query.shape[:3], *attended.shape[2:])


class _Fills:
    """Fills the matrices of queries, keys and values in turn: the layer has one function for all three."""

    def __init__(self, fills: tuple[Fill, Fill, Fill]) -> None:
        self._turns = cycle(fills)

    def __call__(self, weight: Tensor) -> Tensor:
        return next(self._turns)(weight)


class QueryKeyValue(GQAQKVColumnParallelLinear):  # type: ignore[misc]
    """NeuronX Distributed's layer, with two corrections to how it starts.

    On Trn2 it repeats single rows of the key and value matrices instead of heads, so that workers whose gradients are
    summed as one head's would start with different weights. And it makes the fused matrix anew without saying that it
    is divided, so that the gradient's norm would count only an average of its parts.
    """

    def __init__(
        self, *, fills: tuple[Fill, Fill, Fill], heads: HeadOrder, inputs: int, fuse: bool, **options: object
    ) -> None:
        self._fills, self._heads = fills, heads
        sizes = options.pop("output_sizes")
        super().__init__(
            inputs, sizes, bias=False, gather_output=False, init_method=_Fills(fills), fuse_qkv=fuse, **options
        )

    def initialize_weight_biases(self) -> None:
        """Fill this worker's part."""
        super().initialize_weight_biases()
        if self.fuse_qkv:
            set_tensor_model_parallel_attributes(
                self.weight_qkv, True, 0, stride=1, num_partitions=get_tensor_model_parallel_size()
            )
        weight = self.weight_qkv if self.fuse_qkv else self.weight_k
        if self._heads.order == "trn2" and self.kv_size_multiplier > 1 and weight.device.type != "meta":
            self._repeat_heads()

    def _repeat_heads(self) -> None:
        size = self.kv_output_size_per_partition
        query = self.q_output_size_per_partition
        parts = (
            (self.weight_qkv[query : query + size], self.weight_qkv[query + size :])
            if self.fuse_qkv
            else (self.weight_k, self.weight_v)
        )
        for part, fill in zip(parts, self._fills[1:], strict=True):
            whole = self._heads.repeat(fill(torch.empty(self.output_sizes[1], self.input_size)))
            with torch.no_grad():
                part.copy_(whole[get_tensor_model_parallel_rank() * size :][:size])


class _SumGradient(torch.autograd.Function):
    """Leaves a bias as it is; its gradient is summed over the workers that hold it too."""

    @staticmethod
    def forward(_ctx: Any, bias: Tensor) -> Tensor:
        return bias.view_as(bias)

    @staticmethod
    def backward(_ctx: Any, *gradients: Tensor) -> Tensor:
        total = xm.all_reduce(
            xm.REDUCE_SUM, gradients[0].float(), groups=get_kv_shared_replica_groups(), pin_layout=False
        )
        summed: Tensor = total.to(gradients[0].dtype)
        return summed


class QueryKeyValueBias(nn.Module):
    """Biases of a worker's queries, keys and values.

    Not those of GQAQKVColumnParallelLinear: it starts them with the size of all workers' (v2.28.0, qkv_linear.py, line
    628), and does not sum the gradients of repeated ones.
    """

    def __init__(self, query: int, key_value: int, multiplier: int, precision: torch.dtype) -> None:
        super().__init__()
        self.sizes, self.repeated = [query, key_value, key_value], multiplier > 1
        self.bias = nn.Parameter(torch.zeros(sum(self.sizes), dtype=precision))
        set_tensor_model_parallel_attributes(
            self.bias, True, 0, stride=1, num_partitions=get_tensor_model_parallel_size()
        )

    def forward(self, *states: Tensor) -> tuple[Tensor, ...]:
        """Add them."""
        query, key, value = torch.split(self.bias, self.sizes)
        if self.repeated:
            key, value = _SumGradient.apply(key), _SumGradient.apply(value)  # type: ignore[no-untyped-call]
        return tuple(state + bias for state, bias in zip(states, (query, key, value), strict=True))


class NeuronLayers:
    """Makes layers that are divided over NeuronCores (slipway_training.models.parallel_layers.ParallelLayers)."""

    def __init__(self, heads: HeadOrder, precision: torch.dtype, sequence_length: int, *, fuse_qkv: bool) -> None:
        self.heads = heads
        self.precision = precision
        self.transposed_heads = sequence_length % FLASH_ATTENTION_TOKENS == 0
        self.fuse_qkv = fuse_qkv
        self.tensor_parallel_size: int = get_tensor_model_parallel_size()
        self.split_sequence = self.tensor_parallel_size > 1

    def embedding(self, rows: int, width: int, fill: Fill) -> nn.Module:
        """Make an embedding whose rows are divided."""
        return self._layer(ParallelEmbedding, rows, width, fill)

    def column(self, inputs: int, outputs: int, fill: Fillable, parts: int = 1) -> nn.Module:
        """Make a layer whose outputs are divided."""
        return self._layer(ColumnParallelLinear, inputs, outputs, fill, bias=False, gather_output=False, stride=parts)

    def row(self, inputs: int, outputs: int, fill: Fill) -> nn.Module:
        """Make a layer whose inputs are divided."""
        return self._layer(RowParallelLinear, inputs, outputs, fill, bias=False, input_is_parallel=True)

    def query_key_value(self, inputs: int, query: int, key_value: int, fills: tuple[Fill, Fill, Fill]) -> nn.Module:
        """Make the layer that returns a worker's queries, keys and values.

        Fused without grouped queries they are one plain matrix, as in NeuronX Distributed's example.
        """
        if self.fuse_qkv and query == key_value and self.heads.multiplier == 1:
            return self.column(inputs, 3 * query, FillStacked(fills), parts=3)
        return QueryKeyValue(
            fills=fills,
            heads=self.heads,
            inputs=inputs,
            fuse=self.fuse_qkv,
            output_sizes=[query, key_value],
            dtype=self.precision,
            sequence_parallel_enabled=self.split_sequence,
            kv_size_multiplier=self.heads.multiplier,
        )

    def query_key_value_bias(self, query: int, key_value: int) -> nn.Module:
        """Make what adds biases."""
        size, multiplier = self.tensor_parallel_size, self.heads.multiplier
        return QueryKeyValueBias(query // size, key_value * multiplier // size, multiplier, self.precision)

    def core_attention(self) -> nn.Module:
        """Make what attends: the kernel where it takes the sequence."""
        return FlashAttention() if self.transposed_heads else CoreAttention()

    def mark_norm_weight(self, weight: nn.Parameter) -> None:
        """Take note of a norm's weight: its gradient is summed over the workers before a step."""
        weight.sequence_parallel_enabled = self.split_sequence  # type: ignore[attr-defined]

    def cross_entropy(self, logits: Tensor, labels: Tensor) -> Tensor:
        """Return the loss of each token."""
        loss: Tensor = parallel_cross_entropy(logits, labels)
        return loss

    def _layer(
        self, kind: Callable[..., nn.Module], first: int, second: int, fill: Fillable, **options: bool | int
    ) -> nn.Module:
        return kind(
            first,
            second,
            init_method=fill,
            dtype=self.precision,
            sequence_parallel_enabled=self.split_sequence,
            **options,
        )


def initialize(module: nn.Module, _device: torch.device) -> None:
    """Fill a module's own weights, which were made without memory (NeuronX Distributed's `param_init_fn`)."""
    if isinstance(module, RMSNorm):
        nn.init.ones_(module.weight)
    elif isinstance(module, QueryKeyValueBias):
        nn.init.zeros_(module.bias)
    elif isinstance(module, QueryKeyValue):
        module.initialize_weight_biases()
    elif isinstance(module, (ParallelEmbedding, ColumnParallelLinear, RowParallelLinear)):
        module.init_weight_cpu()
