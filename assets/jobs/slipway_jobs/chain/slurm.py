"""The commands of Slurm that a submission needs."""

from __future__ import annotations

import subprocess
from collections.abc import Iterable, Sequence
from pathlib import Path

from slipway_jobs.chain.scheduler import Job, SchedulerError

ANSWER_SECONDS = 60
"""How long a command of Slurm may take: a busy controller answers late."""


class SlurmError(SchedulerError):
    """A command of Slurm failed; the message is Slurm's, for the user."""


def unfinished_jobs(names: Iterable[str]) -> list[Job]:
    """Return the jobs of these names that wait, run or are ending.

    Raises:
        SlurmError: Slurm does not answer.
    """
    text = slurm_output("squeue", "--noheader", f"--name={','.join(names)}", "--format=%i %j %T %u")
    return [Job(*line.split()) for line in text.splitlines()]


def submit_job(script: Path, *, after: str | None, held: bool) -> str:
    """Submit a script and return the job's id.

    Args:
        script: the sbatch script.
        after: job that must end with status 0 before.
        held: whether it waits until `release`.

    Raises:
        SlurmError: Slurm refuses it.
    """
    options = [*([f"--dependency=afterok:{after}"] if after else []), *(["--hold"] if held else [])]
    # With several clusters the id is followed by the cluster's name.
    return slurm_output("sbatch", "--parsable", *options, str(script)).strip().split(";")[0]


def release(job: str) -> None:
    """Let a held job start.

    Raises:
        SlurmError: Slurm does not do it.
    """
    slurm_output("scontrol", "release", job)


def cancel_jobs(jobs: Sequence[str]) -> None:
    """Cancel jobs; one that has ended meanwhile is no error.

    Raises:
        SlurmError: Slurm does not answer, or they are not the user's.
    """
    if jobs:
        slurm_output("scancel", *jobs)


def slurm_output(command: str, *arguments: str) -> str:
    """Run a command of Slurm and return what it prints.

    Raises:
        SlurmError: it is not there, does not answer within `ANSWER_SECONDS`, or fails.
    """
    try:
        process = subprocess.run(
            [command, *arguments], capture_output=True, text=True, timeout=ANSWER_SECONDS, check=False
        )
    except FileNotFoundError:
        message = f"there is no {command} here: run slipway-job on the cluster's head node or a login node"
        raise SlurmError(message) from None
    except subprocess.TimeoutExpired:
        raise SlurmError(f"Slurm does not answer: {command} took longer than {ANSWER_SECONDS} s") from None
    if process.returncode != 0:
        # Slurm writes one line for each attempt to reach the controller.
        lines = dict.fromkeys(line.strip() for line in process.stderr.splitlines() if line.strip())
        raise SlurmError(f"{command}: {'; '.join(lines) or f'status {process.returncode}'}")
    return process.stdout
