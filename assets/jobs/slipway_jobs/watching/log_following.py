"""Shows the log of a run's stage, and goes on with it until the stage has ended."""

from __future__ import annotations

import sys
import time
from pathlib import Path
from typing import BinaryIO

from slipway_jobs.chain.scheduler import Scheduler
from slipway_jobs.run import STAGES, Run, Stage
from slipway_jobs.watching.log_lines import added, last_lines
from slipway_jobs.watching.report import RunReport, StageReport, State
from slipway_jobs.watching.run_folders import NoSuchRun
from slipway_jobs.watching.run_report import run_reports

SCHEDULER_SECONDS = 10.0
"""How often the scheduler is asked whether a job that is followed has ended: less often than its log is read."""

ENDED: frozenset[State] = frozenset({"done", "failed", "cancelled", "not submitted"})
"""States of a stage whose log does not grow any more."""


def show_end(run: Run, scheduler: Scheduler, stage: Stage | None, lines: int, output: BinaryIO) -> State | None:
    """Write the end of a stage's log.

    Args:
        run: the run.
        scheduler: that of this place.
        stage: the stage; none for the one that the run is in, or the last one before it that has a log.
        lines: how many lines.
        output: where to.

    Raises:
        NoSuchRun: there is no log yet.
        OSError: the log cannot be read.
    """
    report = run_reports([run], scheduler)[0]
    chosen = stage or _latest_with_log(run, report)
    if not run.log(chosen).exists():
        raise NoSuchRun(f"{chosen} of the run {run.name} has no log yet: {_how(_of(report, chosen))}")
    if stage is None and chosen != report.stage:
        _say(f"{report.stage} has no log yet ({_how(_of(report, report.stage))}); this is {chosen}'s")
    output.write(last_lines(run.log(chosen), lines)[0])
    output.flush()
    return None


def follow(run: Run, scheduler: Scheduler, stage: Stage | None, lines: int, output: BinaryIO) -> State:
    """Write the end of a stage's log and what is added until the stage has ended; return how it ended.

    Without a stage it begins with the one that the run is in, and goes on to those after it.

    Raises:
        NoSuchRun: the run has no such stage.
        OSError: the log cannot be read.
    """
    report = run_reports([run], scheduler)[0]
    known = [one.stage for one in report.stages]
    stages = [_of(report, stage).stage] if stage else known[known.index(report.stage) :]
    state: State = "done"
    for one in stages:
        if len(stages) > 1:
            _say(f"==> {one} <==")
        state = _follow_stage(_StageWatch(run, scheduler, one), run.log(one), lines, output)
        if state != "done":
            break
    _say(f"{run.name}: {one} is {state}")
    return state


def _follow_stage(watch: _StageWatch, log: Path, lines: int, output: BinaryIO) -> State:
    position = 0
    if log.exists():
        text, position = last_lines(log, lines)
        output.write(text)
        output.flush()
    else:
        _say(f"no log yet: {_how(watch.report)}")
    for text in added(log, position, watch.has_ended):
        output.write(text)
        output.flush()
    return watch.report.state


class _StageWatch:
    """Asks now and then how a stage is."""

    def __init__(self, run: Run, scheduler: Scheduler, stage: Stage) -> None:
        self._run, self._scheduler, self._stage = run, scheduler, stage
        self.report = self._ask()

    def has_ended(self) -> bool:
        """Return whether the stage had ended when the scheduler was asked last."""
        if self.report.state not in ENDED and time.monotonic() - self._asked >= SCHEDULER_SECONDS:
            self.report = self._ask()
        return self.report.state in ENDED

    def _ask(self) -> StageReport:
        self._asked = time.monotonic()
        return _of(run_reports([self._run], self._scheduler)[0], self._stage)


def _of(report: RunReport, stage: Stage) -> StageReport:
    for one in report.stages:
        if one.stage == stage:
            return one
    raise NoSuchRun(f"the run {report.name} has no stage {stage}, only {', '.join(one.stage for one in report.stages)}")


def _latest_with_log(run: Run, report: RunReport) -> Stage:
    before = STAGES[: STAGES.index(report.stage) + 1]
    return next((stage for stage in reversed(before) if run.log(stage).exists()), report.stage)


def _how(report: StageReport) -> str:
    return f"{report.state}, {report.reason}" if report.reason else report.state


def _say(message: str) -> None:
    """Tell something about the log beside it."""
    print(message, file=sys.stderr, flush=True)
