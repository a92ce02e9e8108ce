"""What a submission and its watchers need of a scheduler: Slurm, or Kubernetes where the environment names it."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Literal, NamedTuple, Protocol

from slipway_jobs.environment import Environment
from slipway_jobs.run import Run, Stage

Phase = Literal["pending", "waiting", "running", "failed", "cancelled"]
"""How a job is, in words that both schedulers share: `pending` in the queue, `waiting` for the stage before it."""


class SchedulerError(Exception):
    """The scheduler does not answer, or refuses; the message is for the user."""


class OutcomeUnknownError(SchedulerError):
    """The scheduler went away in the middle of a submission: there may be jobs, and what is written of them stays."""


class Job(NamedTuple):
    """A job that has not ended."""

    job: str
    name: str
    state: str
    user: str | None
    """Whose it is; none on Kubernetes, where all submit as one service account."""


class Pod(NamedTuple):
    """Where a job runs on Kubernetes."""

    name: str
    namespace: str
    node: str


@dataclass(frozen=True)
class JobState:
    """How a scheduler sees a job."""

    phase: Phase
    """How it is."""

    word: str
    """The scheduler's own word, for example Slurm's `PENDING` (squeue's manual page, JOB STATE CODES)."""

    reason: str | None = None
    """Why it is in that state; none where there is no reason."""

    pods: tuple[Pod, ...] = ()
    """Its pods that have a node; none on Slurm."""


@dataclass(frozen=True)
class Answer:
    """What a scheduler says of some jobs."""

    jobs: Mapping[str, JobState] = field(default_factory=dict)
    """By job id; what the scheduler has forgotten is not in here."""

    forgotten: Literal["failed", "cancelled"] = "failed"
    """How a job ended that started, is forgotten, and did not write down how it ended."""

    error: str | None = None
    """Why the scheduler could not be asked."""


Record = Callable[[Mapping[Stage, str]], None]
"""Writes down the job ids of the stages, before any of them can start."""


class Scheduler(Protocol):
    """What runs the jobs. All of it raises `SchedulerError` where the scheduler does not answer or refuses."""

    @property
    def key(self) -> Literal["slurm", "kubernetes"]:
        """What a run says in `scheduler` that was submitted to it."""

    @property
    def name(self) -> str:
        """Its name for people."""

    def unfinished_jobs(self, run: str) -> list[Job]:
        """Return the jobs of a run that wait, run or are ending."""

    def clear(self, run: str) -> None:
        """Remove what is left of a run's ended jobs, so that it can be submitted again."""

    def submit(self, run: Run, environment: Environment, todo: Sequence[Stage], record: Record) -> None:
        """Submit stages, each after the success of the one before: all of them or none.

        Raises:
            OutcomeUnknownError: nobody can say whether they were submitted.
            SchedulerError: none is submitted.
        """

    def cancel(self, run: str) -> list[Job]:
        """Cancel the jobs of a run that have not ended, and return them."""

    def preview(self, run: Run, environment: Environment, todo: Sequence[Stage]) -> str:
        """Return what `submit` would do, for people."""

    def ask(self, jobs: Mapping[str, tuple[Run, Stage]]) -> Answer:
        """Return what the scheduler says of these jobs. One that does not answer is an answer too."""
