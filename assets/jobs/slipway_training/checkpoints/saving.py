"""Writing checkpoints: a killed process, a failed worker or a full disk never leaves one that looks complete."""

from __future__ import annotations

import shutil
from pathlib import Path

from slipway_training.checkpoints.integrity import file_sizes
from slipway_training.checkpoints.layout import (
    CHECKPOINT_FILE,
    DAMAGED,
    DONE,
    CheckpointFile,
    complete_checkpoints,
    step_directory,
    step_of,
)
from slipway_training.device import Workers
from slipway_training.durable import sync_folder, write_text
from slipway_training.metrics import say
from slipway_training.strategy import Strategy


class CheckpointError(Exception):
    """A checkpoint was not written. The message says why, on the worker where it failed."""


def save_checkpoint(
    workers: Workers, strategy: Strategy, directory: Path, description: CheckpointFile, keep: int
) -> Path:
    """Write one checkpoint with all workers, then remove the oldest ones. All workers call it at the same time.

    Args:
        workers: The workers.
        strategy: What is saved.
        directory: The run's folder of checkpoints.
        description: What is said of the checkpoint, with its step.
        keep: Complete checkpoints that stay.

    Raises:
        CheckpointError: it failed on some worker; nothing that looks complete is there. Raised on all workers.
    """
    checkpoint = step_directory(directory, description.step)
    with _Agreement(workers, checkpoint):
        if workers.rank == 0:
            _remove(checkpoint)
            checkpoint.mkdir(parents=True)
    with _Agreement(workers, checkpoint):
        strategy.save(checkpoint)
    with _Agreement(workers, checkpoint):
        if workers.rank == 0:
            sizes = file_sizes(checkpoint)
            write_text(checkpoint / CHECKPOINT_FILE, description.model_dump_json(indent=2) + "\n")
            write_text(checkpoint / DONE, sizes)
            sync_folder(directory)
    if workers.rank == 0:
        _keep_latest(directory, keep)
    return checkpoint


def remove_incomplete(directory: Path) -> None:
    """Remove what a killed process has left: folders of steps without `done`; damaged checkpoints stay.

    Only one worker calls it, before others look.
    """
    if not directory.is_dir():
        return
    for path in directory.iterdir():
        if step_of(path) is not None and not (path / DONE).exists() and not (path / DAMAGED).exists():
            say(f"removing {path}: it is not complete")
            _remove(path)


class _Agreement:
    """A part of saving in which any worker may fail: at its end all workers know whether one did."""

    def __init__(self, workers: Workers, checkpoint: Path) -> None:
        self._workers = workers
        self._checkpoint = checkpoint

    def __enter__(self) -> None:
        return

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, _trace: object) -> None:
        if error is not None and not isinstance(error, Exception):
            return
        (failed,) = self._workers.any(error is not None)
        if not failed:
            return
        if self._workers.rank == 0:
            # What is there may have filled the disk; and it is of no use.
            shutil.rmtree(self._checkpoint, ignore_errors=True)
        if error is not None:
            raise CheckpointError(f"{self._checkpoint}: cannot save the checkpoint: {error}") from error
        raise CheckpointError(f"{self._checkpoint}: not saved, because it failed on another worker")


def _keep_latest(directory: Path, keep: int) -> None:
    for path in complete_checkpoints(directory)[: -max(keep, 1)]:
        try:
            _remove(path)
        except OSError as error:
            say(f"warning: {path}: cannot remove the old checkpoint: {error}")


def _remove(checkpoint: Path) -> None:
    """Remove a checkpoint, `done` first: one that is removed by half must not look complete."""
    if not checkpoint.exists():
        return
    for name in (DONE, DAMAGED):
        (checkpoint / name).unlink(missing_ok=True)
    sync_folder(checkpoint)
    shutil.rmtree(checkpoint)
