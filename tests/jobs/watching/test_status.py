"""`slipway-job status` of runs in every state."""

from __future__ import annotations

import json
import os
import time
from typing import Any

import pytest
from typer.testing import CliRunner, Result

from slipway_jobs.arithmetic.model_size import training_flops_per_token
from slipway_jobs.chain.device_sampler import DeviceSample
from slipway_jobs.cli import app
from slipway_jobs.watching.report import RunReport
from tests.jobs.watching.run_folder import ENVIRONMENT, JOB_IDS, Cluster, RunFolder, metrics_line, put_on_neuron


def ask(*arguments: str) -> Result:
    return CliRunner().invoke(app, ["status", *arguments])


def report(name: str = "tiny") -> dict[str, Any]:
    result = ask(name, "--json")
    RunReport.model_validate_json(result.stdout)
    content: dict[str, Any] = json.loads(result.stdout)
    return content


def states(content: dict[str, Any]) -> list[str]:
    return [stage["state"] for stage in content["stages"]]


def training_run(cluster: Cluster, **changes: Any) -> RunFolder:
    """Return a run that trains since two hours on two nodes."""
    folder = cluster.submit(steps=1000, **changes)
    folder.finish("prepare")
    folder.attempt("compile", started=9000, ended=7200, outcome="finished", nodes=2)
    folder.run.done_file("compile").touch()
    folder.attempt("train", started=7200, nodes=2)
    waiting = {JOB_IDS[stage]: "PENDING|Dependency" for stage in ("convert", "publish")}
    cluster.queue({JOB_IDS["train"]: "RUNNING|None"} | waiting)
    return folder


def test_run_that_waits_for_capacity_says_why(cluster: Cluster) -> None:
    cluster.submit()
    waiting = {JOB_IDS[stage]: "PENDING|(Dependency)" for stage in ("compile", "train", "convert", "publish")}
    cluster.queue({JOB_IDS["prepare"]: "PENDING|Resources"} | waiting)

    content = report()

    assert (content["state"], content["stage"]) == ("pending", "prepare")
    assert states(content) == ["pending", "waiting", "waiting", "waiting", "waiting"]
    assert content["stages"][0]["reason"] == "Resources: waits for free nodes"
    assert content["progress"] is content["checkpoint"] is None
    assert "Resources: waits for free nodes" in ask("tiny").stdout


def test_training_shows_step_loss_speed_time_and_cost(cluster: Cluster) -> None:
    folder = training_run(cluster)
    folder.train(250)
    folder.run.validation_file.write_text(
        '{"step": 100, "loss": 4.0, "time": 1}\n{"step": 200, "loss": 2.5, "time": 2}\n{"step": 2', encoding="utf-8"
    )
    folder.checkpoint(200)
    folder.checkpoint(240, age=100)
    folder.checkpoint(250, complete=False)

    content = report()

    assert (content["state"], content["stage"]) == ("running", "train")
    assert states(content) == ["done", "done", "running", "waiting", "waiting"]
    progress = content["progress"]
    assert (progress["step"], progress["steps"], progress["loss"]) == (250, 1000, pytest.approx(1.5))
    assert progress["loss_change"] == pytest.approx(-0.2)
    assert (progress["learning_rate"], progress["tokens"], progress["tokens_per_second"]) == (3e-4, 64000, 25.6)
    assert progress["model_flops_utilization"] is None
    assert (progress["validation_loss"], progress["validation_step"]) == (2.5, 200)
    assert progress["seconds_left"] == pytest.approx(7500, rel=0.01)
    assert progress["finished_at"] == pytest.approx(progress["last_step_at"] + 7500, rel=0.01)
    assert content["checkpoint"]["step"] == 240
    # prepare: 0.5 h on one processor node; compile: 0.5 h on two nodes; train: 2 h on two nodes.
    assert content["cost"]["node_hours"] == pytest.approx(0.5 + 1 + 4, rel=0.01)
    assert content["cost"]["usd"] == pytest.approx(0.5 * 1.428 + 5 * 2, rel=0.01)
    assert content["cost"]["expected_usd"] == pytest.approx(0.5 * 1.428 + 10 + 7500 / 3600 * 2 * 2, rel=0.01)

    shown = ask("tiny").stdout
    for part in (
        "tiny: running in train",
        "250 of 1000 (25%)",
        "1.5000 (-0.2000 within 40 steps)",
        "2.5000 after step 200",
        "26 tokens/s, 64.0k tokens so far",
        "$10.71 (5.50 node hours; list price $2.00 an hour of a train node), $19.05 expected",
        f"step 240, 2 min ago: {folder.run.checkpoint_directory}/step_00000240",
        str(folder.run.log("train")),
    ):
        assert part in shown
    assert "2 h 5 min, until 20" in shown


