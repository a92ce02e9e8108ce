"""`slipway-job status` of all runs, and where there is none."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from tests.jobs.watching.run_folder import JOB_IDS, Cluster
from tests.jobs.watching.test_status import ask


def test_all_runs_are_listed_with_the_latest_first_and_what_cannot_be_read(cluster: Cluster) -> None:
    cluster.submit("old").finish("prepare", "compile", "train", "convert", "publish")
    folder = cluster.submit("new", recipe="tiny-bert", steps=100)
    folder.finish("prepare", "compile")
    folder.attempt("train", started=600, nodes=2)
    folder.train(50)
    cluster.queue({JOB_IDS["train"]: "RUNNING|None"})
    broken = Path(cluster.environment.runs_directory) / "broken"
    broken.mkdir()
    (broken / "run.json").write_text("{}")
    damaged = cluster.submit("damaged").run.chain_file
    damaged.write_text("{")
    (broken.parent / ".being-submitted" / "run").mkdir(parents=True)

    result = ask()

    assert result.exit_code == 0
    lines = [line.split() for line in result.stdout.splitlines()]
    [new] = [line for line in lines if line[:1] == ["new"]]
    [old] = [line for line in lines if line[:1] == ["old"]]
    assert lines.index(new) < lines.index(old)
    assert new[1:5] == ["train", "running", "50/100", "3.5000"]
    assert old[1:3] == ["publish", "done"]
    assert f"Note: {broken}/run.json: this is not a run of this version of the kit" in result.stdout
    assert f"Note: {damaged}: this is not a run of this version of the kit" in result.stdout
    listed = json.loads(ask("--json").stdout)
    assert [run["name"] for run in listed] == ["new", "old"]


def test_unknown_run_is_a_message_with_a_near_name(cluster: Cluster) -> None:
    cluster.submit("llama-3-8b")

    result = ask("lama-3-8b")

    assert result.exit_code == 1
    assert result.stderr == (
        f"there is no run lama-3-8b in {cluster.environment.runs_directory}. Did you mean llama-3-8b?\n"
    )


def test_machine_outside_of_a_cluster_is_told_so(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("SLIPWAY_ENVIRONMENT", str(tmp_path / "environment.json"))

    result = ask()

    assert result.exit_code == 1
    assert f"{tmp_path}/environment.json: the environment's file cannot be read" in result.stderr


def test_cluster_without_runs_says_how_to_start_one(cluster: Cluster) -> None:
    assert "slipway-job submit RECIPE" in ask().stdout
    assert json.loads(ask("--json").stdout) == []
