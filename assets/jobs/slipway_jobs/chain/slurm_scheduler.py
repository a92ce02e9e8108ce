"""Slurm as a run's scheduler: a job for each stage."""

from __future__ import annotations

import contextlib
from collections.abc import Mapping, Sequence
from typing import Literal

from slipway_jobs.chain import slurm
from slipway_jobs.chain.scheduler import Answer, Job, Record
from slipway_jobs.chain.scripts import job_name, render
from slipway_jobs.chain.slurm_answer import ask_slurm
from slipway_jobs.environment import Environment
from slipway_jobs.run import STAGES, Run, Stage


class SlurmScheduler:
    """The Slurm cluster whose commands are on the PATH."""

    key: Literal["slurm"] = "slurm"
    name = "Slurm"

    def unfinished_jobs(self, run: str) -> list[Job]:
        """Return the jobs of a run that wait, run or are ending.

        Raises:
            SlurmError: Slurm does not answer.
        """
        return slurm.unfinished_jobs(job_name(run, stage) for stage in STAGES)

    def clear(self, run: str) -> None:
        """Do nothing: Slurm forgets ended jobs by itself, and a new job of the same name is none of theirs."""

    def submit(self, run: Run, environment: Environment, todo: Sequence[Stage], record: Record) -> None:
        """Submit a job for each stage; the first one is held until the others wait for it and all are written down.

        If this process is killed before, nothing runs that nobody knows of: the next submission names what is left.

        Raises:
            SlurmError: Slurm refuses a job or does not answer; those before are cancelled.
        """
        del environment
        jobs: dict[Stage, str] = {}
        try:
            for stage in todo:
                previous = list(jobs.values())[-1] if jobs else None
                jobs[stage] = slurm.submit_job(run.script(stage), after=previous, held=previous is None)
            record(jobs)
            slurm.release(jobs[todo[0]])
        except BaseException:
            with contextlib.suppress(slurm.SlurmError):
                slurm.cancel_jobs(list(jobs.values()))
            raise

    def cancel(self, run: str) -> list[Job]:
        """Cancel the jobs of a run that have not ended, and return them.

        Raises:
            SlurmError: Slurm does not answer, or the jobs are somebody else's.
        """
        jobs = self.unfinished_jobs(run)
        slurm.cancel_jobs([job.job for job in jobs])
        return jobs

    def preview(self, run: Run, environment: Environment, todo: Sequence[Stage]) -> str:
        """Return the scripts and the commands that submit them."""
        parts = [f"# ---- {file}\n{text}\n" for file, text in render(run, environment).items()]
        for number, stage in enumerate(todo):
            after = f" --dependency=afterok:<{todo[number - 1]}>" if number else ""
            parts.append(f"# sbatch{after} {run.script(stage)}\n")
        return "".join(parts)

    def ask(self, jobs: Mapping[str, tuple[Run, Stage]]) -> Answer:
        """Return what squeue says of these jobs, and of those that it has forgotten, the accounting."""
        return ask_slurm(jobs.keys())
