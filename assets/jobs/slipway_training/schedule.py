"""The learning rate of each step."""

from __future__ import annotations

import math

from slipway_jobs.recipe.model import Optimizer


def learning_rate(optimizer: Optimizer, step: int, steps: int) -> float:
    """Return the learning rate of one step.

    It rises in a straight line over the warm-up's steps, the last of which has the peak, and then falls to the minimum
    at the last step. No step of the warm-up has 0: it would change nothing, and PyTorch/XLA would compile a graph of
    its own for it.

    Args:
        optimizer: The recipe's section.
        step: Number of the step, from 1 to `steps`.
        steps: Steps of the whole training.
    """
    peak, lowest, warmup = optimizer.learning_rate, optimizer.minimum_learning_rate, optimizer.warmup_steps
    if step <= warmup:
        return peak * step / warmup
    # Without a warm-up the first step has the peak, as the warm-up's last one has.
    first = max(warmup, 1)
    fallen = min(1.0, (step - first) / max(1, steps - first))
    if optimizer.schedule == "cosine":
        fallen = (1 - math.cos(math.pi * fallen)) / 2
    return peak + (lowest - peak) * fallen
