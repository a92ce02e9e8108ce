"""`slipway-job submit` and `cancel` as a user types them."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from typer.testing import CliRunner, Result

from slipway_jobs.cli import app
from tests.jobs.chain_case import FakeSlurm, environment_below


@pytest.fixture
def slurm(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> FakeSlurm:
    environment = tmp_path / "environment.json"
    environment.write_text(environment_below(tmp_path).model_dump_json(), encoding="utf-8")
    monkeypatch.setenv("SLIPWAY_ENVIRONMENT", str(environment))
    slurm = FakeSlurm(tmp_path / "slurm")
    monkeypatch.setenv("PATH", slurm.install())
    return slurm


def call(*arguments: str) -> Result:
    return CliRunner().invoke(app, list(arguments))


@pytest.mark.usefixtures("slurm")
def test_submit_says_what_was_submitted_and_how_to_watch_it(tmp_path: Path) -> None:
    result = call("submit", "tiny-bert", "--name", "mine")

    assert result.exit_code == 0, result.output
    assert "train    job 3\n" in result.output
    assert "slipway-job status mine" in result.output
    assert "slipway-job cancel mine" in result.output
    assert json.loads((tmp_path / "runs" / "mine" / "run.json").read_text())["name"] == "mine"


def test_a_dry_run_prints_the_scripts_and_writes_nothing(tmp_path: Path, slurm: FakeSlurm) -> None:
    result = call("submit", "tiny-llama", "--dry-run")

    assert result.exit_code == 0, result.output
    for script in ("prepare.sbatch", "compile.sbatch", "train.sbatch", "convert.sbatch", "publish.sbatch", "node.sh"):
        assert f"# ---- {tmp_path}/runs/tiny-llama/scripts/{script}\n#!/usr/bin/env bash\n" in result.output
    assert f"# sbatch --dependency=afterok:<compile> {tmp_path}/runs/tiny-llama/scripts/train.sbatch" in result.output
    assert not (tmp_path / "runs").exists()
    assert not (slurm.directory / "calls").exists()


@pytest.mark.usefixtures("slurm")
def test_problems_of_a_recipe_end_with_status_1_and_no_traceback() -> None:
    result = call("submit", "tiny-llama", "--set", "hardware.workers_per_node=3", "--set", "steps=0")

    assert result.exit_code == 1
    assert "steps" in result.output
    assert "Traceback" not in result.output


def test_a_partition_that_slurm_does_not_know_is_told(slurm: FakeSlurm) -> None:
    slurm.say("refuse-1")

    result = call("submit", "tiny-llama")

    assert result.exit_code == 1
    assert "invalid partition specified: cpu\nNothing was submitted.\n" in result.output


def test_an_environment_that_is_not_there_is_told(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("SLIPWAY_ENVIRONMENT", str(tmp_path / "none.json"))

    result = call("submit", "tiny-llama")

    assert result.exit_code == 1
    assert "none.json: cannot be read: No such file or directory. Run this on the cluster" in result.output


def test_cancel_names_the_jobs(slurm: FakeSlurm) -> None:
    assert call("submit", "tiny-llama").exit_code == 0
    slurm.say("queue", "3 tiny-llama-train RUNNING alice\n")

    result = call("cancel", "tiny-llama")

    assert result.output == "cancelled tiny-llama-train, job 3\n"
    slurm.say("queue")
    assert call("cancel", "tiny-llama").output == "no job of the run tiny-llama waits or runs\n"


@pytest.mark.usefixtures("slurm")
def test_cancel_of_an_unknown_run_ends_with_status_1() -> None:
    for name in ("none", "../etc"):
        result = call("cancel", name)
        assert result.exit_code == 1
        assert result.output
