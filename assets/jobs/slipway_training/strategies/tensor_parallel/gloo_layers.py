"""Divided layers over gloo: counterparts of NeuronX Distributed's, for training on processors.

Sums over workers are done in float32, as NeuronX Distributed does (`reduce_dtype`). With more than one worker in the
tensor-parallel group the sequence is divided between the layers: a column-parallel layer gathers it and a row-parallel
layer sums and divides it, which costs the same traffic as summing whole states.
"""

from __future__ import annotations

from typing import Any

import torch
import torch.distributed as dist
from torch import Tensor, nn
from torch.nn.functional import embedding, linear

from slipway_training.models.attention import CoreAttention
from slipway_training.models.llama_initialization import Fill, Fillable, FillStacked, HeadOrder
from slipway_training.strategies.tensor_parallel.gloo_groups import Group, Groups, gather
from slipway_training.strategies.tensor_parallel.replicas import Held, hold, mark


def _sum(values: Tensor, group: Group) -> Tensor:
    total = values.float().clone(memory_format=torch.contiguous_format)
    dist.all_reduce(total, group=group.workers)
    return total.to(values.dtype)


def _sum_and_divide(values: Tensor, group: Group) -> Tensor:
    return _sum(values, group).chunk(group.size)[group.rank].clone()


class _GatherSequence(torch.autograd.Function):
    """Gathers the first dimension; gradients are summed and divided."""

    @staticmethod
    def forward(ctx: Any, part: Tensor, group: Group) -> Tensor:
        ctx.group = group
        return gather(part, group)

    @staticmethod
    def backward(ctx: Any, *gradients: Tensor) -> tuple[Tensor, None]:
        return _sum_and_divide(gradients[0], ctx.group), None


class _DivideSequence(torch.autograd.Function):
    """Sums over workers and divides the first dimension; gradients are gathered."""

    @staticmethod
    def forward(ctx: Any, values: Tensor, group: Group) -> Tensor:
        ctx.group = group
        return _sum_and_divide(values, group)

    @staticmethod
    def backward(ctx: Any, *gradients: Tensor) -> tuple[Tensor, None]:
        return gather(gradients[0], ctx.group), None


def _gather_sequence(states: Tensor, group: Group) -> Tensor:
    if group.size == 1:
        return states
    whole: Tensor = _GatherSequence.apply(states, group)  # type: ignore[no-untyped-call]
    return whole


def _divide_sequence(states: Tensor, group: Group) -> Tensor:
    if group.size == 1:
        return states
    part: Tensor = _DivideSequence.apply(states, group)  # type: ignore[no-untyped-call]
    return part


class _SumGradient(torch.autograd.Function):
    """Leaves a weight as it is; its gradient is summed over the workers that hold it too."""

    @staticmethod
    def forward(ctx: Any, weight: Tensor, group: Group) -> Tensor:
        ctx.group = group
        return weight.view_as(weight)

    @staticmethod
    def backward(ctx: Any, *gradients: Tensor) -> tuple[Tensor, None]:
        return _sum(gradients[0], ctx.group), None


class _CrossEntropy(torch.autograd.Function):
    """Cross entropy over a divided vocabulary."""

    @staticmethod
    def forward(ctx: Any, logits: Tensor, labels: Tensor, group: Group) -> Tensor:
        largest = logits.max(dim=-1).values
        dist.all_reduce(largest, op=dist.ReduceOp.MAX, group=group.workers)
        exponentials = torch.exp(logits - largest[:, None])
        local = labels - group.rank * logits.shape[-1]
        here = (local >= 0) & (local < logits.shape[-1])
        local = local * here
        chosen = torch.gather(logits - largest[:, None], 1, local[:, None]).squeeze(1) * here
        totals = _sum(torch.stack((exponentials.sum(dim=-1), chosen)), group)
        ctx.save_for_backward(exponentials / totals[0][:, None], local, here)
        return torch.log(totals[0]) - totals[1]

    @staticmethod
    def backward(ctx: Any, *gradients: Tensor) -> tuple[Tensor, None, None]:
        shares, local, here = ctx.saved_tensors
        gradient = shares.clone()
        gradient.scatter_add_(1, local[:, None], -here[:, None].to(gradient.dtype))
        return gradient * gradients[0][:, None], None, None


class _Embedding(nn.Module):
    def __init__(self, weight: nn.Parameter, group: Group) -> None:
        super().__init__()
        self.weight, self.group = weight, group

    def forward(self, tokens: Tensor) -> Tensor:
        if self.group.size == 1:
            return embedding(tokens, self.weight)
        local = tokens - self.group.rank * self.weight.shape[0]
        here = (local >= 0) & (local < self.weight.shape[0])
        states = embedding(local * here, self.weight) * here[..., None]
        return _divide_sequence(states.transpose(0, 1), self.group)


class _ColumnParallel(nn.Module):
    def __init__(self, weight: nn.Parameter, group: Group) -> None:
        super().__init__()
        self.weight, self.group = weight, group

    def forward(self, states: Tensor) -> Tensor:
        whole = _gather_sequence(states, self.group)
        return linear(whole, self.weight)


class _RowParallel(nn.Module):
    def __init__(self, weight: nn.Parameter, group: Group) -> None:
        super().__init__()
        self.weight, self.group = weight, group

    def forward(self, states: Tensor) -> Tensor:
        return _divide_sequence(linear(states, self.weight), self.group)


