"""Refuses what fits no memory, and says which single change would fit."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

from slipway_jobs.arithmetic.device_memory import GIB, Memory, device_memory, gib
from slipway_jobs.arithmetic.host_memory import compile_host_memory, training_host_memory
from slipway_jobs.arithmetic.placement import Placement
from slipway_jobs.arithmetic.split import batch, key_value_heads, replicas, sequence, tensors
from slipway_jobs.arithmetic.training import strategy_options
from slipway_jobs.recipe.model import Recipe
from slipway_jobs.recipe.problems import Finding, Key, dotted, listed

_TP = ("parallelism", "tensor_parallel_size")


def device(placement: Placement) -> Iterator[Finding]:
    """The fullest worker's low estimate fits its share of the device memory."""
    if placement.on_neuron and _splits(placement):
        memory = device_memory(placement)
        if memory.total.low > memory.limit:
            yield Finding(_device_key(placement), _too_much(memory, "a worker", "of device memory"), _fix(placement))


def tight_device(placement: Placement) -> Iterator[Finding]:
    """Notice: the high estimate does not fit."""
    if placement.on_neuron and _splits(placement):
        memory = device_memory(placement)
        if memory.total.low <= memory.limit < memory.total.high:
            fix = f"It may run out of memory: try it with a few steps. {_fix(placement)}"
            yield Finding(_device_key(placement), _too_much(memory, "a worker", "of device memory"), fix)


def host(placement: Placement) -> Iterator[Finding]:
    """The low estimate of a node's train and compile job fits its memory."""
    for purpose, memory in _host_memories(placement):
        if memory.total.low > memory.limit:
            yield _host_finding(placement, purpose, memory, "")


def tight_host(placement: Placement) -> Iterator[Finding]:
    """Notice: the high estimate of a node's train or compile job does not fit."""
    for purpose, memory in _host_memories(placement):
        if memory.total.low <= memory.limit < memory.total.high:
            yield _host_finding(placement, purpose, memory, "It may run out of memory. ")


def _host_finding(placement: Placement, purpose: str, memory: Memory, warning: str) -> Finding:
    key = ("hardware", "instance_type" if placement.on_neuron else "workers_per_node")
    fix = "Choose nodes with more memory, or fewer workers on each."
    return Finding(key, _too_much(memory, f"the {purpose} job on a node", "of host memory"), warning + fix)


def _host_memories(placement: Placement) -> Iterator[tuple[str, Memory]]:
    if _splits(placement):
        yield "train", training_host_memory(placement)
        if compiling := compile_host_memory(placement):
            yield "compile", compiling


def _splits(placement: Placement) -> bool:
    """Whether the split is sound; the memory of an unsound one says nothing."""
    rules = (*replicas(placement), *batch(placement), *strategy_options(placement.recipe))
    return not (*rules, *tensors(placement.recipe), *key_value_heads(placement.recipe), *sequence(placement.recipe))


def _too_much(memory: Memory, whose: str, kind: str) -> str:
    return f"{whose} needs {gib(memory.total)} GiB {kind} and has {memory.limit / GIB:.1f}: {memory.breakdown()}"


def _device_key(placement: Placement) -> Key:
    split = placement.recipe.parallelism.strategy != "data_parallel"
    return _TP if split else ("batch", "micro_size")


def _fix(placement: Placement) -> str:
    """Name the single changes with which the high estimate fits."""
    fits = []
    for key, value, changed in _changes(placement.recipe):
        attempt = replace(placement, recipe=changed)
        if _splits(attempt) and device_memory(attempt).total.high <= device_memory(attempt).limit:
            fits.append(f"`{dotted(key)}: {value}`")
    if fits:
        return f"Enough would be {listed(fits)}."
    return "No single change of the split is enough: combine them, shorten the sequence, or take a larger type of node."


def _changes(recipe: Recipe) -> Iterator[tuple[Key, str, Recipe]]:
    """Yield single changes that save device memory, each with what to write and the recipe that has it."""
    parallelism, sizes = recipe.parallelism, recipe.batch
    heads = getattr(recipe.model, "num_key_value_heads", 1)
    for factor in (2, 4, 8, 16, 32):
        tp = parallelism.tensor_parallel_size * factor
        times = max(parallelism.kv_size_multiplier, tp // heads) if parallelism.strategy == "tensor_parallel" else 1
        changed = parallelism.model_copy(update={"tensor_parallel_size": tp, "kv_size_multiplier": times})
        with_heads = f" (and kv_size_multiplier: {times})" if times != parallelism.kv_size_multiplier else ""
        yield _TP, f"{tp}{with_heads}", recipe.model_copy(update={"parallelism": changed})
    others: tuple[tuple[str, int | str], ...] = (
        ("pipeline_parallel_size", parallelism.pipeline_parallel_size * 2),
        *((("activation_checkpointing", "selective_mlp"),) if parallelism.strategy == "tensor_parallel" else ()),
        ("activation_checkpointing", "full"),
    )
    for name, value in others:
        changed = parallelism.model_copy(update={name: value})
        yield ("parallelism", name), str(value), recipe.model_copy(update={"parallelism": changed})
    if sizes.micro_size > 1:
        smaller = sizes.model_copy(update={"micro_size": sizes.micro_size // 2})
        yield ("batch", "micro_size"), str(smaller.micro_size), recipe.model_copy(update={"batch": smaller})
