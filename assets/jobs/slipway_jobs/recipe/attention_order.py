"""In which order the attention heads lie on the workers: a row for each family of Trainium instances."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Literal

from slipway_jobs.recipe.model import Hardware

AttentionOrder = Literal["trn1", "trn2"]
"""Repeated key and value heads lie one after the other: `trn1` 0 1 0 1, `trn2` 0 0 1 1. Query heads lie beside theirs,
so that with `trn1` they leave their order in the model."""

# JSON: the training stacks' Python has no YAML reader.
_FAMILIES: dict[str, AttentionOrder] = json.loads(Path(__file__).with_suffix(".json").read_text(encoding="utf-8"))[
    "families"
]


def attention_order(hardware: Hardware) -> AttentionOrder:
    """Return the order that NeuronX Distributed takes on the nodes; on CPUs without a row, that of Trn1.

    Raises:
        ValueError: NeuronX Distributed has no order for the accelerator.
    """
    family = (hardware.instance_type or "").partition(".")[0]
    if family not in _FAMILIES and hardware.device == "neuron":
        raise ValueError(f"NeuronX Distributed has no order of attention heads for {hardware.instance_type}")
    return _FAMILIES.get(family, "trn1")
