"""Random weights of a Llama that do not depend on how the model is split."""

from __future__ import annotations

from dataclasses import dataclass
from hashlib import blake2b
from typing import Protocol

import torch
from torch import Tensor

from slipway_jobs.recipe.attention_order import AttentionOrder


@dataclass(frozen=True)
class HeadOrder:
    """Where the heads of one attention lie in its matrices, before these are divided."""

    order: AttentionOrder
    """How repeated heads follow each other."""

    key_value_heads: int
    """Heads of keys and values in the model."""

    multiplier: int
    """How often they are repeated."""

    def arrange_queries(self, weight: Tensor) -> Tensor:
        """Bring rows of query heads from the model's order into the one in which each lies beside its key head."""
        if self.order == "trn2" or self.multiplier == 1:
            return weight
        groups = weight.reshape(self.key_value_heads, self.multiplier, -1, weight.shape[1])
        return groups.transpose(0, 1).reshape(weight.shape)

    def arrange_output(self, weight: Tensor) -> Tensor:
        """Bring the columns of the output matrix into the order of the query heads."""
        return self.arrange_queries(weight.t()).t()

    def repeat(self, weight: Tensor) -> Tensor:
        """Repeat rows of key or value heads."""
        if self.order == "trn1":
            return weight.repeat(self.multiplier, 1)
        heads = weight.reshape(self.key_value_heads, -1, weight.shape[1])
        return heads.repeat_interleave(self.multiplier, dim=0).flatten(0, 1)


class Fillable(Protocol):
    """Fills a matrix in place, and returns it."""

    def __call__(self, weight: Tensor) -> Tensor:
        """Fill the matrix."""
        ...


@dataclass(frozen=True)
class Fill:
    """Fills a whole matrix, of which a worker then takes its part."""

    name: str
    """The matrix: each has random numbers of its own."""

    seed: int
    """The recipe's seed."""

    deviation: float
    """Standard deviation of the weights."""

    heads: HeadOrder | None = None
    """Order of the rows, for query heads, or of the columns with `output`."""

    output: bool = False
    """Whether it is the attention's output matrix."""

    def __call__(self, weight: Tensor) -> Tensor:
        """Fill the matrix in place, and return it."""
        digest = blake2b(f"{self.seed} {self.name}".encode(), digest_size=7).digest()
        generator = torch.Generator().manual_seed(int.from_bytes(digest, "big"))
        values = torch.empty(weight.shape, dtype=torch.float32).normal_(0.0, self.deviation, generator=generator)
        if self.heads:
            values = self.heads.arrange_output(values) if self.output else self.heads.arrange_queries(values)
        with torch.no_grad():
            weight.copy_(values)
        return weight


@dataclass(frozen=True)
class FillStacked:
    """Fills matrices of one size that lie on top of each other."""

    fills: tuple[Fill, ...]
    """For each matrix what fills it."""

    def __call__(self, weight: Tensor) -> Tensor:
        """Fill the matrices in place, and return all."""
        for part, fill in zip(weight.chunk(len(self.fills)), self.fills, strict=True):
            fill(part)
        return weight
