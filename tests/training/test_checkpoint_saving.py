"""Checkpoints of one process: whole or not there, however saving ends; the newest complete one always loads."""

import errno
import json
import os
import re
from pathlib import Path
from typing import cast

import pytest
import torch
import torch.distributed as dist

from slipway_jobs.run import TrainingRun
from slipway_training.checkpoints.integrity import DamagedError, latest_sound
from slipway_training.checkpoints.layout import (
    DAMAGED,
    DONE,
    complete_checkpoints,
    latest_complete,
    read_checkpoint_file,
)
from slipway_training.checkpoints.saving import CheckpointError, Checkpoints, remove_incomplete
from slipway_training.device import Workers
from slipway_training.loop import describe
from slipway_training.strategies.data_parallel.strategy import DataParallel, build
from tests.training.kill_at import children_killed_at_each_file_operation
from tests.training.tiny_runs import BERT, make_run


class Alone(Workers):
    """A worker without others."""

    def barrier(self) -> None:
        return

    def any(self, *flags: bool) -> tuple[bool, ...]:
        return flags


ALONE = Alone(rank=0, local_rank=0, size=1, device=torch.device("cpu"), control=cast("dist.ProcessGroup", None))


@pytest.fixture
def run(tmp_path: Path) -> TrainingRun:
    return make_run(tmp_path, BERT)


@pytest.fixture
def strategy(run: TrainingRun) -> DataParallel:
    return build(run, ALONE, None)


def fill(strategy: DataParallel, value: int) -> None:
    with torch.no_grad():
        for parameter in strategy._model.parameters():
            parameter.fill_(value)


def save(run: TrainingRun, strategy: DataParallel, step: int, keep: int = 2) -> None:
    """Save a checkpoint whose weights are all the step's number."""
    fill(strategy, step)
    checkpoints = Checkpoints(
        ALONE, Path(run.checkpoint_directory), run.recipe.checkpoint.model_copy(update={"keep": keep})
    )
    checkpoints.save(strategy, describe(run, strategy, step))
    fill(strategy, -1)  # as the steps that are taken while the files are written
    checkpoints.finish()


def saved_steps(run: TrainingRun, strategy: DataParallel) -> list[int]:
    """Load all complete checkpoints and return their steps."""
    steps = []
    for checkpoint in complete_checkpoints(Path(run.checkpoint_directory)):
        strategy.load(checkpoint)
        step = read_checkpoint_file(checkpoint).step
        assert all((parameter == step).all() for parameter in strategy._model.parameters())
        steps.append(step)
    return steps


def test_killed_at_each_file_operation_the_newest_complete_one_loads(run: TrainingRun, strategy: DataParallel) -> None:
    save(run, strategy, 2)
    save(run, strategy, 4)
    seen = set()

    def check() -> None:
        steps = saved_steps(run, strategy)
        assert steps in ([2, 4], [2, 4, 6], [4, 6])
        seen.add(tuple(steps))

    def resume_and_save() -> None:
        remove_incomplete(Path(run.checkpoint_directory))
        latest = latest_complete(Path(run.checkpoint_directory))
        assert latest is not None
        # Killed after `done`, step 6 is there, and a resumed run would have nothing to save until step 8.
        if latest.name == "step_00000004":
            save(run, strategy, 6)

    assert children_killed_at_each_file_operation(resume_and_save, check) > 15
    assert (2, 4) in seen
    assert seen & {(2, 4, 6), (4, 6)}


def test_a_disk_without_room_leaves_nothing_that_looks_complete(
    run: TrainingRun, strategy: DataParallel, monkeypatch: pytest.MonkeyPatch
) -> None:
    save(run, strategy, 2)

    def full(_descriptor: int) -> None:
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    with monkeypatch.context() as patch:
        patch.setattr(os, "fsync", full)
        with pytest.raises(CheckpointError, match=r"cannot save the checkpoint: .*No space left on device"):
            save(run, strategy, 4)
    assert [path.name for path in Path(run.checkpoint_directory).iterdir()] == ["step_00000002"]
    save(run, strategy, 4)
    assert saved_steps(run, strategy) == [2, 4]


