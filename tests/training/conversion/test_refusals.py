"""What is not whole, or not what it is said to be, is refused with a message that tells the file and what to do."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import torch

from slipway_conversion.nxd_split import ToldSplit
from slipway_conversion.problems import ConversionError
from tests.training.conversion.sharder import Layout, save
from tests.training.conversion.tiny import checkpoint, configuration, convert, llama

LAYOUT = Layout(4, 2, 2)
KEY_VALUE_HEADS = 2


@pytest.fixture
def step(tmp_path: Path) -> Path:
    return checkpoint(tmp_path / "step", llama(KEY_VALUE_HEADS), LAYOUT)


def refused(step: Path, **fields: Any) -> str:
    """Convert, expect a refusal that leaves nothing behind, and return its message."""
    with pytest.raises(ConversionError) as caught:
        convert(step, step.parent / "model", llama(KEY_VALUE_HEADS), **fields)
    assert [path.name for path in step.parent.iterdir()] == [step.name]
    return str(caught.value)


def _shard(step: Path, tp_rank: int = 1, pp_rank: int = 0) -> Path:
    return step / "model" / f"dp_rank_00_tp_rank_{tp_rank:02d}_pp_rank_{pp_rank:02d}.pt"


def _edit(file: Path, change: Callable[[dict[str, Any]], object]) -> None:
    state = torch.load(file, weights_only=True)
    change(state)
    torch.save(state, file)


def test_not_saved_to_the_end(step: Path) -> None:
    (step / "done").unlink()
    assert "has no file done: it was not saved to the end" in refused(step)


def test_no_checkpoint_at_all(step: Path) -> None:
    for file in (step / "model").iterdir():
        file.unlink()
    assert "holds no file like dp_rank_00_tp_rank_00_pp_rank_00.pt" in refused(step)
    (step / "model").rmdir()
    assert "it has no folder model/" in refused(step)


def test_missing_workers(step: Path) -> None:
    _shard(step, 2, 1).unlink()
    message = refused(step)
    assert "1 of 8 files are missing" in message
    assert "dp_rank_00_tp_rank_02_pp_rank_01.pt" in message


def test_missing_last_workers_are_seen_when_the_split_is_known(step: Path) -> None:
    for rank in range(4):
        _shard(step, rank, 1).unlink()
    assert "4 of 8 files are missing" in refused(step, split=ToldSplit(4, 2))
    assert "are in no file: model.layers.1" in refused(step)


def test_files_of_another_split(step: Path) -> None:
    assert "more files than 2 tensor-parallel workers" in refused(step, split=ToldSplit(2, 2))


def test_two_files_of_one_worker(step: Path) -> None:
    torch.save({}, step / "model" / "dp_rank_00_ep_rank_00_tp_rank_01_pp_rank_00.pt")
    assert "are of the same worker" in refused(step)


def test_experts(step: Path) -> None:
    torch.save({}, step / "model" / "dp_rank_00_ep_rank_01_tp_rank_01_pp_rank_00.pt")
    assert "experts" in refused(step)


def test_a_file_that_is_cut_off(step: Path) -> None:
    content = _shard(step).read_bytes()
    _shard(step).write_bytes(content[: len(content) // 2])
    message = refused(step)
    assert f"{_shard(step)} cannot be read" in message
    assert "Copy it again" in message


def test_all_unreadable_files_are_told_at_once(step: Path) -> None:
    for rank in range(3):
        _shard(step, rank).write_bytes(b"")
    assert refused(step).count("cannot be read") == 3


def test_a_missing_tensor(step: Path) -> None:
    _edit(_shard(step), lambda state: state.pop("model.layers.0.mlp.down_proj.weight"))
    assert "do not hold the same tensors: model.layers.0.mlp.down_proj.weight" in refused(step)
    for rank in (0, 2, 3):
        _edit(_shard(step, rank), lambda state: state.pop("model.layers.0.mlp.down_proj.weight"))
    assert "1 tensors of the model are in no file: model.layers.0.mlp.down_proj.weight" in refused(step)


def test_an_unknown_tensor_is_never_dropped(step: Path) -> None:
    for rank in range(4):
        _edit(_shard(step, rank), lambda state: state.update({"model.extra.weight": torch.zeros(3)}))
    assert "1 tensors are not part of the model: model.extra.weight" in refused(step)


def test_a_derived_buffer_is_left_out(step: Path) -> None:
    for rank in range(4):
        _edit(_shard(step, rank), lambda s: s.update({"model.layers.0.self_attn.rotary_emb.inv_freq": torch.ones(1)}))
    convert(step, step.parent / "model", llama(KEY_VALUE_HEADS))


def test_a_wrong_shape(step: Path) -> None:
    name = "model.layers.0.mlp.gate_up_proj.weight"
    _edit(_shard(step), lambda state: state.update({name: state[name][:-1].clone()}))
    assert f"{name} is ((12, 16), torch.float32)" in refused(step)
    for rank in (0, 2, 3):
        _edit(_shard(step, rank), lambda state: state.update({name: state[name][:-1].clone()}))
    assert f"{name} is (11, 16) on each worker, but the configuration makes it (12, 16)" in refused(step)


def test_another_configuration(step: Path) -> None:
    other = type(llama(KEY_VALUE_HEADS))(configuration(KEY_VALUE_HEADS, num_hidden_layers=3))
    with pytest.raises(ConversionError, match=r"9 tensors of the model are in no file|tensors of the model are in no"):
        convert(step, step.parent / "model", other)


@pytest.mark.parametrize(
    "name", ["model.layers.0.self_attn.qkv_proj.weight_k", "model.layers.0.input_layernorm.weight"]
)
def test_copies_that_differ(step: Path, name: str) -> None:
    _edit(_shard(step, 3), lambda state: state[name].add_(1))
    message = refused(step)
    assert name in message
    assert "must hold the same values" in message


def test_copies_that_drifted_apart_a_little_are_taken_with_a_warning(step: Path) -> None:
    name = "model.layers.0.self_attn.qkv_proj.weight_k"
    _edit(_shard(step, 3), lambda state: state[name].mul_(1.01))

    told = convert(step, step.parent / "model", llama(KEY_VALUE_HEADS))

    [warning] = [line for line in told if line.startswith("warning: ")]
    assert "in 1 tensors the copies of several workers differ by up to 1.00%" in warning
    assert "model.layers.0.self_attn.k_proj.weight" in warning


def test_the_wrong_order_of_heads_shows_in_the_copies(step: Path) -> None:
    assert "attention_order is not the one" in refused(step, split=ToldSplit(attention_order="trn2"))


def test_a_multiplier_that_does_not_fit(step: Path) -> None:
    message = refused(step, split=ToldSplit(kv_size_multiplier=4))
    assert "key and value heads are there 2 times, but kv_size_multiplier is 4" in message


def test_tied_embeddings_that_differ(step: Path) -> None:
    tied = type(llama(KEY_VALUE_HEADS))(configuration(KEY_VALUE_HEADS, tie_word_embeddings=True))
    with pytest.raises(ConversionError, match=r"lm_head.weight is not equal to model.embed_tokens.weight"):
        convert(step, step.parent / "model", tied)


def test_a_training_that_diverged(step: Path) -> None:
    _edit(_shard(step), lambda state: state["model.layers.0.mlp.down_proj.weight"].fill_(float("nan")))
    assert "model.layers.0.mlp.down_proj.weight holds values that are not finite" in refused(step)


@pytest.mark.parametrize("value", [torch.zeros(3, dtype=torch.int64), "text", torch.zeros(3).to_sparse()], ids=str)
def test_what_is_no_weight(step: Path, value: object) -> None:
    _edit(_shard(step), lambda state: state.update({"model.norm.weight": value}))
    assert "model.norm.weight" in refused(step)


def test_xser_files_of_another_checkpoint(tmp_path: Path) -> None:
    layout = Layout(2, xser=True)
    step = checkpoint(tmp_path / "step", llama(KEY_VALUE_HEADS), layout)
    folder = step / "model" / "dp_rank_00_tp_rank_01_pp_rank_00.pt.tensors"
    torch.save(torch.zeros(2, 2), folder / "tensor_3.pt")
    assert "but dp_rank_00_tp_rank_01_pp_rank_00.pt.info.pt says" in refused(step)
    (folder / "tensor_3.pt").unlink()
    assert "avoid_saving_lower_precision_weights" in refused(step)


def test_a_folder_that_holds_something_else_stays(step: Path) -> None:
    output = step.parent / "model"
    output.mkdir()
    (output / "thesis.txt").write_text("years of work")
    with pytest.raises(ConversionError, match="exists and is not this checkpoint's model"):
        convert(step, output, llama(KEY_VALUE_HEADS))
    assert (output / "thesis.txt").read_text() == "years of work"


def test_a_nested_state_dict_is_read(tmp_path: Path) -> None:
    step = checkpoint(tmp_path / "step", llama(KEY_VALUE_HEADS), Layout(2, ep_names=True))
    for file in (step / "model").iterdir():
        save(file, {"model": torch.load(file, weights_only=True)}, Layout())
    convert(step, tmp_path / "model", llama(KEY_VALUE_HEADS))
