"""The recipe's precision as a type of PyTorch."""

from __future__ import annotations

import torch

from slipway_jobs.recipe.model import Recipe


def precision(recipe: Recipe) -> torch.dtype:
    """Return the type of the model's weights and states."""
    return torch.bfloat16 if recipe.precision == "bfloat16" else torch.float32
