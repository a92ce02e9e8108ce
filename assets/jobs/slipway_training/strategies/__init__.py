"""Ways to split a model over workers, by their names in a recipe."""

from __future__ import annotations

from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING, cast

if TYPE_CHECKING:
    from slipway_jobs.run import TrainingRun
    from slipway_training.device import Workers
    from slipway_training.strategy import Strategy

MODULES = {
    "data_parallel": "slipway_training.strategies.data_parallel",
    "tensor_parallel": "slipway_training.strategies.tensor_parallel",
    "fully_sharded": "slipway_training.strategies.fully_sharded",
}
"""Where each is; imported only when it is used, because each needs libraries that the others' environments lack."""


def build(run: TrainingRun, workers: Workers, weights: Path | None) -> Strategy:
    """Make the strategy that a run's recipe names. All workers call it at the same time.

    Args:
        run: The run.
        workers: This process and its place among the others.
        weights: Where the weights come from: for `tensor_parallel` a checkpoint's folder of the same split, else a
            model in the transformers format. None: at random, or from the checkpoint that `Strategy.load` reads next.

    Raises:
        OSError: a file of the weights is missing or cannot be read.
        ValueError: the weights are of another model.
    """
    module = import_module(MODULES[run.recipe.parallelism.strategy])
    return cast("Strategy", module.build(run, workers, weights))
