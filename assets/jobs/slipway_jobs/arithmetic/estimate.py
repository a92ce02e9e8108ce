"""What a run needs and costs, as ranges."""

from __future__ import annotations

from dataclasses import dataclass

from slipway_jobs.arithmetic.assumptions import Range
from slipway_jobs.arithmetic.checkpoints import checkpoint_seconds, pause_seconds, saving_seconds, stop_seconds
from slipway_jobs.arithmetic.checks import notices
from slipway_jobs.arithmetic.device_memory import Memory, device_memory
from slipway_jobs.arithmetic.host_memory import checkpoint_bytes, compile_host_memory, training_host_memory
from slipway_jobs.arithmetic.model_size import model_size
from slipway_jobs.arithmetic.network import network_tokens_per_second, sent_bytes
from slipway_jobs.arithmetic.placement import Placement, place
from slipway_jobs.arithmetic.speed import (
    accelerator,
    measured_steps,
    measurement_count,
    step_seconds,
    tokens_per_second,
    tokens_per_step,
)
from slipway_jobs.arithmetic.split import accumulation, data_parallel_size
from slipway_jobs.environment import Environment
from slipway_jobs.recipe.problems import dotted
from slipway_jobs.run import TrainingRun

_HOUR = 3600


@dataclass(frozen=True)
class Estimate:
    """What a run needs. Ranges are estimates; the rest is exact. The compile job's time is not known beforehand."""

    placement: Placement
    """Where it runs."""

    parameters: int
    """Parameters of the model, without repeated key and value heads."""

    data_parallel_size: int
    """Model replicas."""

    accumulation: int
    """Micro-batches of a step on one replica."""

    device_memory: Memory | None
    """Device memory of the fullest worker; none on processors."""

    train_host_memory: Memory
    """Host memory of a node of the train job."""

    compile_host_memory: Memory | None
    """Host memory of a node of the compile job; none where nothing is compiled ahead."""

    tokens_per_step: int
    """Tokens of an optimizer step over all workers."""

    total_tokens: int
    """Tokens of the whole training."""

    tokens_per_second: Range | None
    """Speed over all nodes; none on processors and on chips of which nothing is known."""

    sent_bytes: float
    """What a node sends to other nodes in an optimizer step, at least."""

    network_tokens_per_second: float | None
    """Speed that EFA's full rate would allow; none where nothing is sent, or nothing is known of the interfaces."""

    step_seconds: Range | None
    """Time of an optimizer step."""

    checkpoint_bytes: int
    """Size of a checkpoint on /fsx."""

    checkpoint_seconds: Range
    """Time of writing one."""

    pause_seconds: Range
    """What training stands still for one of them."""

    stop_seconds: float
    """The longest that a stop may take, until its checkpoint is written."""

    hours: Range | None
    """The train job with its checkpoints, without interruptions."""

    usd: Range | None
    """Its nodes at list price; none without a price or without an estimate of the time."""

    usd_per_hour: float | None
    """List price of all its nodes for an hour; none where none is published."""

    price_as_of: str | None
    """Date of the price, YYYY-MM-DD."""

    speed_source: str | None
    """Where the estimate of the speed comes from, with its date."""

    notices: tuple[str, ...]
    """What works, and a person should know."""


def estimate(run: TrainingRun, environment: Environment) -> Estimate:
    """Estimate what a run needs.

    Args:
        run: what `resolve` gave.
        environment: the same environment.
    """
    placement = place(run.recipe, environment)
    chip = accelerator(placement)
    hours = _hours(placement)
    price = None if run.usd_per_node_hour is None else run.usd_per_node_hour * run.recipe.hardware.nodes
    return Estimate(
        placement=placement,
        parameters=model_size(run.recipe.model).total,
        data_parallel_size=data_parallel_size(placement),
        accumulation=accumulation(placement),
        device_memory=device_memory(placement) if placement.on_neuron else None,
        train_host_memory=training_host_memory(placement),
        compile_host_memory=compile_host_memory(placement),
        tokens_per_step=tokens_per_step(placement),
        total_tokens=tokens_per_step(placement) * run.recipe.steps,
        tokens_per_second=tokens_per_second(placement),
        sent_bytes=sent_bytes(placement),
        network_tokens_per_second=network_tokens_per_second(placement),
        step_seconds=step_seconds(placement),
        checkpoint_bytes=checkpoint_bytes(placement),
        checkpoint_seconds=checkpoint_seconds(placement),
        pause_seconds=pause_seconds(placement),
        stop_seconds=stop_seconds(placement),
        hours=hours,
        usd=hours * price if hours and price is not None else None,
        usd_per_hour=price,
        price_as_of=placement.instance.price_as_of,
        speed_source=f"{chip.as_of}: {chip.source}" if chip else None,
        notices=tuple(f"{dotted(item.key)}: {item.message}. {item.fix}" for item in notices(placement)),
    )


def _hours(placement: Placement) -> Range | None:
    step, recipe = step_seconds(placement), placement.recipe
    if step is None:
        return None
    steps = recipe.steps + measured_steps(recipe) * measurement_count(recipe)
    return (step * steps + saving_seconds(placement)) * (1 / _HOUR)
