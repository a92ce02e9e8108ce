"""Data parallelism on one worker: its step, weights, checkpoints; what is the same for two is in test_interruptions."""

from pathlib import Path
from typing import Any

import pytest
import torch
import torch.distributed as dist
from transformers import BertForPreTraining, LlamaForCausalLM

from slipway_jobs.run import TrainingRun
from slipway_training.data.samples import Samples
from slipway_training.device import Workers
from slipway_training.models.transformers_configuration import transformers_configuration
from slipway_training.strategies import build
from slipway_training.strategies.data_parallel.strategy import DataParallel
from slipway_training.strategies.data_parallel.weight_names import from_checkpoint, to_checkpoint
from tests.training.tiny_runs import BERT, LLAMA, make_prepared_run, make_run

QWEN2 = {**LLAMA, "architecture": "qwen2"}
QWEN3 = {**LLAMA, "architecture": "qwen3", "head_dim": 8}
STILL = {"hidden_dropout_prob": 0.0, "attention_probs_dropout_prob": 0.0}


@pytest.fixture(scope="module")
def workers(tmp_path_factory: pytest.TempPathFactory) -> Any:
    """This process as the only worker."""
    store = tmp_path_factory.mktemp("store") / "file"
    dist.init_process_group("gloo", init_method=f"file://{store}", rank=0, world_size=1)
    group = dist.group.WORLD
    assert group is not None
    yield Workers(rank=0, local_rank=0, size=1, device=torch.device("cpu"), control=group)
    dist.destroy_process_group()


def start(run: TrainingRun, workers: Workers, weights: Path | None = None) -> DataParallel:
    strategy = build(run, workers, weights)
    assert isinstance(strategy, DataParallel)
    return strategy


def take_steps(
    run: TrainingRun, workers: Workers, strategy: DataParallel, steps: range, rate: float = 1e-2
) -> list[float]:
    samples, taken = Samples(run, 0, 1), []
    for step in steps:
        workers.seed(1, step)
        taken.append(strategy.train_step(samples.of_step(step), rate).item())
    return taken


@pytest.mark.parametrize("model", [{**BERT, **STILL}, LLAMA], ids=["bert", "llama"])
@pytest.mark.parametrize(("optimizer", "rate"), [("adamw", 1e-2), ("lamb", 0.2)])
def test_a_model_learns(tmp_path: Path, workers: Workers, model: dict[str, Any], optimizer: str, rate: float) -> None:
    run = make_prepared_run(tmp_path, model, optimizer={"name": optimizer})
    strategy = start(run, workers)
    taken = take_steps(run, workers, strategy, range(1, 13), rate)
    assert taken[-1] < taken[0] - 0.5


@pytest.mark.parametrize("model", [BERT, LLAMA, QWEN2, QWEN3], ids=["bert", "llama", "qwen2", "qwen3"])
def test_a_loaded_checkpoint_goes_on_as_if_it_had_not_ended(
    tmp_path: Path, workers: Workers, model: dict[str, Any]
) -> None:
    run = make_prepared_run(tmp_path, model, optimizer={"name": "lamb" if model is BERT else "adamw"})
    strategy = start(run, workers)
    take_steps(run, workers, strategy, range(1, 4))
    (tmp_path / "saved").mkdir()
    strategy.snapshot()(tmp_path / "saved")
    resumed = start(run, workers)
    resumed.load(tmp_path / "saved")
    assert take_steps(run, workers, resumed, range(4, 7)) == take_steps(run, workers, strategy, range(4, 7))
    files = sorted(path.relative_to(tmp_path / "saved").as_posix() for path in (tmp_path / "saved").rglob("*.pt"))
    assert files == [f"{part}/dp_rank_00_tp_rank_00_pp_rank_00.pt" for part in ("model", "optim")]


def test_micro_batches_add_up_to_the_batch(tmp_path: Path, workers: Workers) -> None:
    """Llama has the same number of labels in each sample, so that the mean of means is the mean."""
    taken = {}
    for size in (2, 8):
        run = make_prepared_run(tmp_path, LLAMA, batch={"micro_size": size})
        taken[size] = take_steps(run, workers, start(run, workers), range(1, 5))
    assert taken[2] == pytest.approx(taken[8], abs=1e-5)


def test_recomputed_activations_change_nothing(tmp_path: Path, workers: Workers) -> None:
    taken = {}
    for what in ("none", "selective", "full"):
        run = make_prepared_run(tmp_path, BERT, parallelism={"activation_checkpointing": what})
        taken[what] = take_steps(run, workers, start(run, workers), range(1, 4))
    assert taken["selective"] == pytest.approx(taken["none"], abs=1e-6)
    assert taken["full"] == pytest.approx(taken["none"], abs=1e-6)


