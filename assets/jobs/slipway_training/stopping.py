"""Being asked to stop: by Slurm before a time limit, a Spot interruption or maintenance, or by a user."""

from __future__ import annotations

import signal
from types import FrameType

SIGNALS = (signal.SIGUSR1, signal.SIGTERM)
"""SIGUSR1 is what a job script's `#SBATCH --signal` sends, SIGTERM what scancel and a node's shutdown send."""


class StopRequest:
    """Remembers that a signal has come; the training loop looks at it between two steps."""

    def __init__(self) -> None:
        """Listen from now on; call it in the main thread, before anything slow is imported."""
        self.received: str | None = None
        for number in SIGNALS:
            signal.signal(number, self._remember)

    def _remember(self, number: int, _frame: FrameType | None) -> None:
        self.received = signal.Signals(number).name
