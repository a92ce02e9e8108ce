"""Every split of a model trains as one process does, and a resumed training as one that was not interrupted."""

from functools import partial
from pathlib import Path
from typing import Any

import pytest
import torch

from slipway_jobs.recipe.architecture import Bert
from slipway_jobs.run import TrainingRun
from slipway_training.device import Workers
from slipway_training.strategies.tensor_parallel.limits import check_limits
from tests.training.gloo_workers import on_workers
from tests.training.tensor_parallel_training import RATE, make_split_run, make_strategy, micro_batches, train

SPLITS: dict[str, tuple[int, dict[str, Any]]] = {
    "two replicas": (2, {}),
    "TP2": (2, {"tensor_parallel_size": 2, "activation_checkpointing": "selective_mlp"}),
    "PP2, stages of 1 and 2 layers": (2, {"pipeline_parallel_size": 2, "activation_checkpointing": "full"}),
    "TP2 PP2": (4, {"tensor_parallel_size": 2, "pipeline_parallel_size": 2}),
    "TP2, two replicas": (4, {"tensor_parallel_size": 2, "fuse_qkv": False}),
    "TP4, repeated heads": (4, {"tensor_parallel_size": 4, "kv_size_multiplier": 2}),
    "TP4, repeated heads, not fused": (4, {"tensor_parallel_size": 4, "kv_size_multiplier": 2, "fuse_qkv": False}),
}
ROUNDING = 1e-5
"""Splits add float32 numbers in another order, and the optimizer's division enlarges that: after three
steps a loss is off by up to 1.4e-6, more on some processors than on others."""

SHARED = {"tensor_parallel_size": 2, "pipeline_parallel_size": 2}


@pytest.fixture(scope="module")
def single_losses(tmp_path_factory: pytest.TempPathFactory) -> list[float]:
    return train(make_split_run(tmp_path_factory.mktemp("single"), 1), range(4))


@pytest.mark.parametrize("name", SPLITS)
def test_a_split_model_learns_as_a_whole_one(tmp_path: Path, single_losses: list[float], name: str) -> None:
    size, parallelism = SPLITS[name]
    losses = train(make_split_run(tmp_path, size, parallelism=parallelism), range(4))
    assert losses == pytest.approx(single_losses, rel=ROUNDING)
    assert losses[2] < losses[0] - 0.05  # the same samples again, after two steps


@pytest.mark.parametrize("name", ["TP2 PP2", "TP4, repeated heads", "TP4, repeated heads, not fused"])
@pytest.mark.parametrize("model", [{"architecture": "qwen2"}, {"architecture": "qwen3", "head_dim": 8}], ids=str)
def test_biases_and_norms_of_heads_learn_as_in_a_whole_model(tmp_path: Path, model: dict[str, Any], name: str) -> None:
    size, parallelism = SPLITS[name]
    whole = train(make_split_run(tmp_path / "whole", 1, model=model), range(4))
    losses = train(make_split_run(tmp_path, size, model=model, parallelism=parallelism), range(4), saved=tmp_path / "s")
    assert losses == pytest.approx(whole, rel=ROUNDING)
    learned = torch.load(tmp_path / "s/model/dp_rank_00_tp_rank_01_pp_rank_00.pt", weights_only=True)
    ends = ("q_norm.weight", "k_norm.weight") if model["architecture"] == "qwen3" else ("qkv_bias.bias",)
    assert all((learned[f"model.layers.0.self_attn.{end}"] % 1).any() for end in ends)


def norm_of_a_step(run: TrainingRun, workers: Workers) -> float:
    strategy = make_strategy(run, workers)
    strategy.train_step(micro_batches(run, strategy, 0), RATE)
    return float(strategy.gradient_norm)


@pytest.mark.parametrize(
    ("name", "architecture"),
    [
        ("TP2 PP2", "llama"),
        ("TP2, two replicas", "llama"),
        ("TP4, repeated heads", "llama"),
        ("TP4, repeated heads", "qwen2"),
        ("TP4, repeated heads", "qwen3"),
    ],
)
def test_all_workers_know_the_norm_of_the_whole_gradient(tmp_path: Path, name: str, architecture: str) -> None:
    size, parallelism = SPLITS[name]
    model = {"architecture": architecture}
    [single] = on_workers(1, partial(norm_of_a_step, make_split_run(tmp_path / "single", 1, model=model)))
    run = make_split_run(tmp_path / "split", size, model=model, parallelism=parallelism)
    assert on_workers(size, partial(norm_of_a_step, run)) == pytest.approx([single] * size, rel=ROUNDING)
    assert single > run.recipe.optimizer.gradient_clipping


