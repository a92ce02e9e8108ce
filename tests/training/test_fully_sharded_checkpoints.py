"""A training goes on from its checkpoint, with the same workers or others."""

import os
import pickle
import shutil
from pathlib import Path
from threading import Thread
from typing import Any

import pytest
import torch

from slipway_conversion.dcp import read_layout
from slipway_jobs.recipe.architecture import Llama
from slipway_training.device import Workers
from slipway_training.strategies.fully_sharded import FullySharded
from tests.training.gloo_workers import on_workers
from tests.training.tiny_llama import make_recipe, take_steps

SPLIT = {"tensor_parallel_size": 2}


@pytest.fixture(scope="module")
def checkpoint(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, list[float]]:
    """A checkpoint after two steps on 2 x 2 workers, and the losses of the two steps taken while it was written."""
    folder = tmp_path_factory.mktemp("checkpoint")

    def train(place: Workers) -> list[float]:
        strategy = FullySharded(make_recipe(parallelism=SPLIT), place, None, compiler=None)
        take_steps(strategy, 0, 2)
        writer = Thread(target=strategy.snapshot(), args=(folder,))
        writer.start()
        losses = take_steps(strategy, 2, 4)
        writer.join()
        return losses

    losses = on_workers(4, train)[0]
    (folder / "done").touch()
    return folder, losses


def resume(folder: Path, workers: int, **sections: Any) -> list[float]:
    """Train two steps from a checkpoint."""

    def train(place: Workers) -> list[float]:
        strategy = FullySharded(make_recipe(**sections), place, None, compiler=None)
        strategy.load(folder)
        return take_steps(strategy, 2, 4)

    losses: list[float] = on_workers(workers, train)[0]
    return losses


def test_the_same_workers_go_on_with_the_same_losses(checkpoint: tuple[Path, list[float]]) -> None:
    folder, losses = checkpoint

    assert resume(folder, 4, parallelism=SPLIT) == losses


@pytest.mark.parametrize(("workers", "tensor_parallel_size"), [(1, 1), (3, 1), (2, 2)])
def test_other_workers_go_on_too(checkpoint: tuple[Path, list[float]], workers: int, tensor_parallel_size: int) -> None:
    folder, losses = checkpoint

    found = resume(folder, workers, parallelism={"tensor_parallel_size": tensor_parallel_size})

    assert found == pytest.approx(losses, abs=1e-5)


@pytest.mark.parametrize(("workers", "tensor_parallel_size"), [(3, 1), (4, 2)])
def test_random_weights_do_not_depend_on_the_split(tmp_path: Path, workers: int, tensor_parallel_size: int) -> None:
    def start(size: int, split: int) -> dict[str, torch.Tensor]:
        recipe = make_recipe(parallelism={"tensor_parallel_size": split})
        folder = tmp_path / f"{size}"
        on_workers(size, lambda place: FullySharded(recipe, place, None, compiler=None).snapshot()(folder))
        (folder / "done").touch()
        assert isinstance(recipe.model, Llama)
        rows: dict[str, list[torch.Tensor]] = {}
        for name, _, values in read_layout(folder, recipe.model).pieces():
            rows.setdefault(name, []).append(values)
        return {name: torch.cat(values) for name, values in rows.items()}

    one, many = start(1, 1), start(workers, tensor_parallel_size)

    assert one.keys() == many.keys()
    assert all(torch.equal(one[name], many[name]) for name in one)
    assert one["model.layers.0.mlp.up_proj.weight"].std().item() == pytest.approx(0.02, rel=0.1)
    assert not torch.equal(one["model.layers.0.mlp.up_proj.weight"], one["model.layers.1.mlp.up_proj.weight"])


def refusal(folder: Path, kind: type[Exception], **sections: Any) -> str:
    """Return what one worker says when it shall not load a checkpoint."""

    def load(place: Workers) -> str:
        strategy = FullySharded(make_recipe(**sections), place, None, compiler=None)
        with pytest.raises(kind) as error:
            strategy.load(folder)
        return str(error.value)

    message: str = on_workers(1, load)[0]
    return message


def test_another_model_is_refused(checkpoint: tuple[Path, list[float]]) -> None:
    message = refusal(checkpoint[0], ValueError, model={"intermediate_size": 48})

    assert "18 tensors differ" in message
    assert "(64, 32), the recipe's (48, 32)" in message


def test_a_missing_file_is_refused(checkpoint: tuple[Path, list[float]]) -> None:
    file = checkpoint[0] / "state" / "__1_0.distcp"
    away = file.rename(file.with_suffix(".away"))
    try:
        assert "__1_0.distcp" in refusal(checkpoint[0], OSError)
    finally:
        away.rename(file)


def test_a_damaged_file_is_refused(checkpoint: tuple[Path, list[float]], tmp_path: Path) -> None:
    folder = shutil.copytree(checkpoint[0], tmp_path / "damaged")
    for file in (folder / "state").glob("*.distcp"):
        file.write_bytes(bytes(file.stat().st_size))

    assert "cannot be read: worker 0" in refusal(folder, ValueError)


def test_all_workers_learn_that_one_cannot_write(tmp_path: Path) -> None:
    (tmp_path / "state" / "__1_0.distcp").mkdir(parents=True)  # in the second worker's way

    def save(place: Workers) -> str:
        strategy = FullySharded(make_recipe(), place, None, compiler=None)
        with pytest.raises(OSError, match="cannot be written: worker 1") as error:
            strategy.snapshot()(tmp_path)
        return str(error.value)

    assert len(on_workers(2, save)) == 2


def test_a_pickle_in_the_metadata_does_not_run_when_training_resumes(tmp_path: Path) -> None:
    class Harm:
        def __reduce__(self) -> tuple[Any, ...]:
            return os.mkdir, (str(tmp_path / "harm"),)

    (tmp_path / "state").mkdir()
    (tmp_path / "state" / ".metadata").write_bytes(pickle.dumps(Harm()))

    assert "posix.mkdir" in refusal(tmp_path, ValueError)
    assert not (tmp_path / "harm").exists()
