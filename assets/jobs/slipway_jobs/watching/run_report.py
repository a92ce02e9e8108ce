"""Puts together what a run's files and its scheduler tell of it."""

from __future__ import annotations

import itertools
import time
from collections.abc import Sequence
from pathlib import Path

from pydantic import ValidationError

from slipway_jobs.chain.device_sampler import DeviceSample, read_samples
from slipway_jobs.chain.record import Chain, read_attempts, read_chain
from slipway_jobs.chain.scheduler import Answer, Scheduler
from slipway_jobs.environment import Environment, read_environment
from slipway_jobs.run import STAGES, Run, Stage, TrainingRun, WorkerRun
from slipway_jobs.submit.submission import finished
from slipway_jobs.watching.metrics import StepMetrics, read_metrics, read_validation
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
    latest = chain.submissions[-1] if chain.submissions else None
    report = RunReport(
        name=run.name,
        scheduler=run.scheduler,
        state=state,
        stage=stage,
        submitted_at=latest.submitted_at if latest else None,
        user=latest.user if latest else None,
        stages=reports,
        progress=None,
        devices=_devices(run, reports),
        checkpoint=None,
        cost=_cost(reports, price),
        directory=run.directory,
        checkpoint_directory=None,
        converted_directory=None,
        notices=tuple(_notices(reports)),
        general_notices=(),
    )
    return _with_training(report, run, environment, price, now) if isinstance(run, TrainingRun) else report


def _with_training(
    report: RunReport, run: TrainingRun, environment: Environment | None, price: Price, now: float
) -> RunReport:
    """Add what the files of the training tell."""
    train = next(stage for stage in report.stages if stage.stage == "train")
    metrics = read_metrics(run.metrics_file)
    attempts = read_attempts(run, "train")
    started = attempts[-1].started if attempts else 0.0
    running = train.state == "running"
    validation = read_validation(run.validation_file)
    training = progress(run, environment, metrics, validation, started=started, running=running, now=now)
    notices = [*_diverged(metrics), *report.notices]
    if running and attempts:
        limit = run.recipe.restarts.hang_minutes * 60
        notices += [quiet] if (quiet := silence(metrics, started=started, limit=limit, now=now)) else []
    converted = run.model_directory
    told = {
        "progress": training,
        "checkpoint": _checkpoint(run),
        "cost": _with_expected(report.cost, run, training, price),
        "checkpoint_directory": run.checkpoint_directory,
        "converted_directory": str(converted) if (converted / DONE).exists() else None,
        "notices": tuple(notices),
    }
    return report.model_copy(update=told)


def _devices(run: Run, reports: Sequence[StageReport]) -> tuple[DeviceSample, ...]:
    """Return the nodes' devices while the train job runs, without what an earlier start of it has left."""
    running = any(report.stage == "train" and report.state == "running" for report in reports)
    attempts = read_attempts(run, "train")
    if not (running and attempts and isinstance(run, WorkerRun)):
        return ()
    return tuple(read_samples(run.device_samples, since=attempts[-1].started))


def _environment(run: Run) -> Environment | None:
    try:
        return read_environment(Path(run.environment_file))
    except (OSError, ValidationError):
        return None


def _stages(run: Run, chain: Chain) -> tuple[Stage, ...]:
    """Return the run's stages, with those of an earlier submission that the recipe has no more."""
    return tuple(stage for stage in STAGES if stage in {*run.stages, *chain.jobs})


def _cost(reports: Sequence[StageReport], price: Price) -> Cost:
    known = [report.usd for report in reports if report.usd is not None]
    priced = len(known) == len(reports) and all(price.of(report.stage) is not None for report in reports)
    return Cost(
        usd=sum(known) if priced else None,
        expected_usd=None,
        node_hours=sum(report.node_hours for report in reports),
        usd_per_node_hour=price.train,
    )


def _with_expected(cost: Cost, run: TrainingRun, training: Progress | None, price: Price) -> Cost:
    if cost.usd is None or price.train is None or training is None or training.seconds_left is None:
        return cost
    rest = training.seconds_left / 3600 * run.recipe.hardware.nodes * price.train
    return cost.model_copy(update={"expected_usd": cost.usd + rest})


def _checkpoint(run: TrainingRun) -> Checkpoint | None:
    latest = latest_complete(Path(run.checkpoint_directory))
    if latest is None:
        return None
    try:
        written_at = (latest / DONE).stat().st_mtime
    except FileNotFoundError:
        # Removed at this moment, because a newer one is complete.
        return None
    return Checkpoint(step=step_of(latest) or 0, directory=str(latest), written_at=written_at)


def _diverged(metrics: Sequence[StepMetrics]) -> list[str]:
    diverged = list(itertools.takewhile(lambda one: one.diverged, reversed(metrics)))
    return [f"the loss is {diverged[0].loss} since step {diverged[-1].step}"] if diverged else []


def _notices(reports: Sequence[StageReport]) -> list[str]:
    return [f"{report.stage} failed; its log says why: {report.log}" for report in reports if report.state == "failed"]
