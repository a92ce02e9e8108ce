"""Ends a training that hangs: a stopped worker or a lost message leaves all others waiting, and the nodes cost on."""

from __future__ import annotations

import faulthandler
import sys
from types import TracebackType

UNTIMED_STEPS = 2
"""First steps of a start that are not timed. They compile what the cache lacks, which may take an hour: PyTorch/XLA
traces another graph for the second step, because the first one makes the optimizer's state."""

MINUTE = 60.0
"""Seconds."""


class HangWatch:
    """Ends the process when it makes no progress. A context manager: leaving it ends the watch.

    Python's own timer does it (`faulthandler.dump_traceback_later`): its thread needs no interpreter lock, so it works
    while a worker waits inside a library. It writes `Timeout` and where each thread waits, and exits with status 1.
    """

    def __init__(self, minutes: int) -> None:
        """Watch for this many minutes without progress, once the first steps are done."""
        self._seconds = minutes * MINUTE
        self._untimed = UNTIMED_STEPS

    def __enter__(self) -> HangWatch:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        faulthandler.cancel_dump_traceback_later()

    def progress(self) -> None:
        """Start the minutes again: a step or a checkpoint is done."""
        self._untimed -= 1
        if self._untimed <= 0:
            # The process's own stderr: the timer writes to a file descriptor.
            faulthandler.dump_traceback_later(self._seconds, exit=True, file=sys.__stderr__ or 2)