def test_only_the_newest_stay_and_other_folders_are_left_alone(run: TrainingRun, strategy: DataParallel) -> None:
    directory = Path(run.checkpoint_directory)
    for name in ("initial", "converted", "step_7"):
        (directory / name).mkdir(parents=True)
        (directory / name / DONE).touch()
    for step in (2, 4, 6):
        save(run, strategy, step, keep=1)
        assert saved_steps(run, strategy) == [step]
    assert sorted(path.name for path in directory.iterdir()) == ["converted", "initial", "step_00000006", "step_7"]


def test_the_latest_goes_by_its_step_and_not_by_its_time(run: TrainingRun, strategy: DataParallel) -> None:
    directory = Path(run.checkpoint_directory)
    for step in (90, 100):
        save(run, strategy, step, keep=9)
    os.utime(directory / "step_00000100", (0, 0))
    (directory / "step_00000110").mkdir()
    assert latest_complete(directory) == directory / "step_00000100"
    remove_incomplete(directory)
    assert sorted(path.name for path in directory.iterdir()) == ["step_00000090", "step_00000100"]


def test_what_a_checkpoint_says_of_itself(run: TrainingRun, strategy: DataParallel) -> None:
    save(run, strategy, 2)
    checkpoint = latest_complete(Path(run.checkpoint_directory))
    assert checkpoint is not None
    said = json.loads((checkpoint / "checkpoint.json").read_text())
    assert (said["format"], said["step"], said["run"], said["tensor_parallel_size"]) == ("nxd", 2, "tiny", 1)
    assert said["model"]["architecture"] == "bert"
    assert sorted(path.name for path in checkpoint.iterdir()) == ["checkpoint.json", DONE, "model", "optim"]


def test_a_checkpoint_of_another_model_is_refused(run: TrainingRun, strategy: DataParallel, tmp_path: Path) -> None:
    save(run, strategy, 2)
    other = build(make_run(tmp_path, {**BERT, "hidden_size": 32}), ALONE, None)
    checkpoint = latest_complete(Path(run.checkpoint_directory))
    assert checkpoint is not None
    with pytest.raises(ValueError, match="step_00000002 is not a checkpoint of this model"):
        other.load(checkpoint)


def flip_a_byte(file: Path) -> None:
    content = bytearray(file.read_bytes())
    content[len(content) // 2] ^= 1
    file.write_bytes(content)


@pytest.mark.parametrize(
    ("what", "said"),
    [
        ("flip", r"model/.*\.pt does not have its checksums"),
        ("cut", r"model/.*\.pt has \d+ bytes, it had \d+"),
        ("remove", r"model/.*\.pt is missing"),
        ("empty done", "`done` does not list its files"),
    ],
)
def test_a_damaged_checkpoint_is_put_aside_and_the_one_before_is_taken(
    run: TrainingRun, strategy: DataParallel, capsys: pytest.CaptureFixture[str], what: str, said: str
) -> None:
    directory = Path(run.checkpoint_directory)
    for step in (2, 4):
        save(run, strategy, step)
    assert latest_sound(ALONE, directory) == directory / "step_00000004"
    damaged = directory / "step_00000004"
    [file] = (damaged / "model").iterdir()
    match what:
        case "flip":
            flip_a_byte(file)
        case "cut":
            os.truncate(file, 100)
        case "remove":
            file.unlink()
        case _:
            (damaged / DONE).write_bytes(b"")

    assert latest_sound(ALONE, directory) == directory / "step_00000002"

    output = capsys.readouterr().out
    assert re.search(rf"step_00000004 is damaged: {said}", output), output
    assert (damaged / DAMAGED).is_file()
    remove_incomplete(directory)
    assert damaged.is_dir()
    assert saved_steps(run, strategy) == [2]
    save(run, strategy, 4)
    assert latest_sound(ALONE, directory) == damaged
    assert not (damaged / DAMAGED).exists()


def test_training_does_not_begin_anew_when_all_checkpoints_are_damaged(
    run: TrainingRun, strategy: DataParallel
) -> None:
    directory = Path(run.checkpoint_directory)
    assert latest_sound(ALONE, directory) is None
    save(run, strategy, 2)
    for file in (directory / "step_00000002" / "model").iterdir():
        flip_a_byte(file)

    for _ in range(2):
        with pytest.raises(DamagedError, match="all checkpoints are damaged"):
            latest_sound(ALONE, directory)
