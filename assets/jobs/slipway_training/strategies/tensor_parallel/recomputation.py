"""Which modules forget what they computed, and compute it again in the backward pass."""

from __future__ import annotations

from typing import Literal

from torch import nn

from slipway_training.models.llama import CoreAttention, DecoderLayer

RECOMPUTED: dict[Literal["none", "selective", "full"], type[nn.Module] | None] = {
    "none": None,
    "selective": CoreAttention,
    "full": DecoderLayer,
}
"""The class of the modules, by the recipe's `activation_checkpointing`."""
