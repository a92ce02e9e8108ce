"""The training loop: the same for every strategy and device."""

from __future__ import annotations

import math
from contextlib import nullcontext
from pathlib import Path
from typing import TYPE_CHECKING

import torch

from slipway_jobs.recipe.attention_order import attention_order
from slipway_jobs.run import TrainingRun
from slipway_training.checkpoints.integrity import latest_sound
from slipway_training.checkpoints.layout import DONE, INITIAL, CheckpointFile, read_checkpoint_file
from slipway_training.checkpoints.saving import Checkpoints, remove_incomplete
from slipway_training.data.samples import Samples
from slipway_training.device import Workers
from slipway_training.durable import write_text
from slipway_training.hang import HangWatch
from slipway_training.metrics import Metrics, say
from slipway_training.schedule import learning_rate
from slipway_training.stopping import StopRequest
from slipway_training.strategies import build
from slipway_training.validation import Validation

if TYPE_CHECKING:
    from slipway_training.strategy import Strategy

LOSSES_THAT_ARE_NO_NUMBER = 5
"""Steps in a row whose loss is NaN or infinite, after which training ends. One alone can be an overflow that clipping
mends; after some, the weights are lost."""


class TrainingError(Exception):
    """Training cannot begin or go on. The message is for the user."""


def take_compile_steps(run: TrainingRun, workers: Workers) -> None:
    """Take the compile job's few steps, from random weights, and one as after a resume; write nothing.

    Below neuron_parallel_compile no step is computed (losses are arbitrary), so that they are not judged.
    """
    strategy = build(run, workers, None)
    samples = Samples(run, strategy.data_parallel_rank, strategy.data_parallel_size)
    validation = Validation.of(run, strategy)
    recipe = run.recipe
    last = recipe.compile.steps
    for number in range(1, last + 2):
        if number > last:
            strategy.reload()
        step = min(number, last)
        workers.seed(recipe.data.seed, step, strategy.data_parallel_rank)
        rate = learning_rate(recipe.optimizer, step, recipe.steps)
        loss = strategy.train_step(samples.of_step(step), rate).item()
        if workers.rank == 0:
            say(f"compile step {number}/{last + 1}  loss {loss:.4f}")
        if validation:
            validation.loss_of(1)


def train(run: TrainingRun, workers: Workers, request: StopRequest) -> None:
    """Train until the recipe's last step, or until a worker is asked to stop; go on from the latest sound checkpoint.

    Raises:
        TrainingError: the latest checkpoint is of another model or split, or the loss is NaN.
        DamagedError: there are checkpoints, and all of them are damaged.
        CheckpointError: a checkpoint cannot be written.
        OSError, ValueError: data or weights cannot be used.
    """
    strategy, step = _start(run, workers)
    samples = Samples(run, strategy.data_parallel_rank, strategy.data_parallel_size)
    with (
        Metrics(run, step) if workers.rank == 0 else nullcontext() as metrics,
        HangWatch(run.recipe.restarts.hang_minutes, workers.rank) as watch,
    ):
        finished = _Steps(run, workers, strategy, samples, step).take(request, metrics, watch)
    if workers.rank != 0:
        return
    if finished:
        write_text(run.done_file("train"), "")
        say(f"training is done: {run.recipe.steps} steps")
    else:
        say(f"asked to stop ({request.received or 'another worker was'}): the latest checkpoint holds what was done")


def _start(run: TrainingRun, workers: Workers) -> tuple[Strategy, int]:
    """Make the strategy with the weights it starts from, and return it with the steps that were already taken."""
    directory = Path(run.checkpoint_directory)
    if workers.rank == 0:
        remove_incomplete(directory)
    workers.barrier()
    checkpoint = latest_sound(workers, directory)
    if checkpoint is None:
        weights = _initial_weights(run)
        if workers.rank == 0:
            say(f"starting from {weights or 'random weights'}")
        return build(run, workers, weights), 0
    description = read_checkpoint_file(checkpoint)
    _check_same_run(run, description, checkpoint)
    if workers.rank == 0:
        say(f"resuming from {checkpoint}")
    strategy = build(run, workers, None)
    strategy.load(checkpoint)
    return strategy, description.step


def _initial_weights(run: TrainingRun) -> Path | None:
    if run.recipe.initial_weights is None:
        return None
    if run.recipe.parallelism.strategy == "tensor_parallel":
        initial = Path(run.checkpoint_directory) / INITIAL
        if not (initial / DONE).is_file():
            raise TrainingError(f"{initial} is not complete: the prepare job has not converted the initial weights")
        return initial
    return Path(run.recipe.initial_weights)


def describe(run: TrainingRun, strategy: Strategy, step: int) -> CheckpointFile:
    """Return what a checkpoint of a run says of itself."""
    split = run.recipe.parallelism
    return CheckpointFile(
        format="dcp" if strategy.checkpoint_format == "dcp" else "nxd",
        step=step,
        run=run.name,
        model=run.recipe.model,
        tensor_parallel_size=split.tensor_parallel_size,
        pipeline_parallel_size=split.pipeline_parallel_size,
        data_parallel_size=strategy.data_parallel_size,
        kv_size_multiplier=split.kv_size_multiplier,
        fuse_qkv=split.fuse_qkv,
        attention_order=attention_order(run.recipe.hardware),
    )


