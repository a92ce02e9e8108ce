"""The validation loss: what it is with each strategy, and that training goes on as without it."""

import signal
from functools import partial
from pathlib import Path
from typing import Any

import pytest
from tensorboard.backend.event_processing.event_accumulator import EventAccumulator

from slipway_jobs.run import TrainingRun
from slipway_training.data.samples import Samples
from slipway_training.device import Workers
from slipway_training.strategies import build
from tests.training.gloo_workers import on_workers
from tests.training.test_interruptions import interrupt
from tests.training.tiny_runs import BERT, LLAMA, losses, make_prepared_run, run_training, validation_losses

SPLITS: dict[str, dict[str, Any]] = {
    "data_parallel": {},
    "tensor_parallel": {"tensor_parallel_size": 2},
    "tensor_parallel-stages": {"pipeline_parallel_size": 2},
    "fully_sharded": {},
    "fully_sharded-tensor": {"tensor_parallel_size": 2},
}


def make(folder: Path, model: dict[str, Any], **sections: Any) -> TrainingRun:
    """Make a run that measures every other step, over its own text."""
    folder.mkdir(exist_ok=True)
    validation = {"source": str(folder / "text.jsonl"), "interval_steps": 2, "batches": 2}
    return make_prepared_run(folder, model, data={"validation": validation}, **sections)


def _steps(run: TrainingRun, measure: bool, workers: Workers) -> tuple[list[float], list[float]]:
    strategy = build(run, workers, None)
    samples = Samples(run, strategy.data_parallel_rank, strategy.data_parallel_size)
    trained, measured = [], []
    for step in range(1, 5):
        workers.seed(1, step)
        if measure:
            measured.append(strategy.measure(samples.of_step(step)).item())
        trained.append(strategy.train_step(samples.of_step(step), 1e-2).item())
    return trained, measured


@pytest.mark.parametrize("name", SPLITS)
def test_it_is_the_loss_that_training_would_have_and_changes_nothing(tmp_path: Path, name: str) -> None:
    strategy = name.partition("-")[0]
    framework = {"framework": "native"} if strategy == "fully_sharded" else {}
    run = make(tmp_path, LLAMA, parallelism={"strategy": strategy, **SPLITS[name]}, hardware=framework)
    for (trained, measured), (alone, _) in zip(
        on_workers(2, partial(_steps, run, True)), on_workers(2, partial(_steps, run, False)), strict=True
    ):
        assert measured == pytest.approx(trained, rel=1e-6)
        assert trained == alone


def test_bert_is_measured_without_dropout(tmp_path: Path) -> None:
    run = make(tmp_path, BERT)
    (trained, measured), (again, _) = (on_workers(1, partial(_steps, run, on))[0] for on in (True, False))
    assert trained == again
    assert measured != pytest.approx(trained, rel=1e-4)
    still = {"hidden_dropout_prob": 0.0, "attention_probs_dropout_prob": 0.0}
    ((trained, measured),) = on_workers(1, partial(_steps, make(tmp_path / "still", {**BERT, **still}), True))
    assert measured == pytest.approx(trained, rel=1e-6)


def test_a_run_that_measures_trains_and_resumes_as_one_that_does_not(tmp_path: Path) -> None:
    (tmp_path / "plain").mkdir()
    plain = make_prepared_run(tmp_path / "plain", BERT, steps=7)
    measuring, killed = (make(tmp_path / name, BERT, steps=7) for name in ("measuring", "killed"))
    for run in (plain, measuring):
        status, output = run_training(run)
        assert status == 0, output
    assert losses(measuring) == losses(plain)
    assert sorted(validation_losses(measuring)) == [2, 4, 6, 7]
    assert len(set(validation_losses(measuring).values())) == 3, "the last step's learning rate is 0"
    assert "step 4/7  validation loss" in output
    assert not plain.validation_file.exists()

    assert interrupt(killed, signal.Signals.SIGKILL.name, rank=1, step=5)[0] != 0
    assert sorted(validation_losses(killed)) == [2, 4]
    status, output = run_training(killed)
    assert status == 0, output
    assert "resuming from" in output
    assert losses(killed) == losses(plain)
    assert validation_losses(killed) == validation_losses(measuring)
    scalars = EventAccumulator(str(killed.tensorboard_directory)).Reload().Scalars("validation_loss")
    assert {scalar.step: scalar.value for scalar in scalars} == pytest.approx(validation_losses(killed))
