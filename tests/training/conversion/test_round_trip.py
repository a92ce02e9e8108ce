"""To a checkpoint and back is the identity, and the checkpoint is the one that NeuronX Distributed's code makes."""

from __future__ import annotations

import itertools
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
import torch
from transformers import AutoModelForCausalLM, LlamaForCausalLM

from slipway_conversion.from_transformers import Sharding, from_transformers
from slipway_conversion.nxd_split import ToldSplit
from slipway_conversion.problems import ConversionError
from slipway_conversion.recipe_model import recipe_model
from slipway_conversion.shard_file import ShardFile
from slipway_training.checkpoints.layout import read_checkpoint_file
from tests.training.conversion.sharder import Layout, file_name, rank_state
from tests.training.conversion.tiny import convert, heads, llama, loaded, of_family, weights

CASES = [
    (4, 5, Layout(2, 2)),
    (2, 3, Layout(4, 2, 2, "grouped_fused")),
    (2, 2, Layout(8, 1, 4, "grouped_fused", "trn2", xser=True)),
    (1, 5, Layout(4, 4, 4, "grouped", "trn2", xser=True)),
    (8, 3, Layout(8, 3, 1, "coalesced")),
    (4, 2, Layout(1, 1)),
]

FAMILY: list[dict[str, Any]] = [
    {"architecture": "llama", "head_dim": 6},
    {"architecture": "mistral", "head_dim": 4, "sliding_window": 32},
    {"architecture": "qwen2"},
    {"architecture": "qwen2", "tie_word_embeddings": True},
    {"architecture": "qwen3", "head_dim": 4},
    {"architecture": "qwen3", "head_dim": 4, "num_key_value_heads": 8},
]


def _sharding(model: Path, output: Path, layout: Layout) -> Sharding:
    return Sharding(
        model=model,
        output=output,
        tensor_parallel_size=layout.tp,
        pipeline_parallel_size=layout.pp,
        kv_size_multiplier=layout.multiplier,
        attention_order="trn2" if layout.order == "trn2" else "trn1",
        fuse_qkv=layout.names in ("grouped_fused", "coalesced"),
        xser=layout.xser,
    )


@pytest.mark.parametrize(("key_value_heads", "layers", "layout"), CASES, ids=str)
def test_there_and_back(key_value_heads: int, layers: int, layout: Layout, tmp_path: Path) -> None:
    model = llama(key_value_heads, layers=layers)
    model.save_pretrained(tmp_path / "model", max_shard_size="4KB")
    lines: list[str] = []
    from_transformers(_sharding(tmp_path / "model", tmp_path / "initial", layout), lines.append)
    assert len(lines) == layout.tp * layout.pp
    for tp_rank, pp_rank in itertools.product(range(layout.tp), range(layout.pp)):
        shard = ShardFile(tmp_path / "initial" / "model" / file_name(layout, tp_rank, pp_rank))
        wanted = rank_state(weights(model), heads(model), layout, tp_rank, pp_rank)
        assert shard.names == set(wanted)
        assert all(torch.equal(shard.tensor(name), value) for name, value in wanted.items())
    described = read_checkpoint_file(tmp_path / "initial")
    assert (described.step, described.tensor_parallel_size, described.attention_order) == (0, layout.tp, layout.order)
    told = ToldSplit(layout.tp, layout.pp, layout.multiplier, described.attention_order)
    convert(tmp_path / "initial", tmp_path / "again", model, split=told)
    again = LlamaForCausalLM.from_pretrained(tmp_path / "again")
    assert all(torch.equal(value, weights(again)[name]) for name, value in weights(model).items())


