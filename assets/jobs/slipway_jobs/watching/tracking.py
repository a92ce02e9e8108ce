"""`slipway-job track`: posts a training's metrics to an MLflow server, from this machine."""

from __future__ import annotations

import json
import os
from collections.abc import Iterator
from pathlib import Path
from time import sleep
from typing import Annotated, Any, Literal

import typer
from pydantic import ValidationError

from slipway_jobs.chain.record import read_chain
from slipway_jobs.check.command import fail
from slipway_jobs.run import TrainingRun
from slipway_jobs.submit.changes import flat
from slipway_jobs.watching.log_following import ENDED
from slipway_jobs.watching.mlflow_server import Metric, MlflowError, MlflowServer
from slipway_jobs.watching.report import State
from slipway_jobs.watching.run_folders import NoSuchRun, find_run, scheduler_here
from slipway_jobs.watching.run_report import run_reports

POLL_SECONDS = 10.0
"""How often the files and the scheduler are asked."""

TAG = "slipway.run"
"""Tag of the MLflow run: name and time of the first submission, by which it is found again."""

INTERRUPTED_STATUS = 130
"""Exit status after Ctrl-C."""

_Kind = Literal["metrics", "validation"]
_KEYS: dict[_Kind, dict[str, str]] = {
    "metrics": {key: key for key in ("loss", "gradient_norm", "learning_rate", "tokens", "tokens_per_second")},
    "validation": {"loss": "validation_loss"},
}
"""What is posted of a line, and under which name. The last one of a line tells that the whole line was."""

_STATUS: dict[State, str] = {"done": "FINISHED", "failed": "FAILED", "cancelled": "KILLED"}


def track(
    run: Annotated[str, typer.Argument(metavar="RUN", help="The run's name.")],
    mlflow: Annotated[str, typer.Option(metavar="ADDRESS", help="The tracking server: https://HOST[:PORT].")],
    experiment: Annotated[str, typer.Option(help="MLflow's experiment; made if it is not there.")] = "slipway",
) -> None:
    """Post a training's metrics and recipe to an MLflow server, until the training has ended.

    It runs here and reads the run's files: nothing is installed on the nodes. Stopped and started again, it goes on
    where it was, and after the training it posts all. MLFLOW_TRACKING_TOKEN, or MLFLOW_TRACKING_USERNAME and _PASSWORD,
    say who you are.

    Exit status: 0; 1 where there is no such run or the server does not take it.
    """
    try:
        found = find_run(run)
        if not isinstance(found, TrainingRun):
            fail(f"{found.name} is {found.kind}: it has no metrics")
        posted = _Tracking(found, MlflowServer(mlflow), experiment)
        typer.echo(f"{mlflow}/#/experiments/{posted.experiment}/runs/{posted.identity}")
        while (state := posted.post()) not in ENDED:
            sleep(POLL_SECONDS)
        typer.echo(f"{found.name}: the training is {state}; {posted.lines} lines posted")
    except KeyboardInterrupt:
        raise typer.Exit(INTERRUPTED_STATUS) from None
    except (NoSuchRun, MlflowError, OSError, ValidationError) as error:
        fail(str(error))


class _Tracking:
    """A run, and the MLflow run that it is posted to."""

    def __init__(self, run: TrainingRun, server: MlflowServer, experiment: str) -> None:
        """Find the MLflow run, or make it."""
        self._run, self._server = run, server
        self.experiment = server.experiment(experiment)
        submissions = read_chain(run.chain_file).submissions
        started = submissions[0].submitted_at if submissions else 0.0
        tag = f"{run.name}@{started:.0f}"
        there = server.find_run(self.experiment, TAG, tag)
        there = there or server.create_run(
            self.experiment, run.name, started, {TAG: tag, "slipway.folder": run.directory}
        )
        self.identity: str = there["info"]["run_id"]
        if not there["data"].get("params"):
            recipe = flat(run.recipe.model_dump(mode="json"))
            server.log_parameters(self.identity, {key: str(value) for key, value in recipe})
        steps = {one["key"]: int(one.get("step", 0)) for one in there["data"].get("metrics", [])}
        files: dict[_Kind, Path] = {"metrics": run.metrics_file, "validation": run.validation_file}
        self._files = [
            (kind, _NewLines(file, steps.get([*_KEYS[kind].values()][-1], 0))) for kind, file in files.items()
        ]
        self.lines, self._told = 0, ""

    def post(self) -> State:
        """Post what is new, and return how the training is; asked before the files are read, so that none is missed."""
        [report] = run_reports([self._run], scheduler_here())
        state = next(stage.state for stage in report.stages if stage.stage == "train")
        for kind, new in self._files:
            lines = list(new.read())
            self._server.log_metrics(self.identity, [one for line in lines for one in _metrics(kind, line)])
            self.lines += len(lines)
        if (status := _STATUS.get(state, "RUNNING")) != self._told:
            ended = report.progress.last_step_at if report.progress and state in ENDED else None
            self._server.set_status(self.identity, status, ended)
            self._told = status
        return state


class _NewLines:
    """Reads the lines of new steps. A resumed training replaces the file and takes steps again."""

    def __init__(self, file: Path, last: int) -> None:
        """Begin after a step."""
        self._file, self._last = file, last
        self._place, self._inode = 0, 0

    def read(self) -> Iterator[dict[str, Any]]:
        """Yield what is new. A step that is taken again has the same loss, and is not yielded again."""
        try:
            stream = self._file.open("rb")
        except FileNotFoundError:
            return
        with stream:
            now = os.fstat(stream.fileno())
            if now.st_ino != self._inode or now.st_size < self._place:
                self._place, self._inode = 0, now.st_ino
            stream.seek(self._place)
            while (line := stream.readline()).endswith(b"\n"):
                self._place = stream.tell()
                values = json.loads(line)
                if values["step"] > self._last:
                    self._last = values["step"]
                    yield values


def _metrics(kind: _Kind, line: dict[str, Any]) -> Iterator[Metric]:
    for key, name in _KEYS[kind].items():
        if key in line:
            yield Metric(name, line[key], line["step"], line["time"])
