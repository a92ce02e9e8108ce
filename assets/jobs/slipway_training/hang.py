"""Ends a training that hangs: a stopped worker or a lost message leaves all others waiting, and the nodes cost on."""

from __future__ import annotations

import faulthandler
import os
from pathlib import Path
from types import TracebackType

UNTIMED_STEPS = 2
"""First steps of a start that are not timed. They compile what the cache lacks, which may take an hour: PyTorch/XLA
traces another graph for the second step, because the first one makes the optimizer's state."""

MINUTE = 60.0
"""Seconds."""

STDERR = 2
"""The file descriptor of the process's own stderr: the timer can write to nothing else."""

DIRECTORY_VARIABLE = "SLIPWAY_HANG_DIRECTORY"
"""Names a directory in which each worker has a file for its timer to write to. All workers of a node hang together, and
in one log their lines mix: the node's script prints the files one after the other."""


class HangWatch:
    """Ends the process when it makes no progress. A context manager: leaving it ends the watch.

    Python's own timer does it (`faulthandler.dump_traceback_later`): its thread needs no interpreter lock, so it works
    while a worker waits inside a library. It writes `Timeout` and where each thread waits to the worker's file below
    `DIRECTORY_VARIABLE`, or to stderr where that is not set, and exits with status 1.
    """

    def __init__(self, minutes: int, rank: int) -> None:
        """Watch the worker of this rank for this many minutes without progress, once the first steps are done."""
        self._seconds = minutes * MINUTE
        self._untimed = UNTIMED_STEPS
        directory = os.environ.get(DIRECTORY_VARIABLE)
        self._file = Path(directory) / f"worker-{rank:05}" if directory else None
        self._descriptor = STDERR

    def __enter__(self) -> HangWatch:
        if self._file:
            self._descriptor = os.open(self._file, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600)
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        faulthandler.cancel_dump_traceback_later()
        if self._file:
            os.close(self._descriptor)

    def progress(self) -> None:
        """Start the minutes again: a step or a checkpoint is done."""
        self._untimed -= 1
        if self._untimed <= 0:
            faulthandler.dump_traceback_later(self._seconds, exit=True, file=self._descriptor)
