"""Every valid way to divide and name a checkpoint gives the original model back, bit by bit."""

from __future__ import annotations

import itertools
import json
from collections.abc import Iterator
from functools import cache
from pathlib import Path

import pytest
import torch
from transformers import LlamaConfig, LlamaForCausalLM

from slipway_conversion import nxd_split
from slipway_conversion.model_tensors import ModelShapes, model_shapes
from slipway_conversion.nxd_split import ToldSplit
from tests.training.conversion.sharder import Layout
from tests.training.conversion.tiny import QUERY_HEADS, checkpoint, convert, llama, loaded, logits


def _valid() -> Iterator[tuple[int, Layout]]:
    """Yield all combinations that NeuronX Distributed can train."""
    for tp, pp, multiplier, key_value, names, order, xser in itertools.product(
        (1, 2, 4, 8),
        (1, 2, 4),
        (1, 2, 4),
        (1, 2, 4, 8),
        ("grouped", "grouped_fused", "separate", "coalesced"),
        ("trn1", "trn2"),
        (False, True),
    ):
        places = key_value * multiplier
        if tp % multiplier or places % tp or QUERY_HEADS % places:
            continue
        if names in ("separate", "coalesced") and multiplier > 1:
            continue
        if names == "coalesced" and key_value != QUERY_HEADS:
            continue
        if order == "trn2" and multiplier == 1:  # the orders are the same
            continue
        yield key_value, Layout(tp, pp, multiplier, names, order, xser)


@cache
def _empty(key_value_heads: int, layers: int) -> LlamaForCausalLM:
    """Return a model whose weights are always replaced; making one again takes longer than the conversion."""
    return LlamaForCausalLM(llama(key_value_heads, layers=layers).config).eval()


MATRIX = list(_valid())


@pytest.fixture(autouse=True)
def _shapes_once(monkeypatch: pytest.MonkeyPatch) -> None:
    """Ask the library once for each model; it takes longer than the conversion of such a small one."""
    monkeypatch.setattr(nxd_split, "model_shapes", lambda config: _shapes(config.to_json_string()))


@cache
def _shapes(text: str) -> ModelShapes:
    return model_shapes(LlamaConfig.from_dict(json.loads(text)))


def test_the_matrix_is_whole() -> None:
    assert {layout.tp for _, layout in MATRIX} == {1, 2, 4, 8}
    assert {layout.pp for _, layout in MATRIX} == {1, 2, 4}
    assert {layout.multiplier for _, layout in MATRIX} == {1, 2, 4}
    assert len(MATRIX) == 420


@pytest.mark.parametrize(("key_value_heads", "layout"), MATRIX, ids=str)
def test_logits_are_those_of_the_original(key_value_heads: int, layout: Layout, tmp_path: Path) -> None:
    model = llama(key_value_heads, layers=max(2, layout.pp))
    source = checkpoint(tmp_path / "step", model, layout)
    told = ToldSplit(layout.tp, layout.pp, layout.multiplier, "trn2" if layout.order == "trn2" else "trn1")
    convert(source, tmp_path / "model", model, split=told)
    copy = _empty(key_value_heads, max(2, layout.pp))
    copy.load_state_dict(loaded(tmp_path / "model"), strict=True)
    assert torch.equal(logits(copy), logits(model))
