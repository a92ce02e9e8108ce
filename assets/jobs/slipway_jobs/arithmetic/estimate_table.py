"""Shows an estimate as a table; everything that is not exact is a range."""

from __future__ import annotations

import math
from collections.abc import Sequence

from rich.console import Group, RenderableType
from rich.table import Table
from rich.text import Text

from slipway_jobs.arithmetic.assumptions import Range
from slipway_jobs.arithmetic.device_memory import GIB, Memory, gib
from slipway_jobs.arithmetic.estimate import Estimate

_COUNTS = ((1e9, "billion"), (1e6, "million"), (1e3, "thousand"), (1, ""))
_SIZES = ((1e9, "GB"), (1e6, "MB"), (1e3, "kB"), (1, "B"))


def render(estimate: Estimate) -> RenderableType:
    """Make the table, with the notices and the source of the estimate below it."""
    table = Table(show_header=False, box=None, pad_edge=False, padding=(0, 2, 0, 0))
    table.add_column(style="bold", no_wrap=True)
    table.add_column(overflow="fold")
    for name, value in (*_split(estimate), *_memories(estimate), *_time(estimate)):
        table.add_row(Text(name), Text(value))
    below = [Text(f"Notice: {notice}", style="yellow") for notice in estimate.notices]
    if estimate.speed_source:
        below.append(Text(f"Ranges are estimates. Speed: {estimate.speed_source}", style="dim"))
    return Group(table, *below)


def hours(estimate: Estimate) -> str:
    """Write the time of the train job."""
    if estimate.hours is None:
        return "no estimate"
    if estimate.hours.high < 1 / 60:
        return "under a minute"
    return f"{_range(estimate.hours * 60, 0)} min" if estimate.hours.high < 1 else f"{_range(estimate.hours, 1)} h"


def dollars(estimate: Estimate) -> str:
    """Write the cost of the train job; a missing price is said, never 0."""
    if estimate.usd:
        return "under 1 USD" if estimate.usd.high < 1 else f"{_range(estimate.usd, 0)} USD"
    return "no price" if estimate.usd_per_hour is None else "no estimate"


def _split(estimate: Estimate) -> list[tuple[str, str]]:
    placement = estimate.placement
    recipe = placement.recipe
    parallelism, batch = recipe.parallelism, recipe.batch
    tp, pp, dp = parallelism.tensor_parallel_size, parallelism.pipeline_parallel_size, estimate.data_parallel_size
    return [
        ("Model", f"{recipe.model.architecture}, {_scaled(estimate.parameters, _COUNTS)} parameters"),
        (
            "Nodes",
            f"{recipe.hardware.nodes} x {placement.instance_type} in the queue {placement.queue.name}, "
            f"training stack {placement.stack_name}",
        ),
        (
            "Split",
            f"TP {tp} x PP {pp} x DP {dp} = {placement.world_size} workers, {placement.workers_per_node} on a node "
            f"({parallelism.strategy})",
        ),
        (
            "Batch",
            f"{dp} replicas x {batch.micro_size} x {estimate.accumulation} micro-batches = {batch.global_size} samples "
            f"x {recipe.data.sequence_length} = {estimate.tokens_per_step:,} tokens a step",
        ),
        ("Training", f"{recipe.steps:,} steps = {_scaled(estimate.total_tokens, _COUNTS)} tokens"),
    ]


def _memories(estimate: Estimate) -> list[tuple[str, str]]:
    memories = (
        ("Device memory", "a worker", estimate.device_memory),
        ("Host memory", "a node, train job", estimate.train_host_memory),
        ("", "a node, compile job", estimate.compile_host_memory),
    )
    return [(name, _memory(whose, memory)) for name, whose, memory in memories if memory]


def _memory(whose: str, memory: Memory) -> str:
    limit = "an unknown number of" if math.isinf(memory.limit) else f"{memory.limit / GIB:.0f}"
    return f"{gib(memory.total)} of {limit} GiB ({whose}): {memory.breakdown()}"


def _time(estimate: Estimate) -> list[tuple[str, str]]:
    recipe = estimate.placement.recipe
    saving = f"{_scaled(estimate.checkpoint_bytes, _SIZES)} in {_range(estimate.checkpoint_seconds, 0)} s, every "
    kept = _scaled(recipe.checkpoint.keep * estimate.checkpoint_bytes, _SIZES)
    saving += f"{recipe.checkpoint.interval_steps} steps, "
    pause = estimate.pause_seconds
    # On processors nothing is known of the time.
    stopped = f"for {_range(pause, 0 if pause.low >= 1 else 1)} s" if estimate.step_seconds else "for its copy"
    saving += f"for which training stands still {stopped}; " if recipe.checkpoint.asynchronous else ""
    saving += f"the last {recipe.checkpoint.keep} stay: {kept} of /fsx"
    cost = dollars(estimate)
    if estimate.usd_per_hour is not None:
        cost += f" without compile job and storage (list price of all nodes {estimate.usd_per_hour:,.2f} USD/h, "
        cost += f"{estimate.price_as_of or 'without date'})"
    rows = [("Checkpoint", saving), ("Time", hours(estimate)), ("Cost", cost)]
    if estimate.tokens_per_second and estimate.step_seconds:
        speed = f"{_range(estimate.tokens_per_second, 0)} tokens/s, {_range(estimate.step_seconds, 1)} s a step"
        rows.insert(0, ("Speed", speed))
    if estimate.network_tokens_per_second:
        network = f"{_scaled(estimate.sent_bytes, _SIZES)} a step from a node over EFA, whose full rate would allow "
        rows.insert(1, ("Network", f"{network}{estimate.network_tokens_per_second:,.0f} tokens/s"))
    return rows


def _scaled(value: float, units: Sequence[tuple[float, str]]) -> str:
    """Write a number with three digits or more, in the largest unit of which it has one."""
    size, unit = next((row for row in units if value >= row[0]), units[-1])
    scaled = value / size
    digits = 2 if scaled < 10 else 1 if scaled < 100 else 0
    return f"{scaled:,.{digits}f} {unit}".rstrip()


def _range(value: Range | None, digits: int) -> str:
    return f"{value.low:,.{digits}f}-{value.high:,.{digits}f}" if value else "unknown"
