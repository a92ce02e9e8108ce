"""What workers do in the tests of tensor parallelism."""

from functools import partial
from pathlib import Path
from typing import Any

import torch
from torch import Tensor

from slipway_jobs.run import TrainingRun
from slipway_training.device import Workers
from slipway_training.strategies.tensor_parallel import build
from slipway_training.strategies.tensor_parallel.gloo import GlooTensorParallel
from tests.training.gloo_workers import on_workers
from tests.training.tiny_runs import make_run

VOCABULARY = 64
MODEL: dict[str, Any] = {
    "architecture": "llama",
    "vocab_size": VOCABULARY,
    "hidden_size": 32,
    "intermediate_size": 48,
    "num_hidden_layers": 3,
    "num_attention_heads": 8,
    "num_key_value_heads": 2,
    "max_position_embeddings": 32,
}
RATE = 0.02


def make_split_run(folder: Path, workers: int, *, model: dict[str, Any] | None = None, **sections: Any) -> TrainingRun:
    """Make a run of a split; gradients are clipped to much less than they are, so that their norm matters."""
    parallelism = {"strategy": "tensor_parallel", **sections.pop("parallelism", {})}
    hardware = {"workers_per_node": workers, **sections.pop("hardware", {})}
    optimizer = {"gradient_clipping": 0.05, **sections.pop("optimizer", {})}
    return make_run(
        folder,
        {**MODEL, **(model or {})},
        hardware=hardware,
        parallelism=parallelism,
        optimizer=optimizer,
        **sections,
    )


def micro_batches(run: TrainingRun, strategy: GlooTensorParallel, step: int) -> list[dict[str, Tensor]]:
    """Take a worker's samples of a step, of which all together are the same for every split."""
    generator = torch.Generator().manual_seed(1000 + step % 2)
    shape = (run.recipe.batch.global_size, run.recipe.data.sequence_length)
    samples = torch.randint(0, VOCABULARY, shape, generator=generator)
    mine = samples.chunk(strategy.data_parallel_size)[strategy.data_parallel_rank]
    return [{"input_ids": part, "labels": part} for part in torch.split(mine, run.recipe.batch.micro_size)]


def make_strategy(run: TrainingRun, workers: Workers, weights: Path | None = None) -> GlooTensorParallel:
    """Make the strategy as the trainer does."""
    strategy = build(run, workers, weights)
    assert isinstance(strategy, GlooTensorParallel)
    return strategy


def _train(  # noqa: PLR0917  only called by `train`
    run: TrainingRun, steps: range, saved: Path | None, resumed: Path | None, weights: Path | None, workers: Workers
) -> list[float]:
    strategy = make_strategy(run, workers, weights)
    if resumed:
        strategy.load(resumed)
    losses = [float(strategy.train_step(micro_batches(run, strategy, step), RATE)) for step in steps]
    if saved:
        write = strategy.snapshot()
        strategy.train_step(micro_batches(run, strategy, steps.stop), RATE)  # which the copy must not see
        write(saved)
    return losses


def train(
    run: TrainingRun,
    steps: range,
    *,
    saved: Path | None = None,
    resumed: Path | None = None,
    weights: Path | None = None,
) -> list[float]:
    """Take steps with all workers of a run and return the losses, which all workers see."""
    results = on_workers(run.world_size, partial(_train, run, steps, saved, resumed, weights))
    assert all(losses == results[0] for losses in results)
    return list(results[0])
