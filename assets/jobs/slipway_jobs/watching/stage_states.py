"""How the stages of a run are: by the files that the jobs leave, and by what the scheduler says of the jobs."""

from __future__ import annotations

from collections.abc import Sequence

from slipway_jobs.chain.record import Attempt, Outcome, read_attempts
from slipway_jobs.chain.scheduler import Answer
from slipway_jobs.run import Run, Stage
from slipway_jobs.submit.submission import finished
from slipway_jobs.watching.report import PodReport, StageReport, State

# A stage that finished, and is not finished any more, is one whose work was removed afterwards.
_ENDED_AS: dict[Outcome, State] = {"finished": "done", "failed": "failed", "cancelled": "cancelled"}


def stage_report(
    run: Run, stage: Stage, job: str | None, answer: Answer, *, usd: float | None, now: float
) -> StageReport:
    """Tell how a stage is.

    Args:
        run: the run.
        stage: one of its stages.
        job: job id of its last submission; none where it was not submitted.
        answer: what the scheduler says of the jobs.
        usd: price of one of its nodes for an hour; none where it is not known.
        now: Unix seconds.
    """
    attempts = read_attempts(run, stage)
    known = answer.jobs.get(job) if job else None
    state = _state(run, stage, job, answer)
    hours = sum(one.nodes * _seconds(run, stage, one, now, running=state == "running") for one in attempts) / 3600
    return StageReport(
        stage=stage,
        state=state,
        job=job,
        slurm_state=known.word if known and run.scheduler == "slurm" else None,
        kubernetes_state=known.word if known and run.scheduler == "kubernetes" else None,
        reason=known.reason if known and state in ("pending", "waiting", "cancelled") else None,
        starts=len(attempts),
        failures=sum(one.counted for one in attempts if one.job == job),
        node_hours=hours,
        usd=0.0 if not attempts else None if usd is None else hours * usd,
        log=str(run.log(stage)),
        pods=tuple(PodReport(**pod._asdict()) for pod in known.pods) if known else (),
    )


def run_state(stages: Sequence[StageReport]) -> tuple[State, Stage]:
    """Return how a run is by its stages, and the stage that it is in or was last in.

    What comes before a finished stage is over, even if its work was removed.
    """
    done = [number for number, one in enumerate(stages) if one.state == "done"]
    open_stages = stages[done[-1] + 1 :] if done else stages
    if not open_stages:
        return "done", stages[-1].stage
    for state in ("failed", "running", "pending", "cancelled", "unknown"):
        for one in open_stages:
            if one.state == state:
                return one.state, one.stage
    # Only waiting and not submitted ones are left.
    return open_stages[0].state, open_stages[0].stage


def _state(run: Run, stage: Stage, job: str | None, answer: Answer) -> State:
    """Decide how a stage is; the job's own files go first: schedulers forget ended jobs."""
    if finished(run, stage):
        return "done"
    if job is None:
        return "not submitted"
    if job in answer.jobs:
        return answer.jobs[job].phase
    last = next((one for one in reversed(read_attempts(run, stage)) if one.job == job), None)
    if last is not None and last.outcome in _ENDED_AS:
        return _ENDED_AS[last.outcome]
    if answer.error is not None:
        return "unknown"
    # The scheduler has forgotten the job, so it has ended. Without a start it was cancelled in the queue.
    return answer.forgotten if last is not None else "cancelled"


def _seconds(run: Run, stage: Stage, attempt: Attempt, now: float, *, running: bool) -> float:
    """Return how long an attempt ran. One whose end nobody wrote down ended with the last sign of life in its log."""
    ended = attempt.ended
    if ended is None and not running:
        log = run.log(stage)
        ended = log.stat().st_mtime if log.exists() else attempt.started
    return max(0.0, (now if ended is None else ended) - attempt.started)
