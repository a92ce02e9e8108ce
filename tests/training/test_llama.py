"""Our Llama and its family compute what transformers' own models do, forwards and backwards."""

from functools import partial
from pathlib import Path
from typing import Any

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from torch import Tensor

from slipway_jobs.recipe.attention_order import attention_order
from slipway_jobs.recipe.model import Hardware
from slipway_jobs.run import TrainingRun
from slipway_training.device import Workers
from slipway_training.models.llama_initialization import Fill, HeadOrder
from slipway_training.models.pipeline_stages import stage_layers
from slipway_training.models.transformers_configuration import model_class, transformers_configuration
from tests.training.gloo_workers import on_workers
from tests.training.tensor_parallel_training import make_split_run, make_strategy

LONG = {
    "rope_theta": 500.0,
    "rope_scaling": {
        "rope_type": "llama3",
        "factor": 8.0,
        "low_freq_factor": 1.0,
        "high_freq_factor": 4.0,
        "original_max_position_embeddings": 16,
    },
}
MODELS: dict[str, dict[str, Any]] = {
    "grouped queries": {"rms_norm_eps": 1e-3},
    "as many keys as queries": {"num_key_value_heads": 8},
    "stretched positions": LONG,
    "tied embeddings": {"tie_word_embeddings": True},
    "wide heads": {"head_dim": 6},
    "Mistral": {"architecture": "mistral", "head_dim": 8, "sliding_window": 32},
    "Qwen2": {"architecture": "qwen2"},
    "Qwen2, not fused": {"architecture": "qwen2"},
    "Qwen3": {"architecture": "qwen3", "head_dim": 8, "rms_norm_eps": 1e-6},
    "Qwen3, tied": {"architecture": "qwen3", "num_key_value_heads": 8, "tie_word_embeddings": True},
}


def in_transformers_names(weights: dict[str, Tensor], heads: tuple[int, int]) -> dict[str, Tensor]:
    """Take fused matrices of a model that is not split apart; `heads` are those of queries and of keys."""
    renamed: dict[str, Tensor] = {}
    for name, tensor in weights.items():
        if "gate_up_proj" in name:
            gate, up = tensor.chunk(2)
            renamed |= {name.replace("gate_up", "gate"): gate, name.replace("gate_up", "up"): up}
        elif "weight_" in name and "qkv" not in name.rpartition(".")[2]:
            renamed[name.replace(f"qkv_proj.weight_{name[-1]}", f"{name[-1]}_proj.weight")] = tensor
        elif "qkv_" in name:
            prefix, kind = name.partition("qkv_")[0], "bias" if name.endswith("bias") else "weight"
            size = tensor.shape[0] // (heads[0] + 2 * heads[1])
            parts = torch.split(tensor, [size * count for count in (heads[0], heads[1], heads[1])])
            renamed |= {f"{prefix}{letter}_proj.{kind}": part for letter, part in zip("qkv", parts, strict=True)}
        else:
            renamed[name] = tensor
    return renamed


def _compare(run: TrainingRun, workers: Workers) -> dict[str, float]:
    """Return the largest differences of logits, loss and gradients."""
    torch.manual_seed(5)
    ours = make_strategy(run, workers).model
    for parameter in ours.parameters():
        torch.nn.init.normal_(parameter, 0.5 if parameter.ndim == 1 else 0.0, 0.3)
    theirs = model_class(run.recipe.model.architecture)(transformers_configuration(run.recipe.model))
    heads = (theirs.config.num_attention_heads, theirs.config.num_key_value_heads)
    theirs.load_state_dict(in_transformers_names(ours.state_dict(), heads))
    tokens = torch.randint(0, 64, (3, 32))
    labels = tokens.clone()
    labels[0, :20] = -100
    loss = ours(tokens, labels)
    expected = theirs(input_ids=tokens, labels=labels)
    loss.backward()
    expected.loss.backward()
    named = ours.named_parameters(remove_duplicate=False)
    gradients = in_transformers_names(
        {name: parameter.grad for name, parameter in named if parameter.grad is not None}, heads
    )
    wanted = {name: parameter.grad for name, parameter in theirs.named_parameters(remove_duplicate=False)}
    assert gradients.keys() == wanted.keys()
    return {
        "logits": float((ours(tokens).transpose(0, 1) - expected.logits).abs().max()),
        "loss": abs(float(loss) - float(expected.loss)),
        "gradients": max(
            float((gradients[name] - wanted[name]).abs().max() / wanted[name].abs().max()) for name in wanted
        ),
    }