@pytest.mark.parametrize(
    "layout", [Layout(), Layout(2, 3), Layout(4, 1, 2, "grouped_fused"), Layout(4, 1, 2, "grouped", "trn2")], ids=str
)
@pytest.mark.parametrize("fields", FAMILY, ids=str)
def test_the_family_goes_there_and_back(fields: dict[str, Any], layout: Layout, tmp_path: Path) -> None:
    if "num_key_value_heads" in fields:
        names = "coalesced" if layout.names == "grouped_fused" else layout.names
        layout = replace(layout, multiplier=1, names=names, order="trn1")
    model = of_family(**fields)
    model.save_pretrained(tmp_path / "model")
    from_transformers(_sharding(tmp_path / "model", tmp_path / "initial", layout), lambda _: None)
    for tp_rank, pp_rank in itertools.product(range(layout.tp), range(layout.pp)):
        shard = ShardFile(tmp_path / "initial" / "model" / file_name(layout, tp_rank, pp_rank))
        wanted = rank_state(weights(model), heads(model), layout, tp_rank, pp_rank)
        assert set(wanted) <= shard.names  # a tied embedding is in the last stage too
        assert all(torch.equal(shard.tensor(name), value) for name, value in wanted.items())
    told = ToldSplit(
        layout.tp, layout.pp, layout.multiplier, read_checkpoint_file(tmp_path / "initial").attention_order
    )
    convert(tmp_path / "initial", tmp_path / "again", model, split=told)
    again = AutoModelForCausalLM.from_pretrained(tmp_path / "again")
    assert type(again) is type(model)
    assert recipe_model(again.config, tmp_path) == recipe_model(model.config, tmp_path)
    assert all(torch.equal(value, weights(again)[name]) for name, value in weights(model).items())


@pytest.mark.parametrize("pp", [1, 2])
def test_tied_embeddings_are_saved_under_both_names_and_written_once(pp: int, tmp_path: Path) -> None:
    model = llama(4, tie_word_embeddings=True)
    model.save_pretrained(tmp_path / "model")
    from_transformers(_sharding(tmp_path / "model", tmp_path / "initial", Layout(2, pp)), lambda _: None)
    last = ShardFile(tmp_path / "initial" / "model" / file_name(Layout(2, pp), 1, pp - 1))
    assert torch.equal(last.tensor("lm_head.weight"), weights(model)["lm_head.weight"].chunk(2)[1])
    convert(tmp_path / "initial", tmp_path / "again", model)
    assert "lm_head.weight" not in loaded(tmp_path / "again")
    again = LlamaForCausalLM.from_pretrained(tmp_path / "again")
    assert torch.equal(again.lm_head.weight, model.lm_head.weight)


def test_types_stay_and_precision_is_converted(tmp_path: Path) -> None:
    model = LlamaForCausalLM(llama(4).config).to(torch.bfloat16)
    model.save_pretrained(tmp_path / "model")
    from_transformers(_sharding(tmp_path / "model", tmp_path / "initial", Layout(2)), lambda _: None)
    convert(tmp_path / "initial", tmp_path / "same", model)
    convert(tmp_path / "initial", tmp_path / "wide", model, precision="float32")
    for name, value in loaded(tmp_path / "same").items():
        assert value.dtype == torch.bfloat16
        assert torch.equal(value, weights(model)[name])
        assert torch.equal(loaded(tmp_path / "wide")[name], value.float())


@pytest.mark.parametrize(
    ("layout", "reason"),
    [
        (Layout(3), "8 query heads do not divide"),
        (Layout(8), "4 key and value heads times kv_size_multiplier 1 is 4, which 8"),
        (Layout(2, 5), "2 layers do not divide over 5 pipeline stages"),
        (Layout(2, 1, 4), "kv_size_multiplier 4 does not divide 2"),
    ],
    ids=str,
)
def test_a_split_that_does_not_divide_is_refused(layout: Layout, reason: str, tmp_path: Path) -> None:
    llama(4).save_pretrained(tmp_path / "model")
    with pytest.raises(ConversionError, match=reason):
        from_transformers(_sharding(tmp_path / "model", tmp_path / "initial", layout), lambda _: None)
    assert not (tmp_path / "initial").exists()
