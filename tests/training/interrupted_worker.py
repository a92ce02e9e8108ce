"""A worker of slipway_training that something happens to: run as a module by the tests that interrupt training."""

import os
import resource
import signal
import sys
import threading
import time
from pathlib import Path
from typing import Any

from slipway_training import hang
from slipway_training.__main__ import main
from slipway_training.data.samples import Samples
from slipway_training.durable import write_tensors
from slipway_training.stopping import StopRequest
from slipway_training.strategies.data_parallel import strategy
from slipway_training.strategy import MicroBatch

EVENT, RANK, STEP = os.environ["TEST_EVENT"], os.environ["TEST_RANK"], int(os.environ["TEST_STEP"])
SLOW_DISK = bool(os.environ.get("TEST_SLOW_DISK"))


def happen() -> None:
    """Let the event happen to this process."""
    if EVENT == "disk full":
        # A file that grows above it cannot be written, as on a disk without room.
        resource.setrlimit(resource.RLIMIT_FSIZE, (20_000, 20_000))
    elif EVENT == "hang":
        time.sleep(1000)
    else:
        os.kill(os.getpid(), signal.Signals[EVENT])


def write_half(file: Path, state: Any) -> None:
    """Write half of a file, and never come to its end."""
    write_tensors(file, state)
    os.truncate(file, file.stat().st_size // 2)
    time.sleep(1000)


class InterruptedSamples(Samples):
    """The event happens when the samples of its step are read, between the checks of two steps.

    A step takes longer than to write the checkpoint before it, so that it is known which ones are complete. With a slow
    disk none ever is.
    """

    def of_step(self, step: int) -> list[MicroBatch]:
        """Return the samples, after the event."""
        for thread in threading.enumerate():
            if thread.name == "checkpoint" and not SLOW_DISK:
                thread.join()
        if step == STEP and os.environ["RANK"] == RANK:
            happen()
        return super().of_step(step)


if __name__ == "__main__":
    request = StopRequest()
    if EVENT == "hang":
        hang.MINUTE = 5.0
    sys.modules["slipway_training.loop"].__dict__["Samples"] = InterruptedSamples
    if SLOW_DISK:
        strategy.__dict__["write_tensors"] = write_half
    sys.exit(main(sys.argv[1:], request))
