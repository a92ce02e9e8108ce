"""Which weights decay."""

from __future__ import annotations


def decays(name: str) -> bool:
    """Return whether weight decay applies to a weight of a Llama; norms and biases have none."""
    return "norm" not in name and not name.endswith(".bias")
