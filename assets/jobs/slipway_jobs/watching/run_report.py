"""Puts together what a run's files and its scheduler tell of it."""

from __future__ import annotations

import itertools
import time
from collections.abc import Sequence
from pathlib import Path

from pydantic import ValidationError

from slipway_jobs.chain.record import Chain, read_attempts, read_chain
from slipway_jobs.chain.scheduler import Answer, Scheduler
from slipway_jobs.chain.scripts import stages
from slipway_jobs.environment import Environment, read_environment
from slipway_jobs.run import STAGES, Run, Stage
from slipway_jobs.submit.submission import finished
from slipway_jobs.watching.metrics import StepMetrics, read_metrics
from slipway_jobs.watching.price import Price, price_of
from slipway_jobs.watching.report import Checkpoint, Cost, Progress, RunReport, StageReport
from slipway_jobs.watching.stage_states import run_state, stage_report
from slipway_jobs.watching.training_progress import progress, silence
from slipway_training.checkpoints.layout import DONE, latest_complete, step_of

ELSEWHERE = {
    "slurm": "submitted to Slurm, so this is what the files tell: its head node and login nodes know more",
    "kubernetes": "submitted to Kubernetes, so this is what the files tell: the cluster's shell knows more",
}
"""What is said of a run whose jobs are the environment's other scheduler's."""


def run_reports(runs: Sequence[Run], scheduler: Scheduler) -> list[RunReport]:
    """Tell how runs are; the scheduler is asked once for all of its own.

    Args:
        runs: the runs.
        scheduler: that of this place. Of another one's runs only the files tell.

    Raises:
        OSError: a run's files cannot be read.
        pydantic.ValidationError: a run's chain.json is damaged.
    """
    chains = [read_chain(run.chain_file) for run in runs]
    asked = {
        job: (run, stage)
        for run, chain in zip(runs, chains, strict=True)
        for stage, job in chain.jobs.items()
        if run.scheduler == scheduler.key and not finished(run, stage)
    }
    answer = scheduler.ask(asked)
    notice = f"{scheduler.name} does not answer, so this is what the files tell: {answer.error}"
    reports = []
    for run, chain in zip(runs, chains, strict=True):
        here = run.scheduler == scheduler.key
        report = _report(run, chain, answer if here else Answer(error=ELSEWHERE[run.scheduler]), time.time())
        if not here:
            report = report.model_copy(update={"notices": (*report.notices, ELSEWHERE[run.scheduler])})
        elif answer.error:
            report = report.model_copy(update={"general_notices": (notice,)})
        reports.append(report)
    return reports


def _report(run: Run, chain: Chain, answer: Answer, now: float) -> RunReport:
    environment = _environment(run)
    price = price_of(run, environment)
    reports = tuple(
        stage_report(run, stage, chain.jobs.get(stage), answer, usd=price.of(stage), now=now)
        for stage in _stages(run, chain)
    )
    state, stage = run_state(reports)
    train = next(report for report in reports if report.stage == "train")
    metrics = read_metrics(run.metrics_file)
    attempts = read_attempts(run, "train")
    training = progress(
        run,
        environment,
        metrics,
        started=attempts[-1].started if attempts else 0.0,
        running=train.state == "running",
        now=now,
    )
    quiet = None
    if train.state == "running" and attempts:
        quiet = silence(metrics, started=attempts[-1].started, limit=run.recipe.restarts.hang_minutes * 60, now=now)
    latest = chain.submissions[-1] if chain.submissions else None
    converted = Path(run.converted_directory)
    return RunReport(
        name=run.name,
        scheduler=run.scheduler,
        state=state,
        stage=stage,
        submitted_at=latest.submitted_at if latest else None,
        user=latest.user if latest else None,
        stages=reports,
        progress=training,
        checkpoint=_checkpoint(run),
        cost=_cost(run, reports, training, price),
        directory=run.directory,
        checkpoint_directory=run.checkpoint_directory,
        converted_directory=str(converted) if (converted / DONE).exists() else None,
        notices=(*_notices(reports, metrics), *([quiet] if quiet else [])),
        general_notices=(),
    )


def _environment(run: Run) -> Environment | None:
    try:
        return read_environment(Path(run.environment_file))
    except (OSError, ValidationError):
        return None


def _stages(run: Run, chain: Chain) -> tuple[Stage, ...]:
    """Return the run's stages, with those of an earlier submission that the recipe has no more."""
    return tuple(stage for stage in STAGES if stage in {*stages(run), *chain.jobs})


def _cost(run: Run, reports: Sequence[StageReport], training: Progress | None, price: Price) -> Cost:
    known = [report.usd for report in reports if report.usd is not None]
    usd = sum(known) if len(known) == len(reports) and price.train is not None else None
    expected = None
    if usd is not None and price.train is not None and training is not None and training.seconds_left is not None:
        expected = usd + training.seconds_left / 3600 * run.recipe.hardware.nodes * price.train
    return Cost(
        usd=usd,
        expected_usd=expected,
        node_hours=sum(report.node_hours for report in reports),
        usd_per_node_hour=price.train,
    )


def _checkpoint(run: Run) -> Checkpoint | None:
    latest = latest_complete(Path(run.checkpoint_directory))
    if latest is None:
        return None
    try:
        written_at = (latest / DONE).stat().st_mtime
    except FileNotFoundError:
        # Removed at this moment, because a newer one is complete.
        return None
    return Checkpoint(step=step_of(latest) or 0, directory=str(latest), written_at=written_at)


def _notices(reports: Sequence[StageReport], metrics: Sequence[StepMetrics]) -> list[str]:
    notices = []
    if diverged := list(itertools.takewhile(lambda one: one.diverged, reversed(metrics))):
        notices.append(f"the loss is {diverged[0].loss} since step {diverged[-1].step}")
    for report in reports:
        if report.state == "failed":
            notices.append(f"{report.stage} failed; its log says why: {report.log}")
    return notices
