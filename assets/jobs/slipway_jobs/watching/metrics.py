"""Reads the end of a run's metrics file while the training writes it."""

from __future__ import annotations

import math
from pathlib import Path

from pydantic import BaseModel, ConfigDict, ValidationError

TAIL_BYTES = 256 * 1024
"""How much of the file's end is read: more than a thousand steps. The file of a long run has hundreds of thousands."""


class StepMetrics(BaseModel):
    """One line: what the training tells of an optimizer step. Keys that a newer kit adds are left out."""

    model_config = ConfigDict(extra="ignore", frozen=True, strict=True)

    step: int
    """Optimizer steps so far, from 1."""

    loss: float
    """Mean loss of the step's samples; may be NaN or infinite."""

    gradient_norm: float | None = None
    """Norm of the step's gradient before it was clipped; or None in a line of an older kit."""

    learning_rate: float
    """Learning rate of the step."""

    tokens: int
    """Tokens that the run has trained on so far."""

    tokens_per_second: float
    """Tokens of the step by its duration, over all workers."""

    time: float
    """When the step was done, in Unix seconds."""

    @property
    def diverged(self) -> bool:
        """Whether the loss is no number."""
        return not math.isfinite(self.loss)


class ValidationMetrics(BaseModel):
    """A loss over the validation text."""

    model_config = ConfigDict(extra="ignore", frozen=True, strict=True)

    step: int
    """Optimizer steps before it was measured."""

    loss: float
    """Mean loss of the samples; may be NaN or infinite."""

    time: float
    """When it was measured, in Unix seconds."""


def read_validation(file: Path) -> ValidationMetrics | None:
    """Return the latest validation loss; None before the first.

    Raises:
        OSError: the file is there and cannot be read.
    """
    for line in reversed(_last_lines(file)):
        try:
            return ValidationMetrics.model_validate_json(line)
        except ValidationError:
            continue
    return None


def read_metrics(file: Path) -> tuple[StepMetrics, ...]:
    """Return the latest steps of a run by rising step, without those that were taken again.

    A resumed training goes back to its checkpoint: the line that was written last counts for its step, and what an
    earlier attempt wrote of later steps is no part of the run any more. Lines that are no metrics are left out: the
    last one may be half written, and others were cut off when a process was killed.

    Raises:
        OSError: the file is there and cannot be read.
    """
    steps: list[StepMetrics] = []
    for line in _last_lines(file):
        try:
            read = StepMetrics.model_validate_json(line)
        except ValidationError:
            continue
        while steps and steps[-1].step >= read.step:
            steps.pop()
        steps.append(read)
    return tuple(steps)


def _last_lines(file: Path) -> list[bytes]:
    try:
        with file.open("rb") as stream:
            size = stream.seek(0, 2)
            start = max(0, size - TAIL_BYTES)
            stream.seek(start)
            lines = stream.read().splitlines()
    except FileNotFoundError:
        return []
    # The first line is half a line, unless the file begins there.
    return lines[1:] if start else lines