def _check_same_run(run: TrainingRun, checkpoint: CheckpointFile, path: Path) -> None:
    split = run.recipe.parallelism
    # torch.distributed.checkpoint's files can be read with another split.
    expected: dict[str, object] = {"model": run.recipe.model}
    nxd: dict[str, object] = {
        "tensor_parallel_size": split.tensor_parallel_size,
        "pipeline_parallel_size": split.pipeline_parallel_size,
        "kv_size_multiplier": split.kv_size_multiplier,
        "fuse_qkv": split.fuse_qkv,
    }
    if checkpoint.format == "nxd":
        expected |= nxd
    wrong = [
        f"{key}: the checkpoint has {getattr(checkpoint, key)}, the recipe {value}"
        for key, value in expected.items()
        if getattr(checkpoint, key) != value
    ]
    if wrong:
        raise TrainingError("\n".join([f"{path} does not fit the recipe:", *wrong]))


class _Steps:
    """Takes a run's remaining steps, and knows where training stands."""

    def __init__(self, run: TrainingRun, workers: Workers, strategy: Strategy, samples: Samples, step: int) -> None:
        self._run, self._workers, self._strategy, self._samples = run, workers, strategy, samples
        self._step = self._saved = step
        self._checkpoints = Checkpoints(workers, Path(run.checkpoint_directory), run.recipe.checkpoint)
        self._unread: tuple[int, torch.Tensor, torch.Tensor, float] | None = None
        self._not_a_number = 0
        self._validation = Validation.of(run, strategy)

    def take(self, request: StopRequest, metrics: Metrics | None, watch: HangWatch) -> bool:
        """Take the steps and save checkpoints; return whether all were taken, and not a stop asked for."""
        try:
            self._take(request, metrics, watch)
        except TrainingError:
            # All workers raise it at the same step: a checkpoint that is on its way still becomes complete.
            self._checkpoints.finish()
            raise
        return self._step >= self._run.recipe.steps

    def _take(self, request: StopRequest, metrics: Metrics | None, watch: HangWatch) -> None:
        recipe = self._run.recipe
        while self._step < recipe.steps:
            # All workers learn of a stop in front of the same step: the signal may have reached only one of them.
            # And a checkpoint becomes complete in front of the same step, once the slowest one has written its files.
            asked_to_stop, writing = self._workers.any(request.received is not None, self._checkpoints.writing)
            if not writing:
                self._checkpoints.finish()
            if asked_to_stop:
                break
            loss, rate = self._take_one()
            self._read_loss(metrics)
            self._unread = (self._step, loss, self._strategy.gradient_norm, rate)
            if self._workers.device.type == "cpu":
                self._read_loss(metrics)  # there is no device to keep busy
            watch.progress()
            self._validate(metrics, watch)
            if self._step % recipe.checkpoint.interval_steps == 0:
                self._save(metrics)
                watch.progress()
        self._save(metrics)
        watch.progress()
        self._checkpoints.finish()

    def _take_one(self) -> tuple[torch.Tensor, float]:
        recipe = self._run.recipe
        self._step += 1
        rate = learning_rate(recipe.optimizer, self._step, recipe.steps)
        self._workers.seed(recipe.data.seed, self._step, self._strategy.data_parallel_rank)
        return self._strategy.train_step(self._samples.of_step(self._step), rate), rate

    def _validate(self, metrics: Metrics | None, watch: HangWatch) -> None:
        """Measure the validation loss where it is due: in front of the step's checkpoint, which has it then."""
        if self._validation is None or not self._validation.due(self._step):
            return
        self._read_loss(metrics)
        loss = self._validation.loss(watch)
        if metrics:
            metrics.record_validation(self._step, loss)

    def _read_loss(self, metrics: Metrics | None) -> None:
        """Read the loss of the step before the one that the device has just been given: the host stays ahead of it."""
        if self._unread is None:
            return
        step, tensor, norm, rate = self._unread
        self._unread = None
        loss = float(tensor.item())
        if metrics:
            metrics.record(step, loss, float(norm.item()), rate)
        self._not_a_number = 0 if math.isfinite(loss) else self._not_a_number + 1
        if self._not_a_number >= LOSSES_THAT_ARE_NO_NUMBER:
            raise TrainingError(
                f"the loss was NaN or infinite in the {self._not_a_number} steps up to step {step}: training has "
                f"diverged. Checkpoints end at step {self._saved}. Try a lower optimizer.learning_rate or more "
                "optimizer.warmup_steps"
            )

    def _save(self, metrics: Metrics | None) -> None:
        self._read_loss(metrics)
        if self._step == self._saved:
            return
        (lost,) = self._workers.any(self._not_a_number > 0)
        if lost and self._step >= self._run.recipe.steps:
            raise TrainingError(f"the loss of the last step is NaN or infinite: checkpoints end at step {self._saved}")
        if lost:
            return
        self._checkpoints.save(self._strategy, describe(self._run, self._strategy, self._step))
        self._saved = self._step
        if metrics:
            metrics.restart_clock()
