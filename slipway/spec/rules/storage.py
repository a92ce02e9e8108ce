"""Rules about the file system."""

from collections.abc import Iterator

from slipway import facts
from slipway.spec.environment import Environment
from slipway.spec.problems import Finding, Path, listed
from slipway.spec.queues import Queue
from slipway.spec.rules.registry import environment_rule, queue_rule

LUSTRE_DEPLOYMENT = "PERSISTENT_2"
"""The deployment type of every environment's file system."""


def file_system_zone(environment: Environment) -> str:
    """Return the availability zone id of the file system."""
    return environment.storage.lustre.availability_zone_id or environment.network.training_availability_zone_id


@environment_rule
def lustre_capacity_step(environment: Environment) -> Iterator[Finding]:
    """The file system's capacity is one that FSx for Lustre sells: 1,200 GiB, 2,400 GiB or a multiple of 2,400."""
    deployment = facts.lustre_deployment(LUSTRE_DEPLOYMENT)
    capacity, step = environment.storage.lustre.capacity_gib, deployment.capacity_step_gib
    if not deployment.allows_capacity(capacity):
        below = capacity // step * step or deployment.smallest_capacity_gib
        above = (capacity // step + 1) * step
        path = ("storage", "lustre", "capacity_gib")
        yield Finding(path, f"FSx for Lustre has no such size (got {capacity})", f"Write {below} or {above}.")


@environment_rule
def lustre_throughput_tier(environment: Environment) -> Iterator[Finding]:
    """The file system's throughput is one of FSx for Lustre's tiers."""
    tiers = facts.lustre_deployment(LUSTRE_DEPLOYMENT).throughputs
    throughput = environment.storage.lustre.throughput_mb_s_per_tib
    if throughput not in tiers:
        path = ("storage", "lustre", "throughput_mb_s_per_tib")
        yield Finding(path, f"FSx for Lustre has no such tier (got {throughput})", f"Write {listed(tiers)}.")


@environment_rule
def file_system_in_training_zone(environment: Environment) -> Iterator[Finding]:
    """The file system is in the training zone."""
    training = environment.network.training_availability_zone_id
    if file_system_zone(environment) != training:
        message = f"the file system must be in the training zone {training} (got {file_system_zone(environment)})"
        yield Finding(("storage", "lustre", "availability_zone_id"), message, "Remove this line.")


@queue_rule
def queue_in_file_system_zone(environment: Environment, path: Path, queue: Queue) -> Iterator[Finding]:
    """A queue is in the file system's zone: reads from another zone are slow and are paid by the gigabyte."""
    zone = file_system_zone(environment)
    if queue.availability_zone_id not in (None, zone):
        message = f"the queue is in {queue.availability_zone_id}, the file system in {zone}"
        yield Finding((*path, "availability_zone_id"), message, f"Write {zone} or remove this line.")