def test_training_on_neuron_shows_its_model_flops_utilization(cluster: Cluster) -> None:
    folder = training_run(cluster)
    trn1 = {"environment_file": str(ENVIRONMENT.parent / "trn1.json")}
    put_on_neuron(folder.run.model_copy(update=trn1), nodes=1)
    folder.train(10)
    # One trn1.32xlarge: 16 chips of 190 TFLOPS, a quarter of it in float32.
    recipe = folder.run.recipe
    assert recipe.precision == "float32"
    per_token = training_flops_per_token(recipe.model, recipe.data.sequence_length)

    assert report()["progress"]["model_flops_utilization"] == pytest.approx(25.6 * per_token / (16 * 190e12 / 4))
    assert "26 tokens/s (0.0% model FLOPs utilization), 2,560 tokens so far" in ask("tiny").stdout


def test_nodes_without_a_price_cost_no_zero(cluster: Cluster) -> None:
    training_run(cluster, usd=None).train(10)

    content = report()

    assert content["cost"]["usd"] is content["cost"]["expected_usd"] is content["stages"][2]["usd"] is None
    assert content["cost"]["node_hours"] > 5
    assert "no price (5.50 node hours)" in ask("tiny").stdout
    assert "$0.00" not in ask("tiny").stdout


def test_finished_run_needs_no_slurm(cluster: Cluster) -> None:
    folder = cluster.submit()
    folder.finish("prepare", "compile", "train", "convert", "publish")
    folder.train(20)
    cluster.stop_slurm()

    result = ask("tiny")

    assert result.exit_code == 0
    assert "tiny: done, submitted" in result.stdout
    assert ["model", folder.run.converted_directory] in [line.split() for line in result.stdout.splitlines()]
    assert "does not answer" not in result.stdout
    assert report()["progress"]["seconds_left"] == 0


def test_recipe_that_publishes_nothing_has_no_such_stage(cluster: Cluster) -> None:
    folder = cluster.submit(publish=False)
    folder.finish("prepare", "compile", "train", "convert")

    content = report()

    assert [stage["stage"] for stage in content["stages"]] == ["prepare", "compile", "train", "convert"]
    assert content["state"] == "done"


def test_exhausted_training_fails_and_its_successors_are_cancelled(cluster: Cluster) -> None:
    folder = cluster.submit()
    folder.finish("prepare", "compile")
    for started in (3000, 2000, 1000):
        folder.attempt("train", started=started, ended=started - 500, outcome="failed", counted=True, nodes=2)

    result = ask("tiny")

    assert result.exit_code == 3
    content = report()
    assert states(content) == ["done", "done", "failed", "cancelled", "cancelled"]
    assert (content["stages"][2]["starts"], content["stages"][2]["failures"]) == (3, 3)
    assert f"train failed; its log says why: {folder.run.log('train')}" in result.stdout


def test_failures_of_an_earlier_submission_do_not_count_any_more(cluster: Cluster) -> None:
    folder = cluster.submit()
    folder.finish("prepare", "compile")
    folder.attempt("train", started=3000, ended=2500, outcome="failed", counted=True)
    folder.submit({"train": "203", "convert": "204", "publish": "205"}, done_before=("prepare", "compile"))
    folder.attempt("train", started=100, job="203")
    cluster.queue({"203": "RUNNING|None"})

    train = report()["stages"][2]

    assert (train["job"], train["state"], train["starts"], train["failures"]) == ("203", "running", 2, 0)


@pytest.mark.parametrize(
    ("shown", "state", "code"),
    [
        ("REQUEUED|BeginTime", "pending", 0),
        ("PENDING|BeginTime", "pending", 0),
        ("CONFIGURING|None", "running", 0),
        ("COMPLETING|None", "running", 0),
        ("FAILED|NonZeroExitCode", "failed", 3),
        ("NODE_FAIL|None", "failed", 3),
        ("COMPLETED|None", "failed", 3),
        ("CANCELLED|None", "cancelled", 3),
    ],
)
def test_what_slurm_says_of_a_job_counts(cluster: Cluster, shown: str, state: str, code: int) -> None:
    folder = cluster.submit()
    folder.finish("prepare", "compile")
    folder.attempt("train", started=100)
    cluster.queue({JOB_IDS["train"]: shown})

    assert report()["stages"][2]["state"] == state
    assert ask("tiny").exit_code == code


@pytest.mark.parametrize(
    ("shown", "state"),
    [("CANCELLED by 1000|None", "cancelled"), ("TIMEOUT|None", "failed"), ("OUT_OF_MEMORY|", "failed")],
)
def test_job_that_slurm_has_forgotten_is_looked_up_in_the_accounting(cluster: Cluster, shown: str, state: str) -> None:
    folder = cluster.submit()
    folder.finish("prepare", "compile")
    folder.attempt("train", started=100, ended=50, outcome="stopped")
    cluster.accounting({JOB_IDS["train"]: shown})

    content = report()

    assert content["stages"][2]["state"] == state
    assert content["stages"][2]["slurm_state"] == shown.split("|", maxsplit=1)[0].split(" ", maxsplit=1)[0]


