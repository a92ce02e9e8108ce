"""Processes below torchrun's agent that are killed, told to stop or run out of disk: training goes on as without."""

import json
from pathlib import Path

import pytest
from tensorboard.backend.event_processing.event_accumulator import EventAccumulator

from slipway_jobs.run import TrainingRun
from slipway_training.checkpoints.layout import complete_checkpoints, step_of
from tests.training.tiny_runs import BERT, losses, make_prepared_run, run_training

INTERRUPTED = "tests.training.interrupted_worker"


def interrupt(run: TrainingRun, event: str, *, rank: int, step: int, **environment: str) -> tuple[int, str]:
    """Train until the event ends it."""
    where = {"TEST_EVENT": event, "TEST_RANK": str(rank), "TEST_STEP": str(step)}
    return run_training(run, module=INTERRUPTED, environment=where | environment)


def complete_steps(run: TrainingRun) -> list[int | None]:
    return [step_of(path) for path in complete_checkpoints(Path(run.checkpoint_directory))]


@pytest.fixture(scope="module")
def uninterrupted(tmp_path_factory: pytest.TempPathFactory) -> dict[int, float]:
    """Losses of a run that nothing happened to."""
    run = make_prepared_run(tmp_path_factory.mktemp("uninterrupted"), BERT)
    status, output = run_training(run)
    assert status == 0, output
    assert run.done_file("train").exists()
    assert complete_steps(run) == [4, 6]
    return losses(run)


def test_a_killed_and_a_stopped_run_resume_with_the_losses_of_an_uninterrupted_one(
    tmp_path: Path, uninterrupted: dict[int, float]
) -> None:
    """BERT has dropout and masking: their random numbers come back too."""
    run = make_prepared_run(tmp_path, BERT)
    status, output = interrupt(run, "SIGKILL", rank=1, step=4)
    assert status != 0
    assert not run.done_file("train").exists()
    assert complete_steps(run) == [2]
    (Path(run.checkpoint_directory) / "step_00000004" / "model").mkdir(parents=True)

    status, output = interrupt(run, "SIGUSR1", rank=1, step=5)
    assert status == 0, output
    assert f"resuming from {run.checkpoint_directory}/step_00000002" in output
    assert "step_00000004: it is not complete" in output
    assert "asked to stop (another worker was)" in output
    assert not run.done_file("train").exists()
    assert complete_steps(run) == [4, 5]

    status, output = run_training(run)
    assert status == 0, output
    assert run.done_file("train").exists()
    assert complete_steps(run) == [5, 6]
    assert losses(run) == uninterrupted
    assert len(set(uninterrupted.values())) == 6
    scalars = EventAccumulator(str(run.tensorboard_directory)).Reload().Scalars("loss")
    assert {scalar.step: scalar.value for scalar in scalars} == pytest.approx(uninterrupted)


@pytest.mark.parametrize("rank", [0, 1])
def test_killed_while_a_checkpoint_is_written_it_begins_at_the_one_before(
    tmp_path: Path, uninterrupted: dict[int, float], rank: int
) -> None:
    """The worker that writes is killed, or the other one: steps were taken meanwhile, and are taken again."""
    run = make_prepared_run(tmp_path, BERT, checkpoint={"interval_steps": 3})
    status, output = interrupt(run, "SIGKILL", rank=rank, step=5, TEST_SLOW_DISK="1")
    assert status != 0
    assert "step 4/6" in output
    assert complete_steps(run) == []
    assert list((Path(run.checkpoint_directory) / "step_00000003").rglob("*.pt"))

    status, output = run_training(run)
    assert status == 0, output
    assert "step_00000003: it is not complete" in output
    assert "starting from random weights" in output
    assert complete_steps(run) == [3, 6]
    assert losses(run) == uninterrupted


def test_a_full_disk_ends_the_job_and_leaves_the_last_good_checkpoint(tmp_path: Path) -> None:
    run = make_prepared_run(tmp_path, BERT)
    status, output = interrupt(run, "disk full", rank=0, step=3)
    assert status != 0
    assert "step_00000004: cannot save the checkpoint" in output
    assert "step_00000004: not saved, because it failed on another worker" in output
    assert [path.name for path in Path(run.checkpoint_directory).iterdir()] == ["step_00000002"]
    assert not run.done_file("train").exists()
    assert json.loads((Path(run.checkpoint_directory) / "step_00000002" / "checkpoint.json").read_text())["step"] == 2


def test_a_training_that_hangs_says_where_and_ends(tmp_path: Path, uninterrupted: dict[int, float]) -> None:
    run = make_prepared_run(tmp_path, BERT, restarts={"hang_minutes": 1})
    hangs = tmp_path / "hangs"
    hangs.mkdir()
    status, _ = interrupt(run, "hang", rank=1, step=4, SLIPWAY_HANG_DIRECTORY=str(hangs))
    assert status != 0
    waits, sleeps = ((hangs / f"worker-0000{rank}").read_text() for rank in (0, 1))
    assert waits.startswith("Timeout (0:00:05)!\n")
    assert sleeps.startswith("Timeout (0:00:05)!\n")
    assert "in all_reduce\n" in waits
    assert "in happen\n" in sleeps
    assert not run.done_file("train").exists()

    status, output = run_training(run)
    assert status == 0, output
    assert losses(run) == uninterrupted
