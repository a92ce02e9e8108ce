"""What a job does between two attempts: it writes down how the last one ended, and decides how to go on.

A stage's script calls it twice, on the first node of the job:

    python -m slipway_jobs.chain.attempt begin RUN_JSON STAGE
    python -m slipway_jobs.chain.attempt end RUN_JSON STAGE STATUS none|stop|cancel

`begin` ends with status 0 when the attempt shall start and nobody else can write what it runs or loads. `end` prints
what to do: `finish`; `requeue` after a stop, which does not count; `retry` after a failure that counts; `give-up`.
Slurm queues the job again for both `requeue` and `retry`; on Kubernetes they are two exit statuses, of which the JobSet
counts one.

Slurm tells a job what it is by its own variables; on Kubernetes the pod's manifest does, with SLIPWAY_SUBMISSION,
SLIPWAY_RESTART and SLIPWAY_NODES.
"""

from __future__ import annotations

import os
import sys
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Literal, NamedTuple

from slipway_jobs.chain.record import Attempt, Outcome, read_attempts, submission_job, write_attempts
from slipway_jobs.ownership import NotOwn, make_own_folders
from slipway_jobs.run import Run, ScriptRun, Stage, TrainingRun, read_run
from slipway_training.checkpoints.layout import latest_complete, step_of

Asked = Literal["none", "stop", "cancel"]
"""What the job was told meanwhile: to stop and be queued again, or to end (on Slurm SIGUSR1 and SIGTERM)."""

Action = Literal["finish", "requeue", "retry", "give-up"]
"""What follows an attempt."""


class Decision(NamedTuple):
    """How an attempt is written down, and what follows."""

    outcome: Outcome
    counted: bool
    action: Action


def decide(
    *, finished: bool, status: int, asked: Asked, stalled: bool, again: bool, failures: int, limit: int
) -> Decision:
    """Decide what follows an attempt of the train stage.

    An attempt that left a new checkpoint is no failure if it was asked to stop, or ended by itself with status 0. Nor
    is one that was asked to stop and did so before its first step, but only once at the same step: else a time limit
    that is shorter than the way to the first checkpoint would go round for ever.

    Args:
        finished: the stage's done file is there.
        status: exit status of the work.
        asked: what the job was told.
        stalled: no checkpoint was completed since the attempt began.
        again: an earlier attempt of this job began at the same step.
        failures: failures of this job so far.
        limit: failures after which the job is still queued again.
    """
    if finished:
        return Decision("finished", counted=False, action="finish")
    if asked == "cancel":
        # Whoever sent it also decides whether the job is queued again (scancel, scontrol requeue, preemption).
        return Decision("cancelled", counted=False, action="give-up")
    stopped = not stalled or (asked == "stop" and not again)
    if stopped and (status == 0 or asked == "stop"):
        return Decision("stopped", counted=False, action="requeue")
    return Decision("failed", counted=True, action="retry" if failures < limit else "give-up")


def failures_of(attempts: Sequence[Attempt], job: str) -> int:
    """Return how many attempts of a job count as failures. A new submission is a new job, and starts at 0."""
    return sum(attempt.counted for attempt in attempts if attempt.job == job)


def newest_step(run: Run) -> int:
    """Return the step of the newest complete checkpoint, 0 without.

    Nobody knows the steps of a script: there it is the time of the newest file below its folder of checkpoints.
    """
    if isinstance(run, ScriptRun):
        return newest_change(Path(run.checkpoint_directory))
    newest = latest_complete(Path(run.checkpoint_directory)) if isinstance(run, TrainingRun) else None
    return (step_of(newest) or 0) if newest else 0


def newest_change(folder: Path) -> int:
    """Return when a file below a folder was changed last, in Unix seconds; 0 without files."""
    changes = (file.lstat().st_mtime for file in folder.rglob("*") if file.is_file())
    return int(max(changes, default=0))


