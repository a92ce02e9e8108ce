"""Runs as their jobs leave them on /fsx, and a Slurm that says of their jobs what a test wants."""

from __future__ import annotations

import json
import os
import time
from collections.abc import Mapping
from pathlib import Path

import pytest

from slipway_jobs.chain.record import Attempt, Chain, Outcome, Submission, read_attempts, read_chain, write_attempts
from slipway_jobs.check.resolve import resolve
from slipway_jobs.environment import Environment
from slipway_jobs.recipe.load import load_recipe
from slipway_jobs.recipe.model import Hardware
from slipway_jobs.run import TRAINING_STAGES, Stage, TrainingRun

JOBS = Path(__file__).parents[3] / "assets" / "jobs"
ENVIRONMENT = Path(__file__).parents[1] / "environments" / "cpu.json"
JOB_IDS: dict[Stage, str] = {stage: str(number) for number, stage in enumerate(TRAINING_STAGES, start=101)}

SQUEUE = 'cat "{folder}/squeue"'
SACCT = """
[[ -e "{folder}/sacct" ]] || {{ echo "Slurm accounting storage is disabled" >&2; exit 1; }}
cat "{folder}/sacct"
"""
DOWN = 'echo "slurm_load_jobs error: Unable to contact slurm controller (connect failure)" >&2; exit 1'


class Cluster:
    """A cluster's /fsx and its Slurm commands, which say what is in two files."""

    def __init__(self, directory: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        self.directory = directory
        self._commands = directory / "bin"
        self._commands.mkdir(parents=True)
        content = json.loads(ENVIRONMENT.read_text(encoding="utf-8"))
        for name in ("runs", "checkpoints", "prepared"):
            content[f"{name}_directory"] = str(directory / "fsx" / name)
        self.environment_file = directory / "environment.json"
        self.environment_file.write_text(json.dumps(content), encoding="utf-8")
        self.environment = Environment.model_validate_json(self.environment_file.read_text(encoding="utf-8"))
        monkeypatch.setenv("SLIPWAY_ENVIRONMENT", str(self.environment_file))
        monkeypatch.setenv("PATH", f"{self._commands}:{os.environ['PATH']}")
        monkeypatch.setenv("COLUMNS", "200")
        self.queue({})
        self._command("sacct", SACCT)

    def queue(self, jobs: Mapping[str, str]) -> None:
        """Let squeue show jobs: `STATE|Reason` by their ids."""
        others = "7|RUNNING|None\n"
        (self.directory / "squeue").write_text(others + "".join(f"{job}|{shown}\n" for job, shown in jobs.items()))
        self._command("squeue", SQUEUE)

    def accounting(self, jobs: Mapping[str, str]) -> None:
        """Let sacct show jobs; without this call the cluster has no accounting."""
        (self.directory / "sacct").write_text("".join(f"{job}|{shown}\n" for job, shown in jobs.items()))

    def stop_slurm(self) -> None:
        """Let slurmctld be away."""
        self._command("squeue", DOWN)

    def submit(
        self,
        name: str = "tiny",
        *,
        recipe: str = "tiny-llama",
        steps: int = 20,
        publish: bool = True,
        usd: float | None = 2.0,
    ) -> RunFolder:
        """Write the folder of a run whose stages are all submitted."""
        file = JOBS / "recipes" / f"{recipe}.yaml"
        run = resolve(load_recipe(file, [f"steps={steps}"]), file, self.environment, self.environment_file, name)
        changed = run.recipe if publish else run.recipe.model_copy(update={"publish": None})
        folder = RunFolder(run.model_copy(update={"usd_per_node_hour": usd, "recipe": changed}))
        folder.submit({stage: job for stage, job in JOB_IDS.items() if publish or stage != "publish"})
        return folder

    def _command(self, name: str, body: str) -> None:
        command = self._commands / name
        command.write_text(f"#!/bin/bash\n{body.format(folder=self.directory)}\n", encoding="utf-8")
        command.chmod(0o755)


def put_on_neuron(run: TrainingRun, nodes: int) -> None:
    """Let a run's file say that it is on Trainium nodes."""
    hardware = Hardware(framework="xla", instance_type="trn1.32xlarge", nodes=nodes)
    recipe = run.recipe.model_copy(update={"hardware": hardware})
    run.file.write_text(run.model_copy(update={"recipe": recipe}).model_dump_json(), encoding="utf-8")


class RunFolder:
    """One run's files."""

    def __init__(self, run: TrainingRun) -> None:
        self.run = run
        for folder in ("logs", "stages"):
            (Path(run.directory) / folder).mkdir(parents=True)
        run.file.write_text(run.model_dump_json(), encoding="utf-8")

    def submit(self, jobs: Mapping[Stage, str], done_before: tuple[Stage, ...] = ()) -> None:
        """Add a submission."""
        new = Submission(submitted_at=time.time() - 7200, user="mia", jobs=dict(jobs), done_before=done_before)
        chain = Chain(submissions=(*read_chain(self.run.chain_file).submissions, new))
        self.run.chain_file.write_text(chain.model_dump_json(), encoding="utf-8")

    def attempt(
        self,
        stage: Stage,
        *,
        started: float,
        ended: float | None = None,
        outcome: Outcome | None = None,
        nodes: int = 1,
        job: str | None = None,
        counted: bool = False,
    ) -> None:
        """Add a start of a stage; times are seconds before now."""
        now = time.time()
        before = read_attempts(self.run, stage)
        new = Attempt(
            job=job or JOB_IDS[stage],
            restart=len(before),
            nodes=nodes,
            started=now - started,
            first_step=0,
            ended=None if ended is None else now - ended,
            status=None if outcome is None else int(outcome == "failed"),
            outcome=outcome,
            counted=counted,
        )
        write_attempts(self.run, stage, [*before, new])

    def finish(self, *stages: Stage) -> None:
        """Mark stages as finished, with what they make; each took a node for half an hour."""
        for stage in stages:
            self.attempt(stage, started=5400, ended=3600, outcome="finished")
            self.run.done_file(stage).touch()
            made = {"prepare": self.run.prepared_directory, "convert": self.run.converted_directory}.get(stage)
            if made:
                Path(made).mkdir(parents=True)
                (Path(made) / "done").touch()

    def train(self, last: int, *, first: int = 1, loss: float = 4.0, seconds: float = 10.0) -> None:
        """Write metrics of steps, the last one just now; the loss falls by 0.01 a step."""
        lines = [
            metrics_line(step, loss - step / 100, time.time() - (last - step) * seconds)
            for step in range(first, last + 1)
        ]
        with self.run.metrics_file.open("a", encoding="utf-8") as file:
            file.writelines(lines)

    def checkpoint(self, step: int, *, complete: bool = True, age: float = 60) -> Path:
        """Write a checkpoint's folder."""
        folder = Path(self.run.checkpoint_directory) / f"step_{step:08d}"
        folder.mkdir(parents=True)
        if complete:
            (folder / "done").touch()
            os.utime(folder / "done", (time.time() - age,) * 2)
        return folder

    def log(self, stage: Stage, text: str) -> Path:
        """Write a stage's log."""
        self.run.log(stage).write_text(text, encoding="utf-8")
        return self.run.log(stage)


def metrics_line(step: int, loss: float, at: float) -> str:
    """Return a line as the training writes it."""
    values = {"step": step, "loss": loss, "learning_rate": 3e-4, "tokens": step * 256, "tokens_per_second": 25.6}
    return json.dumps(values | {"time": at}) + "\n"
