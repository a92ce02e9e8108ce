"""assets/jobs/examples on PyTorch/XLA's CPU device, started and stopped as a job does it."""

from __future__ import annotations

import os
import re
import signal
import subprocess
import sys
from pathlib import Path

from tests.training.tiny_runs import KIT

STEPS = 1200
LOSS = re.compile(r"step (\d+) loss (\S+)")


class Started:
    """One start of xla_loop.py below torchrun, with one worker."""

    def __init__(self, checkpoints: Path) -> None:
        checkpoints.mkdir(exist_ok=True)
        script = (KIT / "examples" / "xla_loop.py", "--steps", str(STEPS), "--save-every", "50")
        # The script of a node ignores the signal, and so does torchrun, which inherits that.
        torchrun = ("env", "--ignore-signal=USR1", sys.executable, "-m", "torch.distributed.run", "--standalone")
        self.process = subprocess.Popen(
            [*torchrun, "--nproc_per_node", "1", *script],
            env={**os.environ, "PJRT_DEVICE": "CPU", "OMP_NUM_THREADS": "1", "SLIPWAY_CHECKPOINTS": str(checkpoints)},
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            text=True,
        )
        self.losses: dict[int, str] = {}

    def read_until(self, step: int) -> None:
        """Read losses up to a step's, or to the end."""
        assert self.process.stdout
        while step not in self.losses and (line := self.process.stdout.readline()):
            if found := LOSS.fullmatch(line.strip()):
                self.losses[int(found[1])] = found[2]

    def tell_worker(self, number: signal.Signals) -> None:
        """Send the only worker a signal."""
        torchrun = self.process.pid
        [worker] = Path(f"/proc/{torchrun}/task/{torchrun}/children").read_text().split()
        os.kill(int(worker), number)

    def end(self) -> int:
        """Read the rest; return the exit status."""
        self.read_until(STEPS + 1)
        return self.process.wait(timeout=60)


def test_the_loop_that_is_killed_and_stopped_has_the_losses_of_an_undisturbed_one(tmp_path: Path) -> None:
    undisturbed = Started(tmp_path / "undisturbed")
    assert undisturbed.end() == 0

    killed = Started(tmp_path / "disturbed")
    killed.read_until(120)
    killed.tell_worker(signal.SIGKILL)
    assert killed.end() != 0
    stopped = Started(tmp_path / "disturbed")
    stopped.read_until(max(killed.losses) + 100)
    stopped.tell_worker(signal.SIGUSR1)
    assert stopped.end() == 0
    last = Started(tmp_path / "disturbed")
    assert last.end() == 0

    # It may be killed after the loss of step 150 and before its checkpoint.
    repeated = max(killed.losses) - min(stopped.losses) + 1
    assert (min(stopped.losses) % 50, 0 <= repeated <= 50) == (1, True), "it begins after the latest checkpoint"
    assert min(last.losses) == max(stopped.losses) + 1, "a stop loses no step"
    assert killed.losses | stopped.losses | last.losses == undisturbed.losses
    assert list(undisturbed.losses) == list(range(1, STEPS + 1))
