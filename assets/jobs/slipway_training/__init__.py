"""Slipway's training code: runs below torchrun on each node of a train job."""