def begin(run: Run, stage: Stage, job: str, restart: int, nodes: int) -> bool:
    """Write down that an attempt starts; return whether it shall.

    The attempt before is `lost` when it never said how it ended: its node, or the whole job, went away. That is no
    failure of the training, unless it happens twice without a checkpoint in between.
    """
    attempts = list(read_attempts(run, stage))
    step = newest_step(run) if stage == "train" else 0
    now = time.time()
    if attempts and attempts[-1].outcome is None:
        last = attempts.pop()
        same_step = [one for one in attempts if one.job == last.job and one.first_step == last.first_step]
        counted = last.job == job and step <= last.first_step and bool(same_step)
        attempts.append(last.model_copy(update={"ended": now, "outcome": "lost", "counted": counted}))
    failures = failures_of(attempts, job)
    # A JobSet that restarts starts every stage again, also one whose failure stays.
    given_up = run.scheduler == "kubernetes" and any(one.job == job and one.given_up for one in attempts)
    go = not given_up and (stage != "train" or failures <= run.restart_limit)
    if go:
        attempts.append(Attempt(job=job, restart=restart, nodes=nodes, started=now, first_step=step))
    write_attempts(run, stage, attempts)
    if not go:
        print(f"giving up after {failures} failures (restarts.limit is {run.restart_limit})", file=sys.stderr)
    return go


def end(run: Run, stage: Stage, job: str, status: int, asked: Asked) -> Action:
    """Write down how the running attempt ended, and return what to do.

    Only the train stage is queued again: the work of the others fails for a reason that stays. On Kubernetes others go
    on as well after a stop, which there means that the pod had to leave its node.
    """
    attempts = list(read_attempts(run, stage))
    if not attempts or attempts[-1].outcome is not None:
        print("no attempt was begun: a file in the run's folder was removed", file=sys.stderr)
        return "give-up"
    last = attempts.pop()
    failures = failures_of(attempts, job)
    decision = decide(
        finished=run.done_file(stage).exists(),
        status=status,
        asked=asked,
        stalled=stage != "train" or newest_step(run) <= last.first_step,
        again=any(one.job == job and one.first_step == last.first_step for one in attempts),
        failures=failures,
        limit=run.restart_limit,
    )
    evicted = run.scheduler == "kubernetes" and asked == "stop"
    if stage != "train" and decision.action in ("requeue", "retry") and not evicted:
        decision = Decision("failed", counted=True, action="give-up")
    how = {"outcome": decision.outcome, "counted": decision.counted}
    how["given_up"] = decision.outcome == "failed" and decision.action == "give-up"
    ended = last.model_copy(update={"ended": time.time(), "status": status, **how})
    write_attempts(run, stage, [*attempts, ended])
    print(_message(run, stage, status, decision, failures), file=sys.stderr)
    return decision.action


def _message(run: Run, stage: Stage, status: int, decision: Decision, failures: int) -> str:
    text = f"{run.name}: {stage} {decision.outcome} (status {status})"
    if stage == "train" and decision.counted:
        text += f", failure {failures + 1}; restarts.limit is {run.restart_limit}"
    return f"{text}: {decision.action}"


def _this_job(stage: Stage) -> tuple[str, int, int]:
    """Return the job's id, how often it was started before, and its nodes."""
    known = os.environ
    if submission := known.get("SLIPWAY_SUBMISSION"):
        return submission_job(submission, stage), int(known["SLIPWAY_RESTART"]), int(known["SLIPWAY_NODES"])
    return known["SLURM_JOB_ID"], int(known.get("SLURM_RESTART_COUNT", "0")), int(known["SLURM_JOB_NUM_NODES"])


def main(arguments: Sequence[str]) -> int:
    """Run `begin` or `end` for the job that the variables of its scheduler describe."""
    action, file, name, *rest = arguments
    run = read_run(Path(file))
    stage: Stage = name  # type: ignore[assignment]  # from our own script
    job, restart, nodes = _this_job(stage)
    if action == "begin":
        try:
            make_own_folders(run)
        except NotOwn as problem:
            print(f"{run.name}: {problem}", file=sys.stderr)
            return 1
        return 0 if begin(run, stage, job, restart, nodes) else 1
    status, asked = rest
    print(end(run, stage, job, int(status), asked))  # type: ignore[arg-type]
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
