"""Fully sharded checkpoints become models of the transformers library with the very weights that were trained."""

import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any, NamedTuple

import pytest
import torch
from safetensors.torch import load_file
from transformers import LlamaForCausalLM

from slipway_conversion.nxd_split import ToldSplit
from slipway_conversion.problems import ConversionError
from slipway_conversion.to_transformers import Conversion, to_transformers
from slipway_jobs.recipe.architecture import Llama
from slipway_training.device import Workers
from slipway_training.models.transformers_configuration import transformers_configuration
from slipway_training.strategies.fully_sharded import FullySharded
from tests.training.gloo_workers import on_workers
from tests.training.tiny_llama import make_recipe, step_tokens, take_steps


class Trained(NamedTuple):
    """A checkpoint."""

    folder: Path
    model: Llama
    logits: torch.Tensor
    """What the model says to the first step's samples."""


def whole(value: Any) -> torch.Tensor:
    """Return a tensor as it would be on one worker."""
    tensor: torch.Tensor = value.full_tensor() if hasattr(value, "full_tensor") else value
    return tensor


def train(folder: Path, workers: int, tensor_parallel_size: int, **model: Any) -> Trained:
    """Train two steps and save."""
    recipe = make_recipe(model=model, parallelism={"tensor_parallel_size": tensor_parallel_size})

    def run(place: Workers) -> list[float]:
        strategy = FullySharded(recipe, place, None, compiler=None)
        take_steps(strategy, 0, 2)
        strategy.snapshot()(folder)
        positions = torch.arange(16)
        with torch.no_grad():
            output = strategy._model(input_ids=step_tokens(0), position_ids=positions[None], cache_position=positions)
        values: list[float] = whole(output.logits).tolist()
        return values

    logits = torch.tensor(on_workers(workers, run)[0])
    (folder / "done").touch()
    assert isinstance(recipe.model, Llama)
    return Trained(folder, recipe.model, logits)


@pytest.fixture(scope="module")
def trained(tmp_path_factory: pytest.TempPathFactory) -> Trained:
    """A checkpoint of 2 x 2 workers."""
    return train(tmp_path_factory.mktemp("checkpoint"), 4, 2)


def conversion(checkpoint: Path, output: Path, model: Llama, **options: Any) -> Conversion:
    """Describe a conversion as the command does."""
    configuration = transformers_configuration(model)
    return Conversion(checkpoint, output, configuration, ToldSplit(), format="dcp", model=model, **options)


def logits_of(folder: Path) -> torch.Tensor:
    """Ask a model of the transformers library."""
    model: Any = LlamaForCausalLM.from_pretrained(folder)
    with torch.no_grad():
        logits: torch.Tensor = model(input_ids=step_tokens(0)).logits
    return logits


@pytest.mark.parametrize("tied", [False, True], ids=["untied", "tied"])
@pytest.mark.parametrize(("workers", "tensor_parallel_size"), [(1, 1), (3, 1)])
def test_the_converted_model_gives_the_same_logits(
    tmp_path: Path, workers: int, tensor_parallel_size: int, tied: bool
) -> None:
    trained = train(tmp_path / "checkpoint", workers, tensor_parallel_size, tie_word_embeddings=tied)

    assert to_transformers(conversion(trained.folder, tmp_path / "model", trained.model), print)

    assert torch.equal(logits_of(tmp_path / "model"), trained.logits)


def test_tensor_parallel_columns_are_put_together(tmp_path: Path, trained: Trained) -> None:
    to_transformers(conversion(trained.folder, tmp_path / "model", trained.model, shard_bytes=20_000), print)

    assert len(list((tmp_path / "model").glob("*.safetensors"))) > 1
    # Halves of sums are added in another order than on one worker.
    torch.testing.assert_close(logits_of(tmp_path / "model"), trained.logits, atol=1e-6, rtol=0)


def test_bfloat16_is_what_training_computed_with(tmp_path: Path, trained: Trained) -> None:
    for precision in ("bfloat16", "float32"):
        to_transformers(conversion(trained.folder, tmp_path / precision, trained.model, precision=precision), print)

    half = load_file(tmp_path / "bfloat16" / "model.safetensors")
    full = load_file(tmp_path / "float32" / "model.safetensors")

    assert all(torch.equal(half[name], full[name].bfloat16()) for name in full)


def without_done(checkpoint: Path) -> None:
    (checkpoint / "done").unlink()


def without_metadata(checkpoint: Path) -> None:
    (checkpoint / "state" / ".metadata").unlink()


def without_a_file(checkpoint: Path) -> None:
    (checkpoint / "state" / "__2_0.distcp").unlink()


def without_a_file_s_end(checkpoint: Path) -> None:
    file = checkpoint / "state" / "__2_0.distcp"
    file.write_bytes(file.read_bytes()[:-100])


def without_state(checkpoint: Path) -> None:
    shutil.rmtree(checkpoint / "state")


@pytest.mark.parametrize(
    ("spoil", "message"),
    [
        (without_done, "no file done"),
        (without_metadata, r"\.metadata"),
        (without_a_file, r"incomplete: __2_0\.distcp of 4 files missing"),
        (without_a_file_s_end, r"__2_0\.distcp is cut off"),
        (without_state, "no folder state/"),
    ],
)
def test_an_incomplete_checkpoint_is_refused(
    tmp_path: Path, trained: Trained, spoil: Callable[[Path], None], message: str
) -> None:
    checkpoint = shutil.copytree(trained.folder, tmp_path / "checkpoint")
    spoil(checkpoint)

    with pytest.raises(ConversionError, match=message):
        to_transformers(conversion(checkpoint, tmp_path / "model", trained.model), print)

    assert sorted(path.name for path in tmp_path.iterdir()) == ["checkpoint"]


def test_a_damaged_file_is_refused_and_leaves_nothing(tmp_path: Path, trained: Trained) -> None:
    checkpoint = shutil.copytree(trained.folder, tmp_path / "checkpoint")
    for file in (checkpoint / "state").glob("*.distcp"):
        file.write_bytes(bytes(file.stat().st_size))

    with pytest.raises(ConversionError, match="damaged at byte"):
        to_transformers(conversion(checkpoint, tmp_path / "model", trained.model), print)

    assert sorted(path.name for path in tmp_path.iterdir()) == ["checkpoint"]


def test_all_differences_to_the_configuration_are_named(tmp_path: Path, trained: Trained) -> None:
    other = trained.model.model_copy(update={"vocab_size": 98, "num_hidden_layers": 3})
    fewer = trained.model.model_copy(update={"num_hidden_layers": 1})

    with pytest.raises(ConversionError) as bigger:
        to_transformers(conversion(trained.folder, tmp_path / "model", other), print)
    with pytest.raises(ConversionError, match=r"9 tensors are not part of the model: model\.layers\.1\."):
        to_transformers(conversion(trained.folder, tmp_path / "model", fewer), print)

    assert "embed_tokens.weight is (96, 32), but the configuration makes it (98, 32)" in str(bigger.value)
    assert "9 tensors of the model are missing: model.layers.2.self_attn.q_proj.weight" in str(bigger.value)