def test_fused_without_grouped_queries(tmp_path: Path) -> None:
    """One plain matrix, as NeuronX Distributed's example names it; the same weights as unfused ones."""
    model = {"num_key_value_heads": 8}
    split = {"tensor_parallel_size": 2}
    fused = train(make_split_run(tmp_path, 2, model=model, parallelism=split), range(3), saved=tmp_path / "saved")
    assert fused == pytest.approx(train(make_split_run(tmp_path, 1, model=model), range(3)), rel=ROUNDING)
    weights = torch.load(tmp_path / "saved/model/dp_rank_00_tp_rank_01_pp_rank_00.pt", weights_only=True)
    assert weights["model.layers.0.self_attn.qkv_proj.weight"].shape == (48, 32)


def test_heads_in_the_order_of_trn2(tmp_path: Path, single_losses: list[float]) -> None:
    parallelism = {"tensor_parallel_size": 4, "kv_size_multiplier": 2}
    run = make_split_run(tmp_path, 4, parallelism=parallelism, hardware={"instance_type": "trn2.48xlarge"})
    assert train(run, range(4)) == pytest.approx(single_losses, rel=ROUNDING)


def test_bfloat16_keeps_master_weights(tmp_path: Path, single_losses: list[float]) -> None:
    """Updates smaller than bfloat16's steps are not lost, and survive a resume."""
    run = make_split_run(tmp_path, 2, parallelism={"tensor_parallel_size": 2}, precision="bfloat16")
    whole = train(run, range(4), saved=tmp_path / "four")
    assert whole == pytest.approx(single_losses, rel=5e-3)
    weights = torch.load(tmp_path / "four/model/dp_rank_00_tp_rank_00_pp_rank_00.pt", weights_only=True)
    assert {tensor.dtype for tensor in weights.values()} == {torch.bfloat16}
    train(run, range(2), saved=tmp_path / "two")
    assert train(run, range(2, 4), resumed=tmp_path / "two") == whole[2:]


@pytest.mark.parametrize("parallelism", [{"tensor_parallel_size": 2}, SHARED, {}])
def test_a_resumed_training_goes_on_bit_for_bit(tmp_path: Path, parallelism: dict[str, Any]) -> None:
    workers = 4 if parallelism == SHARED else 2
    run = make_split_run(tmp_path, workers, parallelism=parallelism)
    whole = train(run, range(5))
    assert train(run, range(3), saved=tmp_path / "saved") == whole[:3]
    assert train(run, range(3, 5), resumed=tmp_path / "saved") == whole[3:]


def test_training_starts_from_given_weights(tmp_path: Path) -> None:
    """The weights of a checkpoint, without its optimizer: the loss is the trained one's, before the next step."""
    run = make_split_run(tmp_path, 2, parallelism={"tensor_parallel_size": 2})
    trained = train(run, range(3), saved=tmp_path / "saved")
    (continued,) = train(run, range(3, 4), resumed=tmp_path / "saved")
    (started,) = train(run, range(3, 4), weights=tmp_path / "saved")
    assert started == continued != trained[-1]


def test_the_files_of_a_checkpoint(tmp_path: Path) -> None:
    """Names and shapes as NeuronX Distributed's Llama example saves them with these splits."""
    run = make_split_run(tmp_path, 4, parallelism=SHARED)
    train(run, range(1), saved=tmp_path / "saved")
    shards = [f"dp_rank_00_tp_rank_{tensor:02d}_pp_rank_{stage:02d}.pt" for tensor in range(2) for stage in range(2)]
    for folder in ("model", "optim"):
        assert sorted(file.name for file in (tmp_path / "saved" / folder).iterdir()) == sorted(shards)
    first, last = (
        torch.load(tmp_path / f"saved/model/dp_rank_00_tp_rank_01_pp_rank_0{stage}.pt", weights_only=True)
        for stage in range(2)
    )
    layer = {
        "self_attn.qkv_proj.weight_qkv": (16 + 4 + 4, 32),
        "self_attn.o_proj.weight": (32, 16),
        "mlp.gate_up_proj.weight": (48, 32),
        "mlp.down_proj.weight": (32, 24),
        "input_layernorm.weight": (32,),
        "post_attention_layernorm.weight": (32,),
    }
    shapes = [{name: tuple(tensor.shape) for name, tensor in state.items()} for state in (first, last)]
    layers = [{f"model.layers.{number}.{name}": shape for name, shape in layer.items()} for number in range(3)]
    assert shapes[0] == {"model.embed_tokens.weight": (32, 32), **layers[0]}
    assert shapes[1] == {**layers[1], **layers[2], "model.norm.weight": (32,), "lm_head.weight": (32, 32)}


