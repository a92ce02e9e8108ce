"""Attempts of a run on Kubernetes: a JobSet that restarts starts every stage again."""

from __future__ import annotations

from pathlib import Path

import pytest

from slipway_jobs.chain.attempt import begin, end, main
from slipway_jobs.chain.record import read_attempts
from slipway_jobs.run import Stage, TrainingRun
from tests.jobs.chain_case import run_of
from tests.jobs.kubernetes.shell import kubernetes_environment


@pytest.fixture
def run(tmp_path: Path) -> TrainingRun:
    run = run_of(kubernetes_environment(tmp_path), "tiny-llama", "restarts.limit=2")
    (Path(run.directory) / "stages").mkdir(parents=True)
    run.file.write_text(run.model_dump_json(), encoding="utf-8")
    return run


def test_the_manifest_says_what_an_attempt_is(
    run: TrainingRun, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    for name, value in {"SUBMISSION": "abc", "RESTART": "1", "NODES": "2"}.items():
        monkeypatch.setenv(f"SLIPWAY_{name}", value)

    assert main(["begin", str(run.file), "train"]) == 0
    assert main(["end", str(run.file), "train", "1", "none"]) == 0

    assert capsys.readouterr().out == "retry\n"
    [attempt] = read_attempts(run, "train")
    assert (attempt.job, attempt.restart, attempt.nodes, attempt.counted) == ("abc-train", 1, 2, True)


@pytest.mark.parametrize("stage", ["prepare", "compile", "convert", "publish"])
def test_what_failed_for_good_is_refused_in_the_same_submission_only(run: TrainingRun, stage: Stage) -> None:
    assert begin(run, stage, f"abc-{stage}", 0, nodes=1)
    assert end(run, stage, f"abc-{stage}", 2, "none") == "give-up"

    assert not begin(run, stage, f"abc-{stage}", 1, nodes=1)
    assert begin(run, stage, f"def-{stage}", 0, nodes=1)


@pytest.mark.parametrize("stage", ["prepare", "compile", "convert"])
def test_a_pod_that_has_to_leave_its_node_goes_on_elsewhere_until_the_limit(run: TrainingRun, stage: Stage) -> None:
    actions = []
    for restart in range(4):
        assert begin(run, stage, "abc", restart, nodes=1)
        actions.append(end(run, stage, "abc", 143, "stop"))

    # Once for nothing; then it has to be the work that does not fit into the time.
    assert actions == ["requeue", "retry", "retry", "give-up"]
    assert not begin(run, stage, "abc", 4, nodes=1)


def test_the_training_fails_as_often_as_the_limit_and_once_more(run: TrainingRun) -> None:
    actions = []
    for restart in range(3):
        assert begin(run, "train", "abc-train", restart, nodes=2)
        actions.append(end(run, "train", "abc-train", 1, "none"))

    assert actions == ["retry", "retry", "give-up"]
    assert not begin(run, "train", "abc-train", 3, nodes=2)


def test_stops_with_a_new_checkpoint_never_count(run: TrainingRun) -> None:
    for restart in range(5):
        assert begin(run, "train", "abc-train", restart, nodes=2)
        folder = Path(run.checkpoint_directory) / f"step_{restart + 1:08d}"
        folder.mkdir(parents=True)
        (folder / "done").touch()
        assert end(run, "train", "abc-train", 75, "stop") == "requeue"

    assert not any(one.counted for one in read_attempts(run, "train"))
