"""The loss over text that is not trained on."""

from __future__ import annotations

from statistics import fmean
from typing import TYPE_CHECKING

from slipway_training.data.samples import Samples

if TYPE_CHECKING:
    from slipway_jobs.recipe.model import Validation as Settings
    from slipway_jobs.run import TrainingRun
    from slipway_training.hang import HangWatch
    from slipway_training.strategy import Strategy


class Validation:
    """Measures the loss of the same samples each time. All workers measure at the same steps."""

    def __init__(self, settings: Settings, steps: int, strategy: Strategy, samples: Samples) -> None:
        """Take the recipe's settings and steps, the strategy that trains, and the samples of the validation text."""
        self._settings, self._steps, self._strategy, self._samples = settings, steps, strategy, samples

    @classmethod
    def of(cls, run: TrainingRun, strategy: Strategy) -> Validation | None:
        """Open the validation data of a run; None where its recipe names none.

        Raises:
            OSError, ValueError: as `Samples`.
        """
        settings = run.recipe.data.validation
        if settings is None or run.validation is None:
            return None
        samples = Samples(run.validation, strategy.data_parallel_rank, strategy.data_parallel_size)
        return cls(settings, run.recipe.steps, strategy, samples)

    def due(self, step: int) -> bool:
        """Tell whether the loss is measured after a step."""
        return step % self._settings.interval_steps == 0 or step == self._steps

    def loss(self, watch: HangWatch) -> float:
        """Return the mean loss of the recipe's batches; each of them is progress."""
        losses = []
        for number in range(1, self._settings.batches + 1):
            losses.append(self.loss_of(number))
            watch.progress()
        return fmean(losses)

    def loss_of(self, number: int) -> float:
        """Return the mean loss of a batch (from 1)."""
        return self._strategy.measure(self._samples.of_step(number)).item()
