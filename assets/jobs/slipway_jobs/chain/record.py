"""What is written down of a chain: the submitted jobs (chain.json) and each attempt of a stage (`<stage>.attempts`)."""

from __future__ import annotations

import os
from collections.abc import Sequence
from pathlib import Path
from typing import Literal

from pydantic import ValidationError

from slipway_jobs.recipe.section import Section
from slipway_jobs.run import Run, Stage

Outcome = Literal["finished", "stopped", "cancelled", "failed", "lost"]
"""How an attempt ended: `finished` the stage; `stopped` when it was asked to, or with a new checkpoint, and was queued
again; `cancelled` by scancel or another command of Slurm; `failed`; `lost` with its node, before it could say more."""


class Submission(Section):
    """One call of `slipway-job submit`."""

    submitted_at: float
    """When, in Unix seconds."""

    user: str
    """Who."""

    jobs: dict[Stage, str]
    """Job ids of the stages that were submitted, in the chain's order: Slurm's, or of `submission_job`."""

    done_before: tuple[Stage, ...]
    """Stages that were finished already."""


class Chain(Section):
    """The file chain.json: every submission of a run, the latest last."""

    submissions: tuple[Submission, ...] = ()
    """In the order of their submission; one at least in a written file."""

    @property
    def jobs(self) -> dict[Stage, str]:
        """The last job id of each stage that was ever submitted."""
        return {stage: job for submission in self.submissions for stage, job in submission.jobs.items()}


class Attempt(Section):
    """One start of a stage's job. A job that is queued again keeps its id."""

    job: str
    """Job id."""

    restart: int
    """How often the scheduler had started this job before."""

    nodes: int
    """Nodes of the job."""

    started: float
    """When it started, in Unix seconds."""

    first_step: int
    """Step of the newest complete checkpoint when it started; 0 without."""

    ended: float | None = None
    """When it ended, in Unix seconds; none while it runs, or while nobody noticed that its node was lost. The end of a
    lost attempt is the start of the next one."""

    status: int | None = None
    """Exit status of the work; none for a lost attempt."""

    outcome: Outcome | None = None
    """How it ended."""

    counted: bool = False
    """Whether it counts as a failure against `restarts.limit`."""

    given_up: bool = False
    """Whether it failed and nothing was to follow."""


class Attempts(Section):
    """All attempts of a stage, the latest last."""

    attempts: tuple[Attempt, ...] = ()
    """In the order of their start."""


def submission_job(submission: str, stage: Stage) -> str:
    """Return a stage's job id on Kubernetes, where one object holds the jobs of a submission."""
    return f"{submission}-{stage}"


def attempts_file(run: Run, stage: Stage) -> Path:
    """Return the path of a stage's attempts."""
    return Path(run.directory) / "stages" / f"{stage}.attempts"


def read_chain(file: Path) -> Chain:
    """Read a run's chain.json; a chain without submissions where there is none.

    Raises:
        OSError: it cannot be read.
        pydantic.ValidationError: it is not such a file.
    """
    if not file.exists():
        return Chain()
    return Chain.model_validate_json(file.read_text(encoding="utf-8"))


def read_attempts(run: Run, stage: Stage) -> tuple[Attempt, ...]:
    """Return a stage's attempts; none where it never started or its file is damaged (a message is all it is for)."""
    try:
        text = attempts_file(run, stage).read_text(encoding="utf-8")
        return Attempts.model_validate_json(text).attempts
    except (FileNotFoundError, ValidationError):
        return ()


def write_attempts(run: Run, stage: Stage, attempts: Sequence[Attempt]) -> None:
    """Write a stage's attempts, so that a reader sees the old ones or the new ones.

    Raises:
        OSError: the run's folder cannot be written to.
    """
    write_whole(attempts_file(run, stage), Attempts(attempts=tuple(attempts)).model_dump_json(indent=1) + "\n")


def write_whole(file: Path, text: str, mode: int = 0o644) -> None:
    """Replace a file in one move, after its content has reached the disk.

    Raises:
        OSError: the folder cannot be written to.
    """
    new = file.with_name(f".{file.name}.{os.getpid()}.new")
    try:
        with new.open("w", encoding="utf-8") as stream:
            stream.write(text)
            stream.flush()
            os.fsync(stream.fileno())
        new.chmod(mode)
        new.replace(file)
    except BaseException:
        new.unlink(missing_ok=True)
        raise