class _QueryKeyValue(nn.Module):
    """Queries, keys and values; `weight_q`, `weight_k` and `weight_v`, or all in `weight_qkv`."""

    weight_q: nn.Parameter
    weight_k: nn.Parameter
    weight_v: nn.Parameter

    def __init__(self, weights: dict[str, Tensor], groups: Groups, *, fuse: bool) -> None:
        super().__init__()
        self.groups, self.fuse = groups, fuse
        self.rows = [weight.shape[0] for weight in weights.values()]
        copies = groups.key_value.size
        if fuse:
            held = (Held(self.rows[0], 1), Held(self.rows[1] + self.rows[2], copies))
            self.weight_qkv = hold(torch.cat(list(weights.values())), *held)
            return
        for name, weight in weights.items():
            held_by = 1 if name == "q" else copies
            self.register_parameter(f"weight_{name}", hold(weight, Held(weight.shape[0], held_by)))

    def forward(self, states: Tensor) -> tuple[Tensor, Tensor, Tensor]:
        whole = _gather_sequence(states, self.groups.tensor)
        if self.fuse:
            weights = torch.split(self.weight_qkv, self.rows)
        else:
            weights = (self.weight_q, self.weight_k, self.weight_v)
        query, key, value = weights
        if self.groups.key_value.size > 1:
            key = _SumGradient.apply(key, self.groups.key_value)  # type: ignore[no-untyped-call]
            value = _SumGradient.apply(value, self.groups.key_value)  # type: ignore[no-untyped-call]
        return linear(whole, query), linear(whole, key), linear(whole, value)


class _QueryKeyValueBias(nn.Module):
    """Biases of a worker's queries, keys and values. All workers see the whole sequence here."""

    def __init__(self, query: int, key_value: int, groups: Groups, precision: torch.dtype) -> None:
        super().__init__()
        self.group, self.sizes = groups.key_value, [query, key_value, key_value]
        held = (Held(query, 1), Held(2 * key_value, groups.key_value.size))
        self.bias = hold(torch.zeros(sum(self.sizes), dtype=precision), *held)

    def forward(self, *states: Tensor) -> tuple[Tensor, ...]:
        query, key, value = torch.split(self.bias, self.sizes)
        if self.group.size > 1:
            key = _SumGradient.apply(key, self.group)  # type: ignore[no-untyped-call]
            value = _SumGradient.apply(value, self.group)  # type: ignore[no-untyped-call]
        return tuple(state + bias for state, bias in zip(states, (query, key, value), strict=True))


class GlooLayers:
    """Makes layers that are divided over gloo (slipway_training.models.parallel_layers.ParallelLayers)."""

    def __init__(self, groups: Groups, heads: HeadOrder, precision: torch.dtype, *, fuse_qkv: bool) -> None:
        self.groups = groups
        self.heads = heads
        self.precision = precision
        self.fuse_qkv = fuse_qkv
        self.tensor_parallel_size = groups.tensor.size
        self.split_sequence = groups.tensor.size > 1
        self.transposed_heads = False

    def embedding(self, rows: int, width: int, fill: Fill) -> nn.Module:
        """Make an embedding whose rows are divided."""
        return _Embedding(self._divided(fill(torch.empty(rows, width))), self.groups.tensor)

    def column(self, inputs: int, outputs: int, fill: Fillable, parts: int = 1) -> nn.Module:
        """Make a layer whose outputs are divided."""
        matrices = fill(torch.empty(outputs, inputs)).chunk(parts)
        return _ColumnParallel(self._divided(*matrices), self.groups.tensor)

    def row(self, inputs: int, outputs: int, fill: Fill) -> nn.Module:
        """Make a layer whose inputs are divided."""
        return _RowParallel(self._divided(fill(torch.empty(outputs, inputs)), dimension=1), self.groups.tensor)

    def query_key_value(self, inputs: int, query: int, key_value: int, fills: tuple[Fill, Fill, Fill]) -> nn.Module:
        """Make the layer that returns a worker's queries, keys and values.

        Fused without grouped queries they are one plain matrix, as in NeuronX Distributed's example.
        """
        if self.fuse_qkv and query == key_value and self.heads.multiplier == 1:
            return self.column(inputs, 3 * query, FillStacked(fills), parts=3)
        sizes = {"q": query, "k": key_value, "v": key_value}
        fill = dict(zip(sizes, fills, strict=True))
        whole = {name: fill[name](torch.empty(size, inputs)) for name, size in sizes.items()}
        repeated = {name: weight if name == "q" else self.heads.repeat(weight) for name, weight in whole.items()}
        parts = {name: self._part(weight, 0) for name, weight in repeated.items()}
        return _QueryKeyValue(parts, self.groups, fuse=self.fuse_qkv)

    def query_key_value_bias(self, query: int, key_value: int) -> nn.Module:
        """Make what adds biases."""
        size = self.tensor_parallel_size
        return _QueryKeyValueBias(query // size, key_value * self.heads.multiplier // size, self.groups, self.precision)

    def core_attention(self) -> nn.Module:
        """Make what attends."""
        return CoreAttention()

    def mark_norm_weight(self, weight: nn.Parameter) -> None:
        """Take note of a norm's weight: each worker sees a part of the sequence, so that its gradient is a part too."""
        mark(weight, Held(len(weight), self.tensor_parallel_size, partial=self.split_sequence))

    def cross_entropy(self, logits: Tensor, labels: Tensor) -> Tensor:
        """Return the loss of each token."""
        loss: Tensor = _CrossEntropy.apply(logits, labels, self.groups.tensor)  # type: ignore[no-untyped-call]
        return loss

    def _divided(self, *matrices: Tensor, dimension: int = 0) -> nn.Parameter:
        part = torch.cat([self._part(matrix, dimension) for matrix in matrices], dim=dimension)
        return hold(part, Held(part.shape[0], 1))

    def _part(self, weight: Tensor, dimension: int) -> Tensor:
        part = weight.chunk(self.tensor_parallel_size, dim=dimension)[self.groups.tensor.rank]
        return part.to(self.precision, copy=True)
