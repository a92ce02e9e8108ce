"""Host memory of a node: training processes, checkpoints on their way to /fsx, compilers."""

from __future__ import annotations

from slipway_jobs.arithmetic.assumptions import Range, assumptions
from slipway_jobs.arithmetic.device_memory import GIB, RESERVE, Memory, device_memory, exactly, state_bytes
from slipway_jobs.arithmetic.model_size import model_size
from slipway_jobs.arithmetic.placement import Placement
from slipway_jobs.arithmetic.split import data_parallel_size, model_parallel_size
from slipway_jobs.recipe.model import Recipe


def training_host_memory(placement: Placement) -> Memory:
    """Estimate what the train job needs on a node. On processors, the model lives there too."""
    workers = placement.workers_per_node
    parts = {"processes": assumptions().process_gib * (workers * GIB)}
    if placement.on_neuron:
        parts["weights at the start or a checkpoint on its way"] = _staging(placement) * workers
    else:
        parts["model"] = device_memory(placement).total_without(RESERVE) * workers
        # Of data parallelism worker 0 alone saves.
        copies = 1 if placement.recipe.parallelism.strategy == "data_parallel" else workers
        parts["a checkpoint on its way"] = exactly(checkpoint_bytes_of_a_worker(placement) * copies)
    return Memory(parts, placement.instance.memory_bytes)


def compile_host_memory(placement: Placement) -> Memory | None:
    """Estimate what the compile job needs on a node; none where nothing is compiled ahead."""
    if not (placement.on_neuron and placement.recipe.compile.ahead_of_time):
        return None
    table = assumptions()
    parts = {
        "processes": table.process_gib * (placement.workers_per_node * GIB),
        f"1 to {table.compiler_processes} x neuronx-cc": Range(
            low=table.compiler_process_gib.low * GIB,
            high=table.compiler_process_gib.high * table.compiler_processes * GIB,
        ),
    }
    return Memory(parts, placement.instance.memory_bytes)


def checkpoint_bytes(placement: Placement) -> int:
    """Return the size of a checkpoint on /fsx: weights once, optimizer states once over all shards."""
    recipe = placement.recipe
    parameters = model_size(recipe.model, recipe.parallelism.kv_size_multiplier).total
    return parameters * sum(state_bytes(recipe))


def checkpoint_bytes_of_a_worker(placement: Placement) -> float:
    """Return the largest share of a checkpoint that one worker copies to host memory and writes."""
    recipe = placement.recipe
    weights, states = state_bytes(recipe)
    replicas = max(1, data_parallel_size(placement))
    match recipe.parallelism.strategy:
        case "data_parallel":
            return _held(recipe) * (weights + states)
        case "tensor_parallel":
            return _held(recipe) * (weights + states / replicas)
        case "fully_sharded":
            return _held(recipe) * (weights + states) / replicas


def _held(recipe: Recipe) -> float:
    """Parameters of a worker's part of the model."""
    return model_size(recipe.model, recipe.parallelism.kv_size_multiplier).total / model_parallel_size(recipe)


def _staging(placement: Placement) -> Range:
    """Bytes of a worker: float32 weights when they are made, or its share of a checkpoint while it is written."""
    share = checkpoint_bytes_of_a_worker(placement)
    if placement.recipe.parallelism.strategy == "fully_sharded":
        return exactly(share)
    made = _held(placement.recipe) * 4
    return Range(low=min(made, share), high=max(made, share))
