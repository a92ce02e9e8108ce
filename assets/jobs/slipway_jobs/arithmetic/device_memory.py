"""Device memory of the fullest worker, line by line. Estimates: only the weights and their states are exact.

Sources of the terms: Korthikanti et al. 2022 (activations, sequence parallelism, selective checkpointing), Rajbhandari
et al. 2020 (ZeRO), NeuronX Distributed's mixed precision (bfloat16 weights; gradients summed in float32; float32 master
weights and Adam's two moments sharded over the replicas).
"""

from __future__ import annotations

from dataclasses import dataclass

from slipway_jobs.arithmetic.activations import activations, logits, scores
from slipway_jobs.arithmetic.assumptions import Range, assumptions
from slipway_jobs.arithmetic.model_size import ModelSize, model_size
from slipway_jobs.arithmetic.placement import Placement
from slipway_jobs.arithmetic.split import accumulation, data_parallel_size
from slipway_jobs.recipe.model import Recipe

GIB = 1024**3
"""Bytes of a GiB."""

RESERVE = "runtime and compiler"
"""The part that is not the model's."""


@dataclass(frozen=True)
class Memory:
    """Memory of a worker or a node by its parts, in bytes."""

    parts: dict[str, Range]
    """Name -> bytes."""

    limit: float
    """What there is."""

    @property
    def total(self) -> Range:
        """All parts together."""
        return self.total_without("")

    def total_without(self, name: str) -> Range:
        """All parts but one."""
        return sum((part for other, part in self.parts.items() if other != name), Range(low=0, high=0))

    def breakdown(self) -> str:
        """Write the parts on one line, in GiB."""
        return " + ".join(f"{name} {gib(part)}" for name, part in self.parts.items())


def gib(size: Range) -> str:
    """Write bytes as `3.2` or `3.2-4.0` GiB."""
    low, high = f"{size.low / GIB:.1f}", f"{size.high / GIB:.1f}"
    return low if low == high else f"{low}-{high}"


def exactly(size: float) -> Range:
    """A size without doubt."""
    return Range(low=size, high=size)


def device_memory(placement: Placement) -> Memory:
    """Estimate the device memory of the worker that needs most."""
    recipe = placement.recipe
    stages = recipe.parallelism.pipeline_parallel_size
    size = model_size(recipe.model, recipe.parallelism.kv_size_multiplier)
    # The first stage holds most micro-batches, the last one the logits.
    in_flight = min(stages, accumulation(placement))
    first = _worker(placement, stage_parameters(size, stages, first=True), in_flight, last=stages == 1)
    last = _worker(placement, stage_parameters(size, stages, first=False), 1, last=True)
    cores = max(1, placement.instance.logical_neuron_cores)
    limit = placement.instance.neuron_memory_gib * GIB / cores
    return Memory(max(first, last, key=lambda parts: sum(part.high for part in parts.values())), limit)


def state_bytes(recipe: Recipe) -> tuple[int, int]:
    """Bytes for a parameter in a checkpoint: of the weights, and of optimizer and master weights."""
    if recipe.parallelism.strategy == "tensor_parallel":
        return (2 if recipe.precision == "bfloat16" else 4), 12
    return 4, 8


def stage_parameters(size: ModelSize, stages: int, *, first: bool) -> int:
    """Count the parameters of the first or of the last of a pipeline's stages; of one stage, all."""
    layers = -(-size.layers // stages) * size.layer
    if stages == 1:
        return size.total
    return layers + (size.embedding if first else size.head)


def _worker(placement: Placement, parameters: int, in_flight: int, *, last: bool) -> dict[str, Range]:
    recipe = placement.recipe
    parts = _states(placement, parameters)
    parts["activations"] = activations(recipe) * (in_flight / recipe.parallelism.pipeline_parallel_size)
    parts["attention scores"] = scores(recipe)
    if last:
        parts["logits"] = logits(recipe)
    parts[RESERVE] = assumptions().device_reserve_gib * GIB
    return parts


def _states(placement: Placement, parameters: int) -> dict[str, Range]:
    """Weights, gradients and optimizer states."""
    recipe, dp = placement.recipe, max(1, data_parallel_size(placement))
    tp = recipe.parallelism.tensor_parallel_size
    held = parameters / tp
    half = recipe.precision == "bfloat16"
    if recipe.parallelism.strategy == "tensor_parallel":
        return {
            "weights": exactly(held * (2 if half else 4)),
            "gradients": Range(low=held * 4, high=held * (6 if half else 8)),
            "optimizer (ZeRO-1)": exactly(held * 12 / dp),
        }
    if recipe.parallelism.strategy == "fully_sharded":
        size = model_size(recipe.model)
        gathered = (2 * size.layer + size.embedding + size.head) / tp
        return {
            "weights": exactly(held * 4 / dp),
            "gathered weights and gradients": exactly(gathered * (4 if half else 8)),
            "gradients": exactly(held * 4 / dp),
            "optimizer": exactly(held * 8 / dp),
        }
    return {
        "weights": Range(low=held * 4, high=held * (6 if half else 4)),
        "gradients": Range(low=held * 4, high=held * (8 if dp > 1 else 4)),
        "optimizer": exactly(held * 8),
    }
