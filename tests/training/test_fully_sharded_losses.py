"""FSDP2 and tensor parallelism train as transformers' own model does on one process."""

import shutil
from pathlib import Path
from typing import Any

import pytest
import torch
from transformers import AutoModelForCausalLM, LlamaForCausalLM

from slipway_training.device import Workers
from slipway_training.models.transformers_configuration import model_class, transformers_configuration
from slipway_training.strategies.fully_sharded import FullySharded
from tests.training.gloo_workers import on_workers
from tests.training.tiny_llama import LEARNING_RATE, make_recipe, step_tokens, take_steps

STEPS = 4


def losses_of_transformers(folder: Path, precision: torch.dtype = torch.float32) -> list[float]:
    """Train a saved model without anything of ours."""
    model: Any = AutoModelForCausalLM.from_pretrained(folder, torch_dtype=torch.float32)
    matrices = [p for p in model.parameters() if p.ndim > 1]
    norms = [p for p in model.parameters() if p.ndim == 1]
    groups = [{"params": matrices, "weight_decay": 0.1}, {"params": norms, "weight_decay": 0.0}]
    optimizer = torch.optim.AdamW(groups, lr=LEARNING_RATE, betas=(0.9, 0.95), eps=1e-8)
    losses = []
    for step in range(STEPS):
        tokens = step_tokens(step)
        with torch.autocast("cpu", precision, enabled=precision != torch.float32):
            loss = model(input_ids=tokens, labels=tokens).loss
        loss.backward()
        torch.nn.utils.clip_grad_norm_(model.parameters(), 0.5)
        optimizer.step()
        optimizer.zero_grad()
        losses.append(loss.item())
    return losses


def save_model(folder: Path, **sections: Any) -> Path:
    """Save a model in the transformers format, in several files."""
    torch.manual_seed(1)
    described = make_recipe(**sections).model
    model = model_class(described.architecture)(transformers_configuration(described))
    for parameter in model.parameters():
        torch.nn.init.normal_(parameter, 0.5 if parameter.ndim == 1 else 0.0, 0.1)
    model.save_pretrained(folder, max_shard_size="20KB")
    assert len(list(folder.glob("*.safetensors"))) > 1
    return folder


