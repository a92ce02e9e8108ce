"""FSDP2 with tensor parallelism, in PyTorch's own terms: the track of Trn2 (TorchNeuron)."""

from slipway_training.strategies.fully_sharded.training import FullySharded, build

__all__ = ["FullySharded", "build"]
