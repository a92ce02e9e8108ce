"""Checkpoints that the real neuronx_distributed saved give a model with the loss that its own model had."""

from __future__ import annotations

import json
import shutil
from pathlib import Path
from typing import Any

import pytest
import torch
from transformers import LlamaConfig, LlamaForCausalLM

from slipway_conversion.nxd_split import ToldSplit
from slipway_conversion.problems import ConversionError
from slipway_conversion.to_transformers import Conversion, to_transformers

GOLDEN = Path(__file__).parent.parent / "golden"
NAMES = ["tp2_mha_fused", "tp2_pp2_fused_xser", "tp4_kv2", "tp4_kv2_fused"]


def _convert(name: str, output: Path) -> dict[str, Any]:
    shutil.unpack_archive(GOLDEN / f"{name}.tar.xz", output.parent)
    checkpoint = output.parent / name
    described: dict[str, Any] = json.loads((checkpoint / "description.json").read_text(encoding="utf-8"))
    told = ToldSplit(
        described["tensor_parallel_size"],
        described["pipeline_parallel_size"],
        described["kv_size_multiplier"],
        described["platform"],
    )
    configuration = LlamaConfig(**described["config"], architectures=["LlamaForCausalLM"])
    to_transformers(Conversion(checkpoint, output, configuration, told), lambda _: None)
    return described


@pytest.mark.parametrize("name", NAMES)
@torch.no_grad()
def test_the_loss_is_the_one_of_neuronx_distributed(name: str, tmp_path: Path) -> None:
    described = _convert(name, tmp_path / "model")
    tokens = torch.tensor(described["input_ids"])
    loss = LlamaForCausalLM.from_pretrained(tmp_path / "model")(input_ids=tokens, labels=tokens).loss
    # Workers add parts up in another order than one process does.
    torch.testing.assert_close(loss, torch.tensor(described["loss"]), rtol=0, atol=2e-6)


def test_trn2_as_neuronx_distributed_starts_it_is_refused(tmp_path: Path) -> None:
    """Its qkv_linear.py repeats single rows there, not heads, so that copies of a head differ from the start."""
    with pytest.raises(ConversionError, match="must hold the same values"):
        _convert("tp4_kv2_fused_trn2", tmp_path / "model")
