"""The whole model on each worker; gradients are averaged. For BERT, and for a Llama that fits one core."""

from slipway_training.strategies.data_parallel.strategy import build

__all__ = ["build"]