def test_bfloat16_keeps_weights_and_optimizer_in_float32(tmp_path: Path, workers: Workers) -> None:
    taken = {}
    for precision in ("float32", "bfloat16"):
        run = make_prepared_run(tmp_path, {**BERT, **STILL}, precision=precision)
        strategy = start(run, workers)
        taken[precision] = take_steps(run, workers, strategy, range(1, 5))
        (tmp_path / precision).mkdir()
        strategy.snapshot()(tmp_path / precision)
    assert taken["bfloat16"] == pytest.approx(taken["float32"], abs=0.05)
    assert taken["bfloat16"] != taken["float32"]
    for part in ("model", "optim"):
        saved = torch.load(next((tmp_path / "bfloat16" / part).iterdir()), weights_only=True)
        tensors = saved.values() if part == "model" else [v for s in saved["state"].values() for v in s.values()]
        assert {tensor.dtype for tensor in tensors} == {torch.float32}


@pytest.mark.parametrize("heads", [2, 4], ids=["grouped-query", "multi-head"])
@pytest.mark.parametrize("fused", [False, True])
def test_llama_names_in_checkpoints_are_those_of_neuronx_distributed(
    tmp_path: Path, workers: Workers, heads: int, fused: bool
) -> None:
    run = make_run(tmp_path, {**LLAMA, "num_key_value_heads": heads}, parallelism={"fuse_qkv": fused})
    state = start(run, workers)._model.state_dict()
    saved = to_checkpoint(state, run.recipe)
    names = {name.removeprefix("model.layers.0.") for name in saved if ".layers.1." not in name}
    attention = {f"self_attn.qkv_proj.weight_{letter}" for letter in "qkv"}
    if fused:
        attention = {"self_attn.qkv_proj.weight" if heads == 4 else "self_attn.qkv_proj.weight_qkv"}
    assert names == attention | {
        "model.embed_tokens.weight",
        "self_attn.o_proj.weight",
        "mlp.gate_up_proj.weight",
        "mlp.down_proj.weight",
        "input_layernorm.weight",
        "post_attention_layernorm.weight",
        "model.norm.weight",
        "lm_head.weight",
    }
    back = from_checkpoint(saved, run.recipe)
    assert back.keys() == state.keys()
    assert all(torch.equal(back[name], state[name]) for name in state)


@pytest.mark.parametrize(("kind", "model"), [(BertForPreTraining, BERT), (LlamaForCausalLM, LLAMA)])
def test_training_starts_from_initial_weights(tmp_path: Path, workers: Workers, kind: Any, model: Any) -> None:
    run = make_run(tmp_path, model)
    torch.manual_seed(99)
    pretrained = kind(transformers_configuration(run.recipe.model))
    pretrained.save_pretrained(tmp_path / "weights")
    state = start(run, workers, tmp_path / "weights")._model.state_dict()
    assert all(torch.equal(tensor, state[name]) for name, tensor in pretrained.state_dict().items())
    assert not torch.equal(next(iter(start(run, workers)._model.parameters())), next(iter(pretrained.parameters())))


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"hidden_size": 32}, r"(?s)does not fit the recipe's model:.*size mismatch for"),
        ({"num_hidden_layers": 3}, r"(?s)does not fit the recipe's model:\n.*layers\.2.* is missing\nand \d+ more"),
        ({"num_hidden_layers": 1}, r"(?s)does not fit the recipe's model:\n.*layers\.1.* is not in the recipe's model"),
    ],
)
def test_initial_weights_of_another_model_are_refused(
    tmp_path: Path, workers: Workers, change: dict[str, int], message: str
) -> None:
    LlamaForCausalLM(transformers_configuration(make_run(tmp_path, LLAMA).recipe.model)).save_pretrained(tmp_path)
    with pytest.raises(ValueError, match=message):
        start(make_run(tmp_path, {**LLAMA, **change}), workers, tmp_path)


def test_berts_shared_matrices_stay_shared(tmp_path: Path, workers: Workers) -> None:
    model = start(make_run(tmp_path, BERT), workers)._model
    assert isinstance(model, BertForPreTraining)
    head = model.cls.predictions
    assert head.decoder.weight is model.bert.embeddings.word_embeddings.weight
    assert head.decoder.bias is head.bias
