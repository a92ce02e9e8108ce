"""Room and time for checkpoints: against /fsx, the steps between two of them and the time limit of a job."""

from __future__ import annotations

from collections.abc import Iterator

from slipway_jobs.arithmetic.assumptions import Range, assumptions
from slipway_jobs.arithmetic.host_memory import checkpoint_bytes
from slipway_jobs.arithmetic.placement import Placement
from slipway_jobs.arithmetic.speed import step_seconds
from slipway_jobs.recipe.problems import Finding

_MOST_OF_THE_TIME = 0.1
_GB = 1000**3
_GIB = 1024**3


def checkpoint_seconds(placement: Placement) -> Range:
    """Estimate the time of writing one checkpoint to /fsx."""
    share, size = assumptions().lustre_share, checkpoint_bytes(placement)
    bytes_per_second = placement.environment.lustre_throughput_mb_s * 1e6
    return Range(low=size / (bytes_per_second * share.high), high=size / (bytes_per_second * share.low))


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
    """Notice: checkpoints take more than a tenth of the training's time. The last step's is always written."""
    step = step_seconds(placement)
    interval, seconds = placement.recipe.checkpoint.interval_steps, checkpoint_seconds(placement)
    if step is None or interval >= placement.recipe.steps:
        return
    if seconds.low > _MOST_OF_THE_TIME * interval * step.low:
        message = (
            f"a checkpoint of {checkpoint_bytes(placement) / _GB:.0f} GB takes {seconds.low:.0f}-{seconds.high:.0f} s "
            f"at {placement.environment.lustre_throughput_mb_s} MB/s, and {interval} steps take "
            f"{interval * step.low:.0f}-{interval * step.high:.0f} s"
        )
        rarer = int(seconds.low / (_MOST_OF_THE_TIME * step.low)) + 1
        fix = f"Write {rarer} or more, or raise the throughput of /fsx."
        yield Finding(("checkpoint", "interval_steps"), message, fix)


def short_time_limit(placement: Placement) -> Iterator[Finding]:
    """Notice: the checkpoint before the time limit takes more than half of the time."""
    step, saving = step_seconds(placement), checkpoint_seconds(placement)
    limit = placement.recipe.restarts.time_limit_hours * 3600
    needed = saving.high + (step.high if step else 0)
    if needed > limit / 2:
        message = f"a step and a checkpoint before the end take up to {needed:.0f} s of {limit} s"
        fix = f"Write {int(4 * needed / 3600) + 1} or more."
        yield Finding(("restarts", "time_limit_hours"), message, fix)


def short_hang_limit(placement: Placement) -> Iterator[Finding]:
    """Notice: a step or a checkpoint may take so long that the job is ended as one that hangs."""
    step, saving = step_seconds(placement), checkpoint_seconds(placement)
    limit = placement.recipe.restarts.hang_minutes * 60
    longest = max(saving.high, step.high if step else 0)
    if longest > limit:
        message = f"a step or a checkpoint takes up to {longest:.0f} s, and {limit} s without one end the job"
        yield Finding(("restarts", "hang_minutes"), message, f"Write {int(longest / 60) + 1} or more.")
