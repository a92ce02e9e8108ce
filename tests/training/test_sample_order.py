"""The samples of each step: an order without a state, the same global batch for each number of replicas."""

from itertools import pairwise
from pathlib import Path

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from slipway_training.data.order import sample_at
from slipway_training.data.samples import Samples
from tests.training.tiny_runs import BERT, LLAMA, make_prepared_run


@settings(max_examples=50)
@given(st.integers(1, 300), st.integers(0, 2**31), st.integers(0, 3))
def test_each_epoch_has_each_sample_once(samples: int, seed: int, epoch: int) -> None:
    positions = range(epoch * samples, (epoch + 1) * samples)
    assert sorted(sample_at(position, samples, seed) for position in positions) == list(range(samples))


def test_epochs_and_seeds_have_orders_of_their_own() -> None:
    orders = {tuple(sample_at(e * 100 + i, 100, seed) for i in range(100)) for e in range(3) for seed in range(3)}
    assert len(orders) == 9
    assert tuple(range(100)) not in orders


def test_neighbours_are_spread_over_all_samples() -> None:
    first = [sample_at(position, 1_000_000, 7) for position in range(2000)]
    assert all(abs(sum(first[i::4]) / 500 - 500_000) < 60_000 for i in range(4))
    assert sum(abs(a - b) < 1000 for a, b in pairwise(first)) < 20


@pytest.mark.parametrize("model", [BERT, LLAMA], ids=["bert", "llama"])
def test_a_global_batch_is_the_same_for_each_number_of_replicas(tmp_path: Path, model: dict[str, object]) -> None:
    run = make_prepared_run(tmp_path, model)

    def global_batch(size: int, step: int) -> list[dict[str, list[object]]]:
        batches = [batch for rank in range(size) for batch in Samples(run, rank, size).of_step(step)]
        return [{name: tensor.tolist() for name, tensor in batch.items()} for batch in batches]

    for step in (1, 2, 500):
        assert len(global_batch(1, step)) == 4
        assert global_batch(1, step) == global_batch(2, step) == global_batch(4, step)
    assert global_batch(1, 1) != global_batch(1, 2)


def test_a_batch_that_cannot_be_divided_is_refused(tmp_path: Path) -> None:
    run = make_prepared_run(tmp_path, LLAMA)
    with pytest.raises(ValueError, match=r"global_size 8 is not a multiple of 3 replicas x batch\.micro_size 2"):
        Samples(run, 0, 3)


def test_samples_of_another_recipe_are_refused(tmp_path: Path) -> None:
    make_prepared_run(tmp_path, LLAMA)
    other = make_prepared_run(tmp_path, LLAMA)
    recipe = other.recipe.model_copy(update={"data": other.recipe.data.model_copy(update={"sequence_length": 8})})
    with pytest.raises(ValueError, match="samples have 16 tokens, the recipe's 8"):
        Samples(other.model_copy(update={"recipe": recipe}), 0, 1)


def test_tensors_are_what_the_models_take(tmp_path: Path) -> None:
    (batch, *_) = Samples(make_prepared_run(tmp_path, BERT), 0, 1).of_step(1)
    assert {name: tuple(tensor.shape) for name, tensor in batch.items()} == {
        "input_ids": (2, 16),
        "labels": (2, 16),
        "attention_mask": (2, 16),
        "token_type_ids": (2, 16),
        "next_sentence_label": (2,),
    }
    assert all(tensor.dtype == torch.int64 for tensor in batch.values())