def _load(run: Any, directory: Path, workers: Workers) -> str:
    with pytest.raises((OSError, ValueError)) as caught:
        make_strategy(run, workers).load(directory)
    return str(caught.value)


def test_a_checkpoint_of_another_model_or_split_is_refused(tmp_path: Path) -> None:
    run = make_split_run(tmp_path, 2, parallelism={"tensor_parallel_size": 2})
    train(run, range(1), saved=tmp_path / "saved")
    wider = make_split_run(
        tmp_path / "wider", 2, parallelism={"tensor_parallel_size": 2}, model={"intermediate_size": 64}
    )
    (message, _) = on_workers(2, partial(_load, wider, tmp_path / "saved"))
    assert "tp_rank_00_pp_rank_00.pt: weights of another model or split" in message
    assert "mlp.down_proj.weight" in message
    unfused = make_split_run(tmp_path / "unfused", 2, parallelism={"tensor_parallel_size": 2, "fuse_qkv": False})
    (message, _) = on_workers(2, partial(_load, unfused, tmp_path / "saved"))
    assert "qkv_proj.weight_k" in message
    stages = make_split_run(tmp_path / "stages", 2, parallelism={"pipeline_parallel_size": 2})
    (_, message) = on_workers(2, partial(_load, stages, tmp_path / "saved"))
    assert "dp_rank_00_tp_rank_00_pp_rank_01.pt" in message


def test_an_optimizer_file_of_another_device_is_refused(tmp_path: Path) -> None:
    run = make_split_run(tmp_path, 1)
    train(run, range(1), saved=tmp_path / "saved")
    file = tmp_path / "saved/optim/dp_rank_00_tp_rank_00_pp_rank_00.pt"
    torch.save({"base_state": {}, "param_groups": []}, file)
    (message,) = on_workers(1, partial(_load, run, tmp_path / "saved"))
    assert message == f"{file}: the optimizer file was not written by training on processors with this split"
    file.write_bytes(b"no checkpoint")
    (message,) = on_workers(1, partial(_load, run, tmp_path / "saved"))
    assert f"{file}: not a file of a checkpoint" in message


def test_all_that_cannot_be_split_is_said_at_once(tmp_path: Path) -> None:
    model = {"num_attention_heads": 6, "hidden_size": 36, "num_key_value_heads": 3, "tie_word_embeddings": True}
    split = {"tensor_parallel_size": 4, "pipeline_parallel_size": 4, "kv_size_multiplier": 3}
    run = make_split_run(
        tmp_path, 16, model=model, parallelism=split, optimizer={"name": "lamb"}, batch={"micro_size": 4}
    )
    with pytest.raises(ValueError, match="cannot be trained with tensor_parallel") as caught:
        check_limits(run)
    assert str(caught.value).splitlines()[1:] == [
        "num_attention_heads is 6, which tensor_parallel_size 4 does not divide",
        "num_key_value_heads times kv_size_multiplier is 9, which tensor_parallel_size 4 does not divide",
        "kv_size_multiplier 3 does not divide tensor_parallel_size 4",
        "batch.global_size 8 makes fewer micro-batches for each of 1 replicas than there are stages (4), which would "
        "never all be at work",
        "3 layers cannot be divided into 4 stages",
        "tie_word_embeddings needs both matrices in one stage: write pipeline_parallel_size 1",
        "the optimizer is lamb: tensor_parallel trains with adamw",
    ]


def test_trn2_repeats_heads_up_to_the_workers_only(tmp_path: Path) -> None:
    split = {"tensor_parallel_size": 2, "kv_size_multiplier": 2}
    run = make_split_run(tmp_path, 3, parallelism=split, hardware={"instance_type": "trn2.48xlarge"})
    with pytest.raises(
        ValueError, match=r"on trn2\.48xlarge num_key_value_heads times kv_size_multiplier must be 2, not 4"
    ) as caught:
        check_limits(run)
    assert "3 workers cannot be divided into groups of 2 x 1" in str(caught.value)
    bert = {
        "architecture": "bert",
        "vocab_size": 64,
        "hidden_size": 32,
        "intermediate_size": 48,
        "num_hidden_layers": 3,
    }
    bert |= {"num_attention_heads": 8, "max_position_embeddings": 32}
    run = run.model_copy(update={"recipe": run.recipe.model_copy(update={"model": Bert.model_validate(bert)})})
    with pytest.raises(ValueError, match="tensor_parallel trains a llama, not a bert: write strategy data_parallel"):
        check_limits(run)
