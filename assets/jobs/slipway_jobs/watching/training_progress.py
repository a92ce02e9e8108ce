"""How far a training is, and when it ends if it goes on like this."""

from __future__ import annotations

import itertools
import math
from collections.abc import Sequence
from statistics import fmean, median

from slipway_jobs.arithmetic.placement import NoPlacement, place
from slipway_jobs.arithmetic.speed import peak_tokens_per_second
from slipway_jobs.environment import Environment
from slipway_jobs.run import TrainingRun
from slipway_jobs.watching.metrics import StepMetrics, ValidationMetrics
from slipway_jobs.watching.report import Progress
from slipway_jobs.watching.words import duration

SPEED_STEPS = 50
"""Steps whose median speed is shown: a single slow step, such as the first one, does not count."""

LOSS_STEPS = 40
"""Steps that the change of the loss is measured over, at most."""

QUIET_SECONDS = 120
"""The shortest time without a step that is worth a notice."""


def progress(
    run: TrainingRun,
    environment: Environment | None,
    metrics: Sequence[StepMetrics],
    validation: ValidationMetrics | None,
    *,
    started: float,
    running: bool,
    now: float,
) -> Progress | None:
    """Return how far a training is.

    Args:
        run: the run.
        environment: where it runs; none where its file cannot be read any more.
        metrics: its latest steps by rising step.
        validation: its latest validation loss.
        started: when the train job started last, in Unix seconds: pauses before are no measure of its speed.
        running: whether it trains at the moment.
        now: Unix seconds.
    """
    if not metrics:
        return None
    last, steps = metrics[-1], run.recipe.steps
    left = seconds_left(metrics, steps, started)
    change, measured = _loss_change(metrics[-LOSS_STEPS:])
    # A step that is under way is no delay; one that should be long over is.
    due = max(last.time + left, now) if left is not None else None
    speed = median(one.tokens_per_second for one in metrics[-SPEED_STEPS:])
    return Progress(
        step=last.step,
        steps=steps,
        loss=None if last.diverged else last.loss,
        loss_change=change,
        loss_steps=measured,
        validation_loss=validation.loss if validation and math.isfinite(validation.loss) else None,
        validation_step=validation.step if validation else None,
        gradient_norm=last.gradient_norm if math.isfinite(last.gradient_norm or 0) else None,
        learning_rate=last.learning_rate,
        tokens=last.tokens,
        tokens_per_second=speed,
        model_flops_utilization=_utilization(run, environment, speed),
        seconds_left=left,
        finished_at=due if running and last.step < steps else None,
        last_step_at=last.time,
    )


def seconds_left(metrics: Sequence[StepMetrics], steps: int, started: float) -> float | None:
    """Return how long the steps take that are left.

    By the clock from one step to another of the same start of the job, so that time for checkpoints counts; with one
    step only, by its speed.
    """
    last = metrics[-1]
    if last.step >= steps:
        return 0.0
    first = next(one for one in metrics if one.time >= min(started, last.time))
    if last.step > first.step and last.time > first.time:
        return (steps - last.step) * (last.time - first.time) / (last.step - first.step)
    if last.tokens_per_second > 0 and last.step > 0:
        return (steps - last.step) * last.tokens / last.step / last.tokens_per_second
    return None


def _utilization(run: TrainingRun, environment: Environment | None, tokens_per_second: float) -> float | None:
    if environment is None:
        return None
    try:
        peak = peak_tokens_per_second(place(run.recipe, environment))
    except NoPlacement:
        # The environment was changed since.
        return None
    return None if peak is None else tokens_per_second / peak


def silence(metrics: Sequence[StepMetrics], *, started: float, limit: float, now: float) -> str | None:
    """Say that a training that runs makes no progress; None while it does, and before the first step of this start.

    Args:
        metrics: the latest steps of the run.
        started: when the train job started last, in Unix seconds.
        limit: seconds after which the training ends itself.
        now: Unix seconds.
    """
    times = [one.time for one in metrics if one.time >= started]
    if len(times) < 2:
        return None
    # A checkpoint is a pause too, and no two take the same time.
    longest = max(after - before for before, after in itertools.pairwise(times))
    quiet = now - times[-1]
    if quiet <= max(QUIET_SECONDS, 3 * longest):
        return None
    return (
        f"no step for {duration(quiet)}, and the longest pause before was {duration(longest)}: a checkpoint is slow or "
        f"the training hangs; after {duration(limit)} (restarts.hang_minutes) it ends and starts again"
    )


def _loss_change(metrics: Sequence[StepMetrics]) -> tuple[float | None, int]:
    losses = [one.loss for one in metrics if not one.diverged]
    half = len(losses) // 2
    if half < 2:
        return None, 0
    return fmean(losses[-half:]) - fmean(losses[:half]), metrics[-1].step - metrics[0].step + 1
