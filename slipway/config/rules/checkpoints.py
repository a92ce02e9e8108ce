"""Notices about checkpoints: how long /fsx takes to write one, and how many find room there.

A checkpoint of mixed-precision training with Adam holds each parameter as a bfloat16 weight, as a float32 master
weight, and with two float32 moments. File system throughput is the baseline that FSx sells, without bursts.
"""

from collections.abc import Iterator

from slipway import facts
from slipway.config.environment import Environment
from slipway.config.problems import Finding, Path
from slipway.config.queues import Queue
from slipway.config.rules.registry import environment_notice, queue_notice
from slipway.config.rules.slurm import slurm_cluster
from slipway.config.rules.storage import LUSTRE_DEPLOYMENT
from slipway.config.section import InvalidPart
from slipway.config.storage import Lustre
from slipway.config.training import Checkpoint
from slipway.facts import LustreDeployment

_CHECKPOINT = ("training", "checkpoint")
_LUSTRE = ("storage", "lustre")

_BYTES_PER_PARAMETER = 2 + 4 + 2 * 4
_GIB = 1024**3
_GIB_PER_TIB = 1024
# The last good one, the one being written, and one that is still on its way to the bucket; data needs the rest.
_CHECKPOINTS_KEPT = 3
_SHARE_FOR_CHECKPOINTS = 3
# EC2 warns two minutes before it takes a Spot instance back (EC2 user guide, Spot Instance interruption notices).
_SPOT_WARNING_SECONDS = 120


def _checkpoint(environment: Environment) -> Checkpoint:
    """Return the checkpoint's section.

    Raises:
        InvalidPart: The file says nothing about checkpoints.
    """
    checkpoint = slurm_cluster(environment).checkpoint
    if checkpoint is None:
        raise InvalidPart("checkpoint")
    return checkpoint


def _size_gb(checkpoint: Checkpoint) -> int:
    """Return the size of one checkpoint in decimal gigabytes: billions of parameters times bytes."""
    return checkpoint.parameters_billions * _BYTES_PER_PARAMETER


def _mb_per_second(lustre: Lustre) -> float:
    return lustre.throughput_mb_s_per_tib * lustre.capacity_gib / _GIB_PER_TIB


def _write_seconds(environment: Environment) -> float:
    return _size_gb(_checkpoint(environment)) * 1000 / _mb_per_second(environment.storage.lustre)


@environment_notice
def checkpoint_written_in_time(environment: Environment) -> Iterator[Finding]:
    """/fsx takes longer than longest_write_seconds to write a checkpoint of parameters_billions."""
    checkpoint, lustre = _checkpoint(environment), environment.storage.lustre
    seconds = _write_seconds(environment)
    if seconds > checkpoint.longest_write_seconds:
        message = (
            f"a checkpoint of {_size_gb(checkpoint)} GB takes {seconds:.0f} seconds at {_mb_per_second(lustre):.0f} "
            f"MB/s, longer than longest_write_seconds ({checkpoint.longest_write_seconds})"
        )
        times = seconds / checkpoint.longest_write_seconds
        fix = _faster(lustre, times, facts.lustre_deployment(LUSTRE_DEPLOYMENT))
        yield Finding(_CHECKPOINT, message, fix, at_key=True)


def _faster(lustre: Lustre, times: float, deployment: LustreDeployment) -> str:
    """Say which throughput, or which capacity, makes a file system so many times faster."""

    def capacity(throughput: int) -> str:
        gib = lustre.capacity_gib * times * lustre.throughput_mb_s_per_tib / throughput
        return f"`capacity_gib: {deployment.capacity_from(gib)}`"

    same_throughput = capacity(lustre.throughput_mb_s_per_tib)
    fastest = max(deployment.throughputs)
    if lustre.throughput_mb_s_per_tib == fastest:
        return f"Give /fsx {same_throughput}."
    wanted = lustre.throughput_mb_s_per_tib * times
    if wanted > fastest:
        return f"Give /fsx `throughput_mb_s_per_tib: {fastest}` with {capacity(fastest)}, or {same_throughput} alone."
    tier = min(tier for tier in deployment.throughputs if tier >= wanted)
    return f"Give /fsx `throughput_mb_s_per_tib: {tier}` or {same_throughput}."


@environment_notice
def checkpoints_find_room(environment: Environment) -> Iterator[Finding]:
    """Three checkpoints of parameters_billions fill more than a third of /fsx."""
    checkpoint, lustre = _checkpoint(environment), environment.storage.lustre
    needed_gib = _size_gb(checkpoint) * 1000**3 * _CHECKPOINTS_KEPT * _SHARE_FOR_CHECKPOINTS / _GIB
    if lustre.capacity_gib < needed_gib:
        message = (
            f"{_CHECKPOINTS_KEPT} checkpoints of {_size_gb(checkpoint)} GB fill more than a third of "
            f"{lustre.capacity_gib} GiB, and data needs the rest"
        )
        capacity = facts.lustre_deployment(LUSTRE_DEPLOYMENT).capacity_from(needed_gib)
        yield Finding((*_LUSTRE, "capacity_gib"), message, f"Write {capacity} or more.")


@queue_notice
def checkpoint_written_before_spot_ends(environment: Environment, path: Path, queue: Queue) -> Iterator[Finding]:
    """A Spot queue with accelerators has less warning than /fsx takes to write a checkpoint."""
    seconds = _write_seconds(environment)
    if queue.capacity_type == "spot" and queue.accelerated and seconds > _SPOT_WARNING_SECONDS:
        message = (
            f"EC2 takes Spot nodes back {_SPOT_WARNING_SECONDS} seconds after the warning, and a checkpoint takes "
            f"{seconds:.0f} seconds to write"
        )
        fix = "Checkpoint often, since the warning is too short for a last one, or buy the nodes on demand."
        yield Finding((*path, "capacity_type"), message, fix)