def test_without_slurm_the_files_tell_what_they_can(cluster: Cluster) -> None:
    folder = training_run(cluster)
    folder.train(30)
    cluster.stop_slurm()

    content = report()
    result = ask("tiny")

    assert states(content) == ["done", "done", "unknown", "unknown", "unknown"]
    assert content["progress"]["step"] == 30
    # Nobody knows whether it still trains.
    assert content["progress"]["finished_at"] is None
    assert "Slurm does not answer, so this is what the files tell: squeue: slurm_load_jobs error" in result.stdout
    assert result.exit_code == 0


def test_job_whose_end_nobody_wrote_down_costs_until_its_last_sign_of_life(cluster: Cluster) -> None:
    folder = cluster.submit()
    folder.finish("prepare", "compile")
    folder.attempt("train", started=7200, nodes=2)
    log = folder.log("train", "step 1\n")
    os.utime(log, (time.time() - 3600,) * 2)

    train = report()["stages"][2]

    assert train["state"] == "failed"
    assert train["node_hours"] == pytest.approx(2, rel=0.01)


def test_loss_that_is_no_number_is_said_and_is_null_for_scripts(cluster: Cluster) -> None:
    folder = training_run(cluster)
    folder.train(10)
    folder.train(14, first=11, loss=float("nan"))

    content = report()

    assert content["progress"]["loss"] is None
    assert content["notices"] == ["the loss is nan since step 11"]
    assert "no number" in ask("tiny").stdout


def test_speed_before_a_pause_is_no_measure(cluster: Cluster) -> None:
    folder = training_run(cluster)
    # Half a second a step a day ago; then the job was requeued, and takes ten seconds a step.
    old = [metrics_line(step, 1.0, time.time() - 86400 + step / 2) for step in range(1, 101)]
    folder.run.metrics_file.write_text("".join(old))
    folder.train(110, first=101)

    assert report()["progress"]["seconds_left"] == pytest.approx(8900, rel=0.01)


@pytest.mark.parametrize(
    ("minutes", "notice"),
    [
        (1, None),
        (
            18,
            "no step for 18 min, and the longest pause before was 10 s: a checkpoint is slow or the training hangs; "
            "after 30 min (restarts.hang_minutes) it ends and starts again",
        ),
    ],
)
def test_training_without_steps_is_said(cluster: Cluster, minutes: int, notice: str | None) -> None:
    folder = training_run(cluster)
    lines = [metrics_line(step, 1.0, time.time() - minutes * 60 - (20 - step) * 10) for step in range(1, 21)]
    folder.run.metrics_file.write_text("".join(lines))

    assert report()["notices"] == ([notice] if notice else [])


def test_a_start_before_its_first_steps_is_no_silence(cluster: Cluster) -> None:
    folder = training_run(cluster)
    # It started again two hours ago and compiles; the steps are those of the day before.
    lines = [metrics_line(step, 1.0, time.time() - 86400 + step) for step in range(1, 21)]
    folder.run.metrics_file.write_text("".join(lines))

    assert report()["notices"] == []


def test_watching_ends_when_nothing_runs_any_more(cluster: Cluster, monkeypatch: pytest.MonkeyPatch) -> None:
    folder = training_run(cluster, publish=False)
    folder.train(500)

    def the_job_ends(seconds: float) -> None:
        cluster.queue({JOB_IDS["train"]: "FAILED|NonZeroExitCode", JOB_IDS["convert"]: "CANCELLED|None"})

    monkeypatch.setattr("slipway_jobs.watching.command.sleep", the_job_ends)

    result = ask("tiny", "--watch")

    assert result.exit_code == 3
    assert "tiny: failed in train" in result.stdout


def test_json_is_not_watched(cluster: Cluster) -> None:
    assert ask("--json", "--watch").exit_code == 2


def test_training_shows_use_and_memory_of_the_neuron_devices(cluster: Cluster) -> None:
    folder = training_run(cluster)
    put_on_neuron(folder.run, nodes=2)
    sample = DeviceSample(
        node="trn1-dy-1",
        sampled_at=time.time() - 12,
        cores=32,
        utilization_percent=87.4,
        memory_used_gib=412.25,
        memory_gib=512,
    )
    folder.run.device_samples.mkdir()
    (folder.run.device_samples / "0.json").write_text(sample.model_dump_json(), encoding="utf-8")
    # What a start before this one left on another node.
    before = sample.model_copy(update={"node": "trn1-dy-9", "sampled_at": time.time() - 9000})
    (folder.run.device_samples / "1.json").write_text(before.model_dump_json(), encoding="utf-8")

    assert [one["node"] for one in report()["devices"]] == ["trn1-dy-1"]
    shown = " ".join(ask("tiny").stdout.split())
    assert "trn1-dy-1: 87 % of 32 NeuronCores, 412.2 of 512 GiB of device memory, 12 s ago" in shown
    assert "trn1-dy-9" not in shown

    cluster.queue({})
    assert report()["devices"] == []
