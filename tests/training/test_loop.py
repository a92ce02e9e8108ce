"""The loop with a strategy whose losses are written down: what it saves, records, and when it ends."""

import errno
import math
import os
import signal
import socket
from collections.abc import Iterator, Sequence
from pathlib import Path
from threading import Event

import pytest
import torch

from slipway_jobs.run import TrainingRun
from slipway_jobs.watching.metrics import read_metrics
from slipway_training import loop
from slipway_training.checkpoints.layout import complete_checkpoints, latest_complete, step_of
from slipway_training.checkpoints.saving import CheckpointError
from slipway_training.device import Workers, join, leave
from slipway_training.loop import TrainingError, take_compile_steps, train
from slipway_training.metrics import forget_later_steps
from slipway_training.stopping import SIGNALS, StopRequest
from slipway_training.strategy import MicroBatch, Snapshot
from tests.training.tiny_runs import LLAMA, losses, make_prepared_run


class ScriptedStrategy:
    """Has the losses that it is given, and saves how many steps it took."""

    data_parallel_rank, data_parallel_size, checkpoint_format = 0, 1, "nxd"
    gradient_norm = torch.tensor(0.5)
    full: tuple[int, ...] = ()
    """Steps whose checkpoint the disk has no room for."""

    def __init__(
        self, script: dict[int, float], stop_at: int | None = None, written_after: dict[int, int] | None = None
    ) -> None:
        """Take losses, the step to stop at, and for a checkpoint's step the step until which its disk is slow."""
        self.script, self.stop_at, self.taken = script, stop_at, 0
        self.written_after = written_after or {}
        self.rates: list[float] = []
        self.reached = {step: Event() for step in range(20)}

    def train_step(self, micro_batches: Sequence[MicroBatch], learning_rate: float) -> torch.Tensor:
        """Take a step."""
        self.taken += 1
        self.reached[self.taken].set()
        self.rates.append(learning_rate)
        assert [batch["input_ids"].shape for batch in micro_batches] == [(2, 16)] * 4
        if self.taken == self.stop_at:
            os.kill(os.getpid(), signal.SIGTERM)
        return torch.tensor(self.script.get(self.taken, float(self.taken)))

    def snapshot(self) -> Snapshot:
        """Save."""
        taken = self.taken

        def write(directory: Path) -> None:
            (directory / "taken").write_text(str(taken))
            assert self.reached[self.written_after.get(taken, 0) or taken].wait(timeout=60)
            if taken in self.full:
                raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

        return write

    def load(self, directory: Path) -> None:
        """Load."""
        self.taken = int((directory / "taken").read_text())


@pytest.fixture
def request_() -> Iterator[StopRequest]:
    before = {number: signal.getsignal(number) for number in SIGNALS}
    yield StopRequest()
    for number, handler in before.items():
        signal.signal(number, handler)


@pytest.fixture
def workers(run: TrainingRun, monkeypatch: pytest.MonkeyPatch) -> Iterator[Workers]:
    """This process as the only worker, with a real process group."""
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    place = {"MASTER_ADDR": "127.0.0.1", "MASTER_PORT": port, "RANK": 0, "LOCAL_RANK": 0, "WORLD_SIZE": 1}
    for name, value in place.items():
        monkeypatch.setenv(name, str(value))
    yield join(run.recipe.hardware)
    leave()


@pytest.fixture
def run(tmp_path: Path) -> TrainingRun:
    return make_prepared_run(tmp_path, LLAMA, steps=9, checkpoint={"interval_steps": 3, "keep": 9})


