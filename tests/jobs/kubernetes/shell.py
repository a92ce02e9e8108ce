"""What a user has in the cluster's shell: an environment with Kubernetes, and the runs on /fsx."""

from __future__ import annotations

import json
import time
from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner, Result

from slipway_jobs.chain.record import Attempt, Outcome, read_attempts, read_chain, write_attempts
from slipway_jobs.cli import app
from slipway_jobs.environment import Environment, Kubernetes
from slipway_jobs.run import Stage, TrainingRun, read_training_run
from tests.jobs.chain_case import environment_below
from tests.jobs.kubernetes.api_server import NAMESPACE, ApiServer, Object

SETTINGS: dict[str, Any] = {
    "version": "1.35",
    "namespace": NAMESPACE,
    "service_account": "jobs",
    "image": "111122223333.dkr.ecr.us-east-1.amazonaws.com/training:1",
    "volume_claim": "fsx",
    "launcher": "torchrun",
    "pods": {"c7i.8xlarge": {"cpu_millicores": 31000, "memory_mib": 60000}},
}


def kubernetes_environment(directory: Path, **settings: Any) -> Environment:
    """Return a test environment on Kubernetes whose shared directories are below one directory."""
    environment = environment_below(directory)
    resources = {name: SETTINGS["pods"]["c7i.8xlarge"] for queue in environment.queues for name in queue.instance_types}
    kubernetes = Kubernetes.model_validate(SETTINGS | {"pods": resources} | settings)
    return environment.model_copy(update={"kubernetes": kubernetes})


class Shell:
    """The shell's pod."""

    def __init__(self, api: ApiServer, directory: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        self.api = api
        self.directory = directory
        self._file = directory / "environment.json"
        monkeypatch.setenv("SLIPWAY_ENVIRONMENT", str(self._file))
        monkeypatch.setenv("COLUMNS", "300")
        self.configure()

    def configure(self, **settings: Any) -> None:
        """Change the environment's settings."""
        self.environment = kubernetes_environment(self.directory, **settings)
        self._file.write_text(self.environment.model_dump_json(), encoding="utf-8")

    def call(self, *arguments: str) -> Result:
        """Run slipway-job."""
        return CliRunner().invoke(app, list(arguments), catch_exceptions=False)

    def submit(self, name: str = "tiny", *arguments: str) -> TrainingRun:
        """Submit a tiny recipe and return the run as it was written."""
        result = self.call("submit", "tiny-llama", "--name", name, *arguments)
        assert result.exit_code == 0, result.output
        return self.run(name)

    def run(self, name: str = "tiny") -> TrainingRun:
        """Return a run as it was written."""
        return read_training_run(Path(self.environment.runs_directory) / name / "run.json")

    def report(self, name: str = "tiny") -> dict[str, Any]:
        """Return what status says of a run, for scripts."""
        content: dict[str, Any] = json.loads(self.call("status", name, "--json").stdout)
        return content

    def stages(self, name: str = "tiny") -> dict[str, Any]:
        """Return what status says of each stage."""
        return {stage["stage"]: stage for stage in self.report(name)["stages"]}

    def job(self, stage: Stage, name: str = "tiny") -> str:
        """Return a stage's job id of the last submission."""
        return read_chain(self.run(name).chain_file).jobs[stage]

    def finish(self, *stages: Stage) -> None:
        """Do as the pods of these stages do."""
        run = self.run()
        for stage in stages:
            run.done_file(stage).touch()
            made = {"prepare": run.prepared_directory, "convert": run.converted_directory}.get(stage)
            if made:
                Path(made).mkdir(parents=True)
                (Path(made) / "done").touch()

    def attempt(self, stage: Stage, outcome: Outcome | None, *, restart: int = 0) -> None:
        """Write down an attempt as the stage's script does."""
        started = time.time() - 60
        ended = None if outcome is None else time.time()
        before = read_attempts(self.run(), stage)
        job = self.job(stage)
        new = Attempt(job=job, restart=restart, nodes=2, started=started, first_step=0, ended=ended, outcome=outcome)
        write_attempts(self.run(), stage, [*before, new])

    def pod(self, stage: Stage, number: int = 0, *, node: str | None = None, **status: Any) -> Object:
        """Let a pod of a stage be there; without a status it runs."""
        labels = {"slipway/run": "tiny", "slipway/stage": stage, "slipway/submission": self.job(stage).split("-")[0]}
        spec = {"nodeName": node} if node else {}
        name = f"tiny-{stage}-0-{number}"
        return self.api.put("pods", name, metadata={"labels": labels}, spec=spec, status=status or {"phase": "Running"})
