"""A training that is posted to an MLflow server while it goes on, with a restart: what the server then holds."""

from __future__ import annotations

import json
import math
import urllib.parse
import urllib.request
from typing import Any

import pytest
from typer.testing import CliRunner, Result

from slipway_jobs.cli import app
from slipway_jobs.watching.mlflow_server import Metric, MlflowServer
from tests.jobs.watching.run_folder import JOB_IDS, Cluster, RunFolder


def track(url: str, run: str = "tiny") -> Result:
    """Call the command."""
    return CliRunner().invoke(app, ["track", run, "--mlflow", url])


def training(cluster: Cluster) -> RunFolder:
    """Return a run whose train job has a state."""
    folder = cluster.submit(steps=1000, publish=False)
    folder.finish("prepare", "compile")
    folder.attempt("train", started=7200)
    cluster.queue({JOB_IDS["train"]: "RUNNING|None", JOB_IDS["convert"]: "PENDING|Dependency"})
    return folder


def ask(url: str, path: str, body: dict[str, Any] | None = None, **fields: str) -> dict[str, Any]:
    """Ask the server's API."""
    address = f"{url}/api/2.0/mlflow/{path}?{urllib.parse.urlencode(fields)}"
    data = None if body is None else json.dumps(body).encode()
    request = urllib.request.Request(address, data=data, headers={"Content-Type": "application/json"})
    with urllib.request.urlopen(request, timeout=60) as answer:
        content: dict[str, Any] = json.loads(answer.read())
    return content


def history(url: str, run: dict[str, Any], key: str) -> list[tuple[int, float]]:
    """Return a metric's values with their steps."""
    found = ask(url, "metrics/get-history", run_id=run["info"]["run_id"], metric_key=key)["metrics"]
    return sorted((int(one.get("step", 0)), float(one["value"])) for one in found)


def post_a_training(cluster: Cluster, url: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Track a training, stop, go on after steps were taken again, and look at what the server has."""
    folder = training(cluster)
    folder.train(300)
    validation = folder.run.validation_file
    validation.write_text(json.dumps({"step": 100, "loss": 2.5, "time": 5.0}) + "\n", encoding="utf-8")

    def interrupted(_: float) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr("slipway_jobs.watching.tracking.sleep", interrupted)
    first = track(url)
    assert first.exit_code == 130, first.output
    experiment = ask(url, "experiments/get-by-name", experiment_name="slipway")["experiment"]["experiment_id"]
    run = found(url, experiment, folder)
    assert (run["info"]["status"], run["info"]["run_name"]) == ("RUNNING", "tiny")
    assert len(history(url, run, "loss")) == 300
    # As after an answer that was lost.
    line = json.loads(folder.run.metrics_file.read_text(encoding="utf-8").splitlines()[0])
    MlflowServer(url).log_metrics(run["info"]["run_id"], [Metric("loss", line["loss"], 1, line["time"])])
    assert len(history(url, run, "loss")) == 300

    # The training resumes at step 280, from a file that is replaced, and is done at step 310.
    kept = folder.run.metrics_file.read_text(encoding="utf-8").splitlines(keepends=True)[:280]
    work = folder.run.metrics_file.with_suffix(".work")
    work.write_text("".join(kept), encoding="utf-8")

    def resumed(_: float) -> None:
        work.replace(folder.run.metrics_file)
        folder.train(309, first=281)
        with folder.run.metrics_file.open("a", encoding="utf-8") as file:
            file.write(kept[-1].replace('"step": 280', '"step": 310').replace('"loss": 1.2', '"loss": NaN, "was": 1'))
        with validation.open("a", encoding="utf-8") as file:
            file.write(json.dumps({"step": 200, "loss": 2.25, "time": 6.0}) + "\n")
        folder.run.done_file("train").touch()

    monkeypatch.setattr("slipway_jobs.watching.tracking.sleep", resumed)
    second = track(url)
    assert second.exit_code == 0, second.output
    assert "the training is done; 11 lines posted" in second.output
    assert track(url).output.splitlines()[-1].endswith("the training is done; 0 lines posted")

    run = found(url, experiment, folder)
    assert run["info"]["status"] == "FINISHED"
    losses = history(url, run, "loss")
    assert [step for step, _ in losses] == [*range(1, 311)]
    assert losses[299][1] == pytest.approx(1.0)
    assert math.isnan(losses[-1][1])
    assert history(url, run, "validation_loss") == [(100, 2.5), (200, 2.25)]
    assert {step for step, _ in history(url, run, "tokens_per_second")} == {*range(1, 311)}
    parameters = {one["key"]: one["value"] for one in run["data"]["params"]}
    assert (parameters["model.hidden_size"], parameters["optimizer.learning_rate"]) == ("64", "0.005")


def found(url: str, experiment: str, folder: RunFolder) -> dict[str, Any]:
    """Return the only MLflow run of a run."""
    chain = json.loads(folder.run.chain_file.read_text(encoding="utf-8"))
    tag = f"tags.`slipway.run` = 'tiny@{chain['submissions'][0]['submitted_at']:.0f}'"
    [run] = ask(url, "runs/search", {"experiment_ids": [experiment], "filter": tag})["runs"]
    only: dict[str, Any] = run
    return only
