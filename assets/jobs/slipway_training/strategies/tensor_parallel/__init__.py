"""A Llama with tensor parallelism, pipeline parallelism and ZeRO-1."""

from __future__ import annotations

from pathlib import Path

from slipway_jobs.run import TrainingRun
from slipway_training.device import Workers
from slipway_training.strategies.tensor_parallel.limits import check_limits
from slipway_training.strategy import Strategy


def build(run: TrainingRun, workers: Workers, weights: Path | None) -> Strategy:
    """Make the strategy: with NeuronX Distributed on Trainium, over gloo on processors. All workers call it together.

    Args:
        run: The run.
        workers: This process and its place among the others.
        weights: A checkpoint's folder to take weights from, of the same split; none for random ones.

    Raises:
        OSError: a file of the weights is missing or cannot be read.
        ValueError: the recipe's split does not work, or the weights are of another model or split.
    """
    check_limits(run)
    # Imported only where they run: one needs NeuronX Distributed, the other what newer versions of PyTorch have.
    if workers.device.type == "cpu":
        from slipway_training.strategies.tensor_parallel.gloo import GlooTensorParallel  # noqa: PLC0415

        return GlooTensorParallel(run, weights)
    from slipway_training.strategies.tensor_parallel.neuron import NeuronTensorParallel  # noqa: PLC0415

    return NeuronTensorParallel(run, weights)