def run_scripted(
    run: TrainingRun,
    workers: Workers,
    request: StopRequest,
    strategy: ScriptedStrategy,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(loop, "build", lambda *_: strategy)
    train(run, workers, request)


def saved_steps(run: TrainingRun) -> list[int | None]:
    return [step_of(path) for path in complete_checkpoints(Path(run.checkpoint_directory))]


def test_each_step_is_recorded_and_every_interval_saved(
    run: TrainingRun,
    workers: Workers,
    request_: StopRequest,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    strategy = ScriptedStrategy({})
    run_scripted(run, workers, request_, strategy, monkeypatch)
    assert losses(run) == {step: float(step) for step in range(1, 10)}
    assert all(step.gradient_norm == 0.5 for step in read_metrics(run.metrics_file))
    assert saved_steps(run) == [3, 6, 9]
    assert run.done_file("train").exists()
    assert strategy.rates[:2] == [0.005, 0.01]
    output = capsys.readouterr().out
    assert "step 4/9  loss 4.0000  lr" in output
    assert "training is done: 9 steps" in output


def test_a_finished_run_takes_no_more_steps(
    run: TrainingRun, workers: Workers, request_: StopRequest, monkeypatch: pytest.MonkeyPatch
) -> None:
    run_scripted(run, workers, request_, ScriptedStrategy({}), monkeypatch)
    run.done_file("train").unlink()
    again = ScriptedStrategy({})
    run_scripted(run, workers, request_, again, monkeypatch)
    assert run.done_file("train").exists()
    assert not again.rates
    assert len(losses(run)) == 9


def test_told_to_stop_it_saves_the_step_it_is_at(
    run: TrainingRun,
    workers: Workers,
    request_: StopRequest,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    run_scripted(run, workers, request_, ScriptedStrategy({}, stop_at=5), monkeypatch)
    assert saved_steps(run) == [3, 5]
    assert not run.done_file("train").exists()
    assert "asked to stop (SIGTERM)" in capsys.readouterr().out


def test_steps_are_taken_while_a_checkpoint_is_written(
    run: TrainingRun,
    workers: Workers,
    request_: StopRequest,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    """Step 3's checkpoint is on the disk after step 5 only; the one of step 6 waits for none."""
    run_scripted(run, workers, request_, ScriptedStrategy({}, written_after={3: 5}), monkeypatch)
    assert saved_steps(run) == [3, 6, 9]
    output = capsys.readouterr().out
    assert output.index("step 5/9") < output.index("step_00000003 in") < output.index("step_00000006 in")


def test_a_stop_waits_for_the_checkpoint_on_its_way_and_saves_another(
    run: TrainingRun, workers: Workers, request_: StopRequest, monkeypatch: pytest.MonkeyPatch
) -> None:
    strategy = ScriptedStrategy({}, stop_at=4, written_after={3: 4})
    run_scripted(run, workers, request_, strategy, monkeypatch)
    assert saved_steps(run) == [3, 4]


def test_a_checkpoint_that_cannot_be_written_ends_training(
    run: TrainingRun, workers: Workers, request_: StopRequest, monkeypatch: pytest.MonkeyPatch
) -> None:
    strategy = ScriptedStrategy({}, written_after={6: 7})
    strategy.full = (6,)
    with pytest.raises(CheckpointError, match=r"step_00000006: cannot save the checkpoint: .*No space left on device"):
        run_scripted(run, workers, request_, strategy, monkeypatch)
    assert strategy.taken in (7, 8)
    assert [path.name for path in Path(run.checkpoint_directory).iterdir()] == ["step_00000003"]
    assert not run.done_file("train").exists()


def test_a_synchronous_checkpoint_is_there_before_the_next_step(
    run: TrainingRun, workers: Workers, request_: StopRequest, monkeypatch: pytest.MonkeyPatch
) -> None:
    settings = run.recipe.checkpoint.model_copy(update={"asynchronous": False})
    run = run.model_copy(update={"recipe": run.recipe.model_copy(update={"checkpoint": settings})})
    seen = {}

    class Looking(ScriptedStrategy):
        def train_step(self, micro_batches: Sequence[MicroBatch], learning_rate: float) -> torch.Tensor:
            seen[self.taken] = saved_steps(run)
            return super().train_step(micro_batches, learning_rate)

    run_scripted(run, workers, request_, Looking({}), monkeypatch)
    assert (seen[2], seen[3], seen[6]) == ([], [3], [3, 6])


def test_a_few_losses_that_are_no_number_pass_but_are_not_saved(
    run: TrainingRun, workers: Workers, request_: StopRequest, monkeypatch: pytest.MonkeyPatch
) -> None:
    run_scripted(run, workers, request_, ScriptedStrategy({5: math.nan, 6: math.inf}), monkeypatch)
    assert saved_steps(run) == [3, 9]


def test_diverged_training_ends_with_what_to_do(
    run: TrainingRun, workers: Workers, request_: StopRequest, monkeypatch: pytest.MonkeyPatch
) -> None:
    diverged = ScriptedStrategy(dict.fromkeys(range(4, 10), math.nan), written_after={3: 8})
    with pytest.raises(TrainingError, match=r"NaN or infinite in the 5 steps up to step 8.*learning_rate"):
        run_scripted(run, workers, request_, diverged, monkeypatch)
    assert saved_steps(run) == [3]
    with pytest.raises(TrainingError, match="the loss of the last step is NaN or infinite: checkpoints end at step 6"):
        run_scripted(run, workers, request_, ScriptedStrategy({9: math.nan}), monkeypatch)
    assert saved_steps(run) == [3, 6]
    assert not run.done_file("train").exists()


def test_compile_steps_write_nothing(run: TrainingRun, workers: Workers, capsys: pytest.CaptureFixture[str]) -> None:
    before = sorted(Path(run.directory).parent.rglob("*"))
    take_compile_steps(run, workers)
    assert "compile step 5/5  loss" in capsys.readouterr().out
    assert sorted(Path(run.directory).parent.rglob("*")) == before


def test_a_checkpoint_of_another_recipe_is_refused(
    run: TrainingRun, workers: Workers, request_: StopRequest, monkeypatch: pytest.MonkeyPatch
) -> None:
    run_scripted(run, workers, request_, ScriptedStrategy({}), monkeypatch)
    latest = latest_complete(Path(run.checkpoint_directory))
    assert latest is not None
    file = latest / "checkpoint.json"
    file.write_text(file.read_text().replace('"fuse_qkv": false', '"fuse_qkv": true').replace("384", "500"))
    with pytest.raises(TrainingError, match=r"(?s)does not fit the recipe.*vocab_size=500.*fuse_qkv: the checkpoint"):
        train(run, workers, request_)


def test_metrics_of_steps_that_are_taken_again_are_forgotten(tmp_path: Path) -> None:
    file = tmp_path / "metrics.jsonl"
    file.write_text('{"step": 1}\n{"step": 2}\n{"step": 3}\n{"step": 4, "lo')
    forget_later_steps(file, 2)
    assert file.read_text() == '{"step": 1}\n{"step": 2}\n'
    forget_later_steps(tmp_path / "none", 2)


def test_random_numbers_come_from_seed_step_and_rank_only(workers: Workers) -> None:
    def numbers(*parts: int) -> list[float]:
        workers.seed(*parts)
        drawn: list[float] = torch.rand(3).tolist()
        return drawn

    assert numbers(42, 7, 0) == numbers(42, 7, 0)
    assert len({tuple(numbers(*parts)) for parts in ((42, 7, 0), (42, 7, 1), (42, 8, 0), (43, 7, 0))}) == 4
