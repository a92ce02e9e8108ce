"""What a run tells of its steps: lines of JSON, TensorBoard scalars, and a log for people. Only worker 0 writes."""

from __future__ import annotations

import json
import time
from datetime import timedelta
from pathlib import Path
from types import TracebackType

from torch.utils.tensorboard import SummaryWriter

from slipway_jobs.run import TrainingRun


def forget_later_steps(file: Path, step: int) -> None:
    """Remove from a metrics file the steps after the one that training resumes at: they are taken again.

    A line that was cut off when the process was killed goes too. The file is replaced in one move.
    """
    if not file.exists():
        return
    kept = [line for line in file.read_text(encoding="utf-8").splitlines() if (_step(line) or step + 1) <= step]
    work = file.with_name(f".{file.name}")
    work.write_text("".join(f"{line}\n" for line in kept), encoding="utf-8")
    work.replace(file)


def _step(line: str) -> int | None:
    try:
        return int(json.loads(line)["step"])
    except (ValueError, KeyError, TypeError):
        return None


class Metrics:
    """Writes what a run tells of its steps. A context manager: leaving it closes the files."""

    def __init__(self, run: TrainingRun, step: int) -> None:
        """Open the files, going on after a step."""
        self._steps = run.recipe.steps
        self._tokens_per_step = run.recipe.batch.global_size * run.recipe.data.sequence_length
        run.metrics_file.parent.mkdir(parents=True, exist_ok=True)
        for file in (run.metrics_file, run.validation_file):
            forget_later_steps(file, step)
        self._validation = run.validation_file
        self._lines = run.metrics_file.open("a", encoding="utf-8")
        self._board = SummaryWriter(str(run.tensorboard_directory), purge_step=step + 1, flush_secs=30)
        self._last = time.monotonic()

    def __enter__(self) -> Metrics:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._lines.close()
        self._board.close()

    def restart_clock(self) -> None:
        """Leave what was done since the last step, such as a checkpoint, out of the next step's tokens per second."""
        self._last = time.monotonic()

    def record(self, step: int, loss: float, gradient_norm: float, learning_rate: float) -> None:
        """Write one step.

        Raises:
            OSError: the disk is full, or the file is gone.
        """
        seconds, self._last = time.monotonic() - self._last, time.monotonic()
        speed = self._tokens_per_step / max(seconds, 1e-9)
        values = {
            "step": step,
            "loss": loss,
            "gradient_norm": gradient_norm,
            "learning_rate": learning_rate,
            "tokens": step * self._tokens_per_step,
            "tokens_per_second": round(speed, 1),
            "time": round(time.time(), 3),
        }
        self._lines.write(json.dumps(values) + "\n")
        self._lines.flush()
        for tag in ("loss", "gradient_norm", "learning_rate", "tokens_per_second"):
            self._board.add_scalar(tag, values[tag], step)
        left = timedelta(seconds=round(seconds * (self._steps - step)))
        say(f"step {step}/{self._steps}  loss {loss:.4f}  lr {learning_rate:.2e}  {speed:,.0f} tokens/s  {left} left")

    def record_validation(self, step: int, loss: float) -> None:
        """Write a validation loss that was measured after a step.

        Raises:
            OSError: the disk is full, or the folder is gone.
        """
        with self._validation.open("a", encoding="utf-8") as lines:
            lines.write(json.dumps({"step": step, "loss": loss, "time": round(time.time(), 3)}) + "\n")
        self._board.add_scalar("validation_loss", loss, step)
        say(f"step {step}/{self._steps}  validation loss {loss:.4f}")
        self.restart_clock()


def say(message: str) -> None:
    """Print a line with the time, at once: the log is followed while the job runs."""
    print(f"{time.strftime('%H:%M:%S')} {message}", flush=True)
