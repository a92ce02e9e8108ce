"""In which order the attention heads lie on the workers. The converter reads it too: nothing of PyTorch here."""

from __future__ import annotations

from typing import Literal

from slipway_jobs.recipe.model import Hardware

AttentionOrder = Literal["trn1", "trn2"]
"""Repeated key and value heads lie one after the other: `trn1` 0 1 0 1, `trn2` 0 0 1 1. Query heads lie beside theirs,
so that with `trn1` they leave their order in the model."""


def attention_order(hardware: Hardware) -> AttentionOrder:
    """Return the order that NeuronX Distributed takes on the nodes: it goes by the chip.

    Source: `_initialize_affine_weight` in neuronx_distributed/modules/qkv_linear.py.
    """
    return "trn2" if (hardware.instance_type or "").startswith(("trn2", "trn3")) else "trn1"
