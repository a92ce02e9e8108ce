"""How many workers of a tensor-parallel group hold the same numbers of a weight.

The norm of the whole model's gradient must count each number once.
"""

from __future__ import annotations

from dataclasses import dataclass

import torch
from torch import Tensor, nn


@dataclass(frozen=True)
class Held:
    """Some rows of a weight."""

    rows: int
    """How many."""

    workers: int
    """How many workers of the tensor-parallel group hold them."""

    partial: bool = False
    """Whether each of these workers computes only a part of the gradient, so that the parts must be summed."""


def hold(weight: Tensor, *held: Held) -> nn.Parameter:
    """Make a parameter that knows who holds its rows."""
    parameter = nn.Parameter(weight.contiguous())
    mark(parameter, *held)
    return parameter


def mark(parameter: nn.Parameter, *held: Held) -> None:
    """Let a parameter know who holds its rows."""
    parameter.slipway_held = held  # type: ignore[attr-defined]


def is_partial(parameter: nn.Parameter) -> bool:
    """Return whether the workers' gradients must be summed."""
    held: tuple[Held, ...] = parameter.slipway_held  # type: ignore[attr-defined]
    return held[0].partial


def squared_norm(parameter: nn.Parameter, gradient: Tensor) -> Tensor:
    """Return this worker's share of a gradient's squared norm: summed over the workers, each number counts once."""
    held: tuple[Held, ...] = parameter.slipway_held  # type: ignore[attr-defined]
    parts = torch.split(gradient, [part.rows for part in held])
    return torch.stack([part.square().sum() / who.workers for part, who in zip(parts, held, strict=True)]).sum()
