"""Our Llama over gloo goes on from what NeuronX Distributed's own example saved, with the loss that it had."""

import json
import shutil
from functools import partial
from pathlib import Path

import pytest
import torch

from slipway_jobs.run import TrainingRun
from slipway_training.device import Workers
from tests.training.gloo_workers import on_workers
from tests.training.tensor_parallel_training import make_split_run, make_strategy

GOLDEN = Path(__file__).parent / "golden"


def _loss(run: TrainingRun, weights: Path, tokens: list[list[int]], workers: Workers) -> float:
    ids = torch.tensor(tokens)
    return float(make_strategy(run, workers, weights).train_step([{"input_ids": ids, "labels": ids}], 0.0))


@pytest.mark.parametrize("name", ["tp2_mha_fused", "tp4_kv2", "tp4_kv2_fused"])
def test_the_loss_of_neuronx_distributed(tmp_path: Path, name: str) -> None:
    shutil.unpack_archive(GOLDEN / f"{name}.tar.xz", tmp_path)
    (file,) = tmp_path.rglob("description.json")
    golden = json.loads(file.read_text())
    split = {key: golden[key] for key in ("tensor_parallel_size", "kv_size_multiplier", "fuse_qkv")}
    run = make_split_run(
        tmp_path,
        split["tensor_parallel_size"],
        model={**golden["config"], "architecture": "llama"},
        parallelism=split,
        batch={"global_size": 2, "micro_size": 2},
    )
    losses = on_workers(run.world_size, partial(_loss, run, file.parent, golden["input_ids"]))
    assert losses == pytest.approx([golden["loss"]] * run.world_size, abs=1e-6)
