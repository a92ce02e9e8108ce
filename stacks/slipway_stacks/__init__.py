"""Slipway's stacks: each wires constructs together and states its lifetime."""
