"""Room and time for checkpoints: against /fsx, the steps between two of them and the time limit of a job."""

from __future__ import annotations

from collections.abc import Iterator

from slipway_jobs.arithmetic.assumptions import Range, assumptions
from slipway_jobs.arithmetic.host_memory import checkpoint_bytes, checkpoint_bytes_of_a_worker
from slipway_jobs.arithmetic.placement import Placement
from slipway_jobs.arithmetic.speed import measured_steps, step_seconds
from slipway_jobs.recipe.problems import Finding

_MOST_OF_THE_TIME = 0.1
_GB = 1000**3
_GIB = 1024**3


def checkpoint_seconds(placement: Placement) -> Range:
    """Estimate the time of writing one checkpoint to /fsx."""
    share, size = assumptions().lustre_share, checkpoint_bytes(placement)
    bytes_per_second = placement.environment.lustre_throughput_mb_s * 1e6
    return Range(low=size / (bytes_per_second * share.high), high=size / (bytes_per_second * share.low))


def pause_seconds(placement: Placement) -> Range:
    """Estimate how long training stands still for a checkpoint that is not the last.

    Asynchronous ones cost the copy to host memory, and what of the one before is not written by then.
    """
    writing = checkpoint_seconds(placement)
    if not placement.recipe.checkpoint.asynchronous:
        return writing
    step, interval = step_seconds(placement), placement.recipe.checkpoint.interval_steps
    size, speed = checkpoint_bytes_of_a_worker(placement) / _GB, assumptions().host_copy_gb_s
    # Without a step's time, which processors have none of, what is not hidden is not known.
    hidden = Range(low=step.low * interval, high=step.high * interval) if step else writing
    return Range(
        low=size / speed.high + max(0.0, writing.low - hidden.high),
        high=size / speed.low + max(0.0, writing.high - hidden.low),
    )


def saving_seconds(placement: Placement) -> Range:
    """Estimate how long training stands still for all checkpoints; the end waits for the last one's files."""
    return pause_seconds(placement) * (checkpoint_count(placement) - 1) + checkpoint_seconds(placement)


def stop_seconds(placement: Placement) -> float:
    """Return how long a stop may take: a step, its validation loss, a checkpoint on its way, and that of the stop."""
    step, on_its_way = step_seconds(placement), 1 if placement.recipe.checkpoint.asynchronous else 0
    return checkpoint_seconds(placement).high * (1 + on_its_way) + (
        step.high * (1 + measured_steps(placement.recipe)) if step else 0
    )


def checkpoint_count(placement: Placement) -> int:
    """Return the checkpoints of a training that nothing interrupts; the last step has one too."""
    recipe = placement.recipe
    return -(-recipe.steps // recipe.checkpoint.interval_steps)


def room(placement: Placement) -> Iterator[Finding]:
    """The checkpoints that stay fit /fsx, with the new one that is written before the oldest is removed."""
    size, keep = checkpoint_bytes(placement), placement.recipe.checkpoint.keep
    capacity = placement.environment.lustre_capacity_gib * _GIB
    fitting = capacity // size
    if keep + 1 > fitting:
        message = (
            f"{keep} checkpoints of {size / _GB:.0f} GB and the one that is being written take "
            f"{(keep + 1) * size / _GB:,.0f} GB, /fsx has {capacity / _GB:,.0f} GB"
        )
        fewer = f"Write {fitting - 1:.0f} or less, or make" if fitting >= 2 else "Make"
        yield Finding(("checkpoint", "keep"), message, f"{fewer} /fsx larger (storage.lustre.capacity_gib).")


def slow(placement: Placement) -> Iterator[Finding]:
    """Notice: training stands still for checkpoints in more than a tenth of its time. The last step has one anyway."""
    step = step_seconds(placement)
    interval, seconds = placement.recipe.checkpoint.interval_steps, checkpoint_seconds(placement)
    if step is None or interval >= placement.recipe.steps:
        return
    if pause_seconds(placement).low > _MOST_OF_THE_TIME * interval * step.low:
        message = (
            f"a checkpoint of {checkpoint_bytes(placement) / _GB:.0f} GB takes {seconds.low:.0f}-{seconds.high:.0f} s "
            f"at {placement.environment.lustre_throughput_mb_s} MB/s, and {interval} steps take "
            f"{interval * step.low:.0f}-{interval * step.high:.0f} s"
        )
        hidden = 1 if placement.recipe.checkpoint.asynchronous else 0
        rarer = int(seconds.low / ((_MOST_OF_THE_TIME + hidden) * step.low)) + 1
        fix = f"Write {rarer} or more, or raise the throughput of /fsx."
        yield Finding(("checkpoint", "interval_steps"), message, fix)


def short_time_limit(placement: Placement) -> Iterator[Finding]:
    """Notice: what is saved before the time limit takes more than half of the time."""
    limit = placement.recipe.restarts.time_limit_hours * 3600
    needed = stop_seconds(placement)
    if needed > limit / 2:
        message = f"{_before_the_end(placement)} take up to {needed:.0f} s of {limit} s"
        fix = f"Write {int(4 * needed / 3600) + 1} or more."
        yield Finding(("restarts", "time_limit_hours"), message, fix)


def short_kill_wait(placement: Placement) -> Iterator[Finding]:
    """Notice: Slurm kills a cancelled or requeued job before it has saved."""
    limit, needed = placement.environment.kill_wait_seconds, stop_seconds(placement)
    if limit is not None and needed > limit:
        message = (
            f"{_before_the_end(placement)} take up to {needed:.0f} s, and Slurm kills the job {limit} s after scancel "
            "or scontrol requeue (training.kill_wait_seconds)"
        )
        yield Finding(("checkpoint",), message, "Save first: scancel --batch --signal=USR1 JOB.")


def _before_the_end(placement: Placement) -> str:
    """Name what `stop_seconds` counts."""
    checkpoints = "two checkpoints" if placement.recipe.checkpoint.asynchronous else "a checkpoint"
    return f"a step and {checkpoints} before the end"


def short_hang_limit(placement: Placement) -> Iterator[Finding]:
    """Notice: a step or a checkpoint may take so long that the job is ended as one that hangs."""
    step, saving = step_seconds(placement), checkpoint_seconds(placement)
    limit = placement.recipe.restarts.hang_minutes * 60
    longest = max(saving.high, step.high if step else 0)
    if longest > limit:
        message = f"a step or a checkpoint takes up to {longest:.0f} s, and {limit} s without one end the job"
        yield Finding(("restarts", "hang_minutes"), message, f"Write {int(longest / 60) + 1} or more.")
