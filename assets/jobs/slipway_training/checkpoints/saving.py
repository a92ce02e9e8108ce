"""Writing checkpoints: a killed process, a failed worker or a full disk never leaves one that looks complete."""

from __future__ import annotations

import shutil
import time
from dataclasses import dataclass, field
from pathlib import Path
from threading import Thread

from slipway_jobs.recipe.model import Checkpoint
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
from slipway_training.strategy import Snapshot, Strategy


class CheckpointError(Exception):
    """A checkpoint was not written. The message says why, on the worker where it failed."""


class Checkpoints:
    """Saves a run's checkpoints: copies the state, and writes it while training goes on. One at a time.

    All workers call each method at the same time.
    """

    def __init__(self, workers: Workers, directory: Path, settings: Checkpoint) -> None:
        """Save into a run's folder of checkpoints, as a recipe's section says."""
        self._workers, self._directory, self._settings = workers, directory, settings
        self._begun: _Begun | None = None

    @property
    def writing(self) -> bool:
        """Whether this worker still writes its files of the checkpoint that was begun."""
        return self._begun is not None and self._begun.thread.is_alive()

    def save(self, strategy: Strategy, description: CheckpointFile) -> None:
        """Begin a checkpoint, after the one before is complete; without `asynchronous`, complete it too.

        Args:
            strategy: What is saved.
            description: What is said of the checkpoint, with its step.

        Raises:
            CheckpointError: this one or the one before failed on some worker; nothing that looks complete is there.
                Raised on all workers.
        """
        self.finish()
        started = time.monotonic()
        checkpoint = step_directory(self._directory, description.step)
        with _Agreement(self._workers, checkpoint):
            if self._workers.rank == 0:
                _remove(checkpoint)
                checkpoint.mkdir(parents=True)
        with _Agreement(self._workers, checkpoint):
            snapshot = strategy.snapshot()
        self._begun = _Begun(checkpoint, description, snapshot, started)
        if not self._settings.asynchronous:
            self.finish()

    def finish(self) -> None:
        """Wait until all workers have written the checkpoint that was begun; then remove the oldest ones.

        Raises:
            CheckpointError: it failed on some worker; nothing that looks complete is there. Raised on all workers.
        """
        begun, self._begun = self._begun, None
        if begun is None:
            return
        with _Agreement(self._workers, begun.checkpoint):
            begun.wait()
        with _Agreement(self._workers, begun.checkpoint):
            if self._workers.rank == 0:
                sizes = file_sizes(begun.checkpoint)
                write_text(begun.checkpoint / CHECKPOINT_FILE, begun.description.model_dump_json(indent=2) + "\n")
                write_text(begun.checkpoint / DONE, sizes)
                sync_folder(self._directory)
        if self._workers.rank == 0:
            seconds = time.monotonic() - begun.started
            say(f"saved {begun.checkpoint} in {seconds:.1f} s, {begun.copied:.1f} s of it to copy the state")
            _keep_latest(self._directory, self._settings.keep)


@dataclass
class _Begun:
    """A checkpoint whose state is copied; a thread of this worker writes its files."""

    checkpoint: Path
    description: CheckpointFile
    snapshot: Snapshot
    started: float
    copied: float = field(init=False)
    """Seconds that training stood still for."""

    thread: Thread = field(init=False)
    error: BaseException | None = field(init=False, default=None)

    def __post_init__(self) -> None:
        self.copied = time.monotonic() - self.started
        # A daemon: a worker that fails meanwhile ends at once, so that the others notice.
        self.thread = Thread(target=self._write, name="checkpoint", daemon=True)
        self.thread.start()

    def _write(self) -> None:
        try:
            self.snapshot(self.checkpoint)
        except BaseException as error:
            self.error = error

    def wait(self) -> None:
        self.thread.join()
        if self.error is not None:
            raise self.error


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
