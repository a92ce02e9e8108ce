"""What Slurm knows of a run's jobs."""

from __future__ import annotations

from collections.abc import Collection

from slipway_jobs.chain.scheduler import Answer, JobState, Phase
from slipway_jobs.chain.slurm import SlurmError, slurm_output

_IN_QUEUE = frozenset({"PENDING", "REQUEUED", "REQUEUE_HOLD", "REQUEUE_FED", "SPECIAL_EXIT"})
_ON_NODES = frozenset(
    {"RUNNING", "COMPLETING", "CONFIGURING", "RESIZING", "SIGNALING", "STAGE_OUT", "STOPPED", "SUSPENDED"}
)
_EXPLAINED = {
    "Dependency": "waits for the stage before",
    "DependencyNeverSatisfied": "the stage before failed",
    "Resources": "waits for free nodes",
    "Priority": "other jobs are first",
    "BeginTime": "starts again in a moment",
    "Nodes required for job are DOWN, DRAINED or reserved for jobs in higher priority partitions": (
        "its nodes are down, or EC2 has no capacity: sinfo -R tells"
    ),
    "ReqNodeNotAvail": "its nodes are down or reserved: sinfo -R tells",
    "Licenses": "waits for licences",
    "JobHeldUser": "held: scontrol release starts it",
    "JobHeldAdmin": "held by an administrator",
    "launch failed requeued held": "its start failed: scontrol release starts it again",
    "PartitionDown": "the queue is down",
    "PartitionNodeLimit": "the queue has not as many nodes",
    "PartitionTimeLimit": "the queue does not allow its time limit",
}
"""Slurm's frequent reasons of a pending job (squeue's manual page, JOB REASON CODES) in plain words."""


def ask_slurm(jobs: Collection[str]) -> Answer:
    """Return what Slurm says of these jobs: squeue's view, and for those that it has forgotten, the accounting's.

    A job that ended minutes ago is only in there where the cluster has accounting. A Slurm that does not answer is an
    answer too: a run's files still tell much.
    """
    if not jobs:
        return Answer()
    try:
        # Not --jobs: a single job that Slurm has forgotten would be an error.
        lines = slurm_output("squeue", "--noheader", "--states=all", "--format=%i|%T|%r").splitlines()
    except SlurmError as error:
        return Answer(error=str(error))
    found = {job: _job(state, reason) for job, state, reason in _rows(lines, 3) if job in jobs}
    if forgotten := sorted(set(jobs) - set(found)):
        found |= _accounting(forgotten)
    return Answer(found)


def _accounting(jobs: Collection[str]) -> dict[str, JobState]:
    columns = "--format=JobID,State,Reason"
    try:
        text = slurm_output("sacct", "--noheader", "--parsable2", "--allocations", f"--jobs={','.join(jobs)}", columns)
    except SlurmError:
        # The cluster has no accounting: its database is optional.
        return {}
    # A cancelled job's state is `CANCELLED by 1000`.
    return {job: _job(state.split(" ")[0], reason) for job, state, reason in _rows(text.splitlines(), 3) if state}


def _rows(lines: Collection[str], columns: int) -> list[list[str]]:
    rows = [line.strip().split("|", columns - 1) for line in lines]
    return [row for row in rows if len(row) == columns]


def _job(state: str, reason: str) -> JobState:
    reason = reason.strip("() ")
    if reason in ("", "None"):
        return JobState(_phase(state, ""), state)
    # Some have details behind a comma: `ReqNodeNotAvail, UnavailableNodes:train-st-1`.
    explained = _EXPLAINED.get(reason) or _EXPLAINED.get(reason.split(",")[0])
    return JobState(_phase(state, reason), state, f"{reason}: {explained}" if explained else reason)


def _phase(state: str, reason: str) -> Phase:
    if state in _IN_QUEUE:
        # After a failed stage Slurm removes a job that waited for it in a moment.
        ends: dict[str, Phase] = {"Dependency": "waiting", "DependencyNeverSatisfied": "cancelled"}
        return ends.get(reason, "pending")
    if state in _ON_NODES:
        return "running"
    # A job that is COMPLETED without the stage's file has not done its work.
    return "cancelled" if state == "CANCELLED" else "failed"