@pytest.fixture(scope="module")
def saved(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A model's folder."""
    return save_model(tmp_path_factory.mktemp("model"))


@pytest.fixture(scope="module")
def wanted(saved: Path) -> list[float]:
    """The losses of its training by transformers."""
    return losses_of_transformers(saved)


@pytest.mark.parametrize(("tensor_parallel_size", "workers"), [(1, 2), (2, 2), (1, 3), (2, 4)])
def test_losses_are_those_of_transformers(
    saved: Path, wanted: list[float], tensor_parallel_size: int, workers: int
) -> None:
    recipe = make_recipe(parallelism={"tensor_parallel_size": tensor_parallel_size})

    def train(place: Workers) -> list[float]:
        return take_steps(FullySharded(recipe, place, saved, compiler=None), 0, STEPS)

    found = on_workers(workers, train)

    assert all(losses == found[0] for losses in found)
    assert found[0] == pytest.approx(wanted, abs=1e-5)
    assert found[0][2] < found[0][0]


@pytest.mark.parametrize(
    "model",
    [
        {"architecture": "mistral", "head_dim": 12, "sliding_window": 16},
        {"architecture": "qwen2"},
        {"architecture": "qwen3", "head_dim": 16, "tie_word_embeddings": True},
    ],
    ids=str,
)
def test_losses_of_the_family_are_those_of_transformers(tmp_path: Path, model: dict[str, Any]) -> None:
    saved = save_model(tmp_path / "model", model=model)
    recipe = make_recipe(model=model, parallelism={"tensor_parallel_size": 2})

    def train(place: Workers) -> list[float]:
        return take_steps(FullySharded(recipe, place, saved, compiler=None), 0, STEPS)

    found = on_workers(4, train)

    assert found[0] == pytest.approx(losses_of_transformers(saved), abs=1e-5)


def test_the_gradient_norm_is_that_of_transformers(saved: Path) -> None:
    model: Any = LlamaForCausalLM.from_pretrained(saved, torch_dtype=torch.float32)
    tokens = step_tokens(0)
    model(input_ids=tokens, labels=tokens).loss.backward()
    wanted = torch.nn.utils.get_total_norm(parameter.grad for parameter in model.parameters()).item()
    recipe = make_recipe(parallelism={"tensor_parallel_size": 2})

    def train(place: Workers) -> float:
        strategy = FullySharded(recipe, place, saved, compiler=None)
        take_steps(strategy, 0, 1)
        return float(strategy.gradient_norm)

    assert on_workers(4, train) == pytest.approx([wanted] * 4, rel=1e-5)


def test_an_output_layer_that_is_the_embedding_stays_it(tmp_path: Path) -> None:
    sections = {"model": {"tie_word_embeddings": True}}
    folder = save_model(tmp_path, **sections)
    recipe = make_recipe(**sections, parallelism={"tensor_parallel_size": 2})

    def train(place: Workers) -> tuple[list[float], list[str]]:
        strategy = FullySharded(recipe, place, folder, compiler=None)
        return take_steps(strategy, 0, STEPS), list(strategy._parameters)

    losses, names = on_workers(4, train)[0]

    assert losses == pytest.approx(losses_of_transformers(folder), abs=1e-5)
    assert "lm_head.weight" not in names


def test_bfloat16_computes_near_transformers_autocast(saved: Path, wanted: list[float]) -> None:
    recipe = make_recipe(precision="bfloat16", parallelism={"tensor_parallel_size": 2})

    def train(place: Workers) -> tuple[list[float], set[torch.dtype]]:
        strategy = FullySharded(recipe, place, saved, compiler=None)
        losses = take_steps(strategy, 0, STEPS)
        return losses, {parameter.dtype for parameter in strategy._parameters.values()}

    losses, dtypes = on_workers(2, train)[0]

    assert losses == pytest.approx(losses_of_transformers(saved, torch.bfloat16), abs=0.02)
    assert losses != pytest.approx(wanted, abs=1e-6)
    assert dtypes == {torch.float32}


@pytest.mark.parametrize("compiler", [None, "aot_eager"])
def test_recomputing_and_compiling_change_no_loss(wanted: list[float], saved: Path, compiler: str | None) -> None:
    def train(place: Workers) -> list[list[float]]:
        losses = []
        for recomputed in ("selective", "full"):
            split = {"tensor_parallel_size": 2, "activation_checkpointing": recomputed}
            losses.append(take_steps(FullySharded(make_recipe(parallelism=split), place, saved, compiler), 0, 3))
        return losses

    for losses in on_workers(2, train)[0]:
        assert losses == pytest.approx(wanted[:3], abs=1e-5)


def test_the_number_of_micro_batches_changes_no_loss() -> None:
    def train(place: Workers) -> list[list[float]]:
        found = []
        for number in (1, 3):
            strategy = FullySharded(make_recipe(), place, None, compiler=None)
            steps = [step_tokens(step)[strategy.data_parallel_rank :: 2].chunk(number) for step in range(3)]
            batches = [[{"input_ids": tokens, "labels": tokens} for tokens in step] for step in steps]
            found.append([strategy.train_step(step, LEARNING_RATE).item() for step in batches])
        return found

    at_once, in_parts = on_workers(2, train)[0]

    assert in_parts == pytest.approx(at_once, abs=1e-5)


@pytest.mark.parametrize(
    ("field", "value", "message"),
    [
        ("intermediate_size", 48, "intermediate_size is 64, but the recipe's model has 48"),
        ("num_attention_heads", 8, "num_attention_heads is 4, but the recipe's model has 8"),
    ],
)
def test_weights_of_another_model_are_refused(saved: Path, field: str, value: int, message: str) -> None:
    def start(place: Workers) -> str:
        with pytest.raises(ValueError, match=r"config\.json") as refusal:
            FullySharded(make_recipe(model={field: value}), place, saved, compiler=None)
        return str(refusal.value)

    assert message in on_workers(1, start)[0]


def test_weights_that_are_not_all_there_are_refused(saved: Path, tmp_path: Path) -> None:
    folder = shutil.copytree(saved, tmp_path / "model")
    next(folder.glob("*.safetensors")).unlink()

    def start(place: Workers) -> str:
        with pytest.raises(ValueError, match="missing") as refusal:
            FullySharded(make_recipe(), place, folder, compiler=None)
        return str(refusal.value)

    assert "model-0000" in on_workers(1, start)[0]


def test_a_split_that_does_not_fit_is_refused() -> None:
    recipe = make_recipe(parallelism={"tensor_parallel_size": 4})

    def start(place: Workers) -> str:
        with pytest.raises(ValueError, match="tensor_parallel_size 4") as refusal:
            FullySharded(recipe, place, None, compiler=None)
        return str(refusal.value)

    assert "does not divide workers 1, num_key_value_heads 2" in on_workers(1, start)[0]
