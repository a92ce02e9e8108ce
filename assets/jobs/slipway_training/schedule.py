"""The learning rate of each step, and how an optimizer takes it."""

from __future__ import annotations

import math

import torch

from slipway_jobs.recipe.model import Optimizer

SMALLEST_ON_DEVICE = 1e-12
"""In the place of a learning rate of 0. Capturable AdamW (torch 2.9, optim/adam.py, `_single_tensor_adam`) divides by
the learning rate: with 0, weights without a gradient become NaN. And PyTorch/XLA compiles a graph of its own for 0."""


def learning_rate(optimizer: Optimizer, step: int, steps: int) -> float:
    """Return the learning rate of one step.

    It rises in a straight line over the warm-up's steps, the last of which has the peak, stays there until
    `decay_steps` are left, and then falls to the minimum at the last step. No step of the warm-up has 0: it would
    change nothing.

    Args:
        optimizer: The recipe's section.
        step: Number of the step, from 1 to `steps`.
        steps: Steps of the whole training.
    """
    peak, lowest, warmup = optimizer.learning_rate, optimizer.minimum_learning_rate, optimizer.warmup_steps
    if step <= warmup:
        return peak * step / warmup
    # Without a warm-up the first step has the peak, as the warm-up's last one has.
    first = max(warmup, 1) if optimizer.decay_steps is None else steps - optimizer.decay_steps
    if step <= first:
        return peak
    fallen = (step - first) / (steps - first)
    if optimizer.schedule == "cosine":
        fallen = (1 - math.cos(math.pi * fallen)) / 2
    return peak + (lowest - peak) * fallen


def set_learning_rate(optimizer: torch.optim.Optimizer, rate: float, device: torch.device) -> None:
    """Give all groups a learning rate."""
    value = learning_rate_value(rate, device)
    for group in optimizer.param_groups:
        group["lr"] = value


def learning_rate_value(rate: float, device: torch.device) -> float | torch.Tensor:
    """Return a learning rate as the optimizer takes it: on a device as its tensor, an input of the compiled graph."""
    if device.type == "cpu":
        return rate
    return torch.tensor(max(rate, SMALLEST_ON_DEVICE), dtype=torch.float32).to(device)
