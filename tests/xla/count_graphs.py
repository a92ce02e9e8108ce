"""Compiles, trains, stops and resumes a run on PyTorch/XLA's CPU device, and prints what it saw as a line of JSON.

Runs as a process of its own, because the graphs that PyTorch/XLA has compiled belong to a process.
"""

from __future__ import annotations

import importlib.util
import json
import sys
from pathlib import Path
from typing import Any

import torch_xla.debug.metrics as xla_metrics

import slipway_training.loop
from slipway_jobs.run import TrainingRun
from slipway_training.device import join
from slipway_training.stopping import StopRequest
from slipway_training.strategy import Strategy

if importlib.util.find_spec("neuronx_distributed"):
    # Its own way to know the workers of a node asks the Neuron runtime.
    import neuronx_distributed.parallel_layers.utils as layer_utils
    from neuronx_distributed.utils import model_utils

    layer_utils.get_local_world_size = model_utils.get_local_world_size = lambda: 1


loop: Any = slipway_training.loop


def compiled() -> int:
    """Return how many graphs this process has compiled."""
    return int(xla_metrics.counter_value("UncachedCompile") or 0)


def main(file: Path, stop_after: int) -> dict[str, Any]:
    """Run the compile job's steps, and training that stops once and goes on."""
    run = TrainingRun.model_validate_json(file.read_text(encoding="utf-8"))
    workers = join(run.recipe.hardware)
    kept: list[Strategy] = []
    build = loop.build

    def build_and_keep(*arguments: Any) -> Strategy:
        kept.append(build(*arguments))
        return kept[-1]

    loop.build = build_and_keep
    counts = {}
    before = compiled()
    loop.take_compile_steps(run, workers)
    counts["compile"] = compiled() - before
    request = StopRequest()
    take_one = loop._Steps._take_one

    def take_one_and_stop(steps: Any) -> Any:
        taken = take_one(steps)
        request.received = "USR1" if steps._step == stop_after else None
        return taken

    loop._Steps._take_one = take_one_and_stop
    for name in ("train", "resume"):
        before = compiled()
        loop.train(run, workers, request)
        counts[name] = compiled() - before
        request.received = None
    strategy: Any = kept[-1]
    model = strategy._model if hasattr(strategy, "_model") else strategy.model.original_module()
    named = {name: weight.detach().cpu() for name, weight in model.named_parameters(remove_duplicate=False)}
    return {
        "graphs": counts,
        "not_finite": sorted(name for name, weight in named.items() if not weight.isfinite().all()),
        "weights": sorted({name for name, _ in model.named_parameters()}),
    }


if __name__ == "__main__":
    print("\n" + json.dumps(main(Path(sys.argv[1]), int(sys.argv[2]))))