@pytest.mark.parametrize("name", MODELS)
def test_same_as_transformers(tmp_path: Path, name: str) -> None:
    parallelism = {"fuse_qkv": "not fused" not in name}
    run = make_split_run(tmp_path, 1, model=MODELS[name], parallelism=parallelism)
    (differences,) = on_workers(1, partial(_compare, run))
    assert differences["logits"] < 5e-5
    assert differences["loss"] < 5e-6
    assert differences["gradients"] < 5e-5


@given(layers=st.integers(1, 100), stages=st.integers(1, 100))
def test_stages_hold_all_layers_in_order_and_the_last_ones_more(layers: int, stages: int) -> None:
    if layers < stages:
        with pytest.raises(ValueError, match=f"{layers} layers cannot be divided into {stages} pipeline stages"):
            stage_layers(layers, stages)
        return
    parts = stage_layers(layers, stages)
    assert [layer for part in parts for layer in part] == list(range(layers))
    lengths = [len(part) for part in parts]
    assert lengths == sorted(lengths)
    assert lengths[-1] - lengths[0] <= 1


@pytest.mark.parametrize(("order", "keys"), [("trn1", [0, 1, 0, 1]), ("trn2", [0, 0, 1, 1])])
def test_query_heads_lie_beside_their_key_head(order: Any, keys: list[int]) -> None:
    heads = HeadOrder(order, key_value_heads=2, multiplier=2)
    key = torch.arange(2).repeat_interleave(3)[:, None]  # two heads of three rows
    assert heads.repeat(key).flatten()[::3].tolist() == keys
    key_of_query = torch.arange(2).repeat_interleave(4 * 3)[:, None]  # eight query heads, four for each key head
    arranged = heads.arrange_queries(key_of_query).flatten()[::3].tolist()
    assert arranged == [key for key in keys for _ in range(2)]
    assert heads.arrange_output(key_of_query.t()).t().flatten()[::3].tolist() == arranged


def test_random_weights_depend_on_seed_and_name_only() -> None:
    first = Fill("model.layers.0.mlp.down_proj", 1, 0.02)(torch.empty(50, 40))
    assert torch.equal(first, Fill("model.layers.0.mlp.down_proj", 1, 0.02)(torch.empty(50, 40)))
    assert not torch.equal(first, Fill("model.layers.0.mlp.down_proj", 2, 0.02)(torch.empty(50, 40)))
    assert not torch.equal(first, Fill("model.layers.1.mlp.down_proj", 1, 0.02)(torch.empty(50, 40)))
    assert float(first.std()) == pytest.approx(0.02, rel=0.05)


@pytest.mark.parametrize(
    ("instance_type", "order"), [("trn1.2xlarge", "trn1"), ("trn1n.32xlarge", "trn1"), ("trn2.48xlarge", "trn2")]
)
def test_heads_follow_the_chip(instance_type: str | None, order: str) -> None:
    hardware = Hardware(device="neuron", framework="xla", instance_type=instance_type, nodes=1)
    assert attention_order(hardware) == order


def test_a_chip_without_an_order_is_refused_and_processors_take_that_of_trn1() -> None:
    hardware = Hardware(device="neuron", framework="xla", instance_type="trn3.48xlarge", nodes=1)
    with pytest.raises(ValueError, match=r"no order of attention heads for trn3\.48xlarge"):
        attention_order(hardware)
    assert attention_order(hardware.model_copy(update={"device": "cpu", "instance_type": "c7i.8xlarge"})) == "trn1"
