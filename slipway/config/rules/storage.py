"""Rules and notices about the file systems and the accounting database."""

from collections.abc import Iterator

from slipway import facts
from slipway.config.environment import Environment
from slipway.config.problems import Finding, Path, listed, near_names, shown
from slipway.config.queues import Queue
from slipway.config.rules.arns import other_partition
from slipway.config.rules.registry import environment_notice, environment_rule, queue_rule
from slipway.config.rules.slurm import slurm_cluster

LUSTRE_DEPLOYMENT = "PERSISTENT_2"
"""The deployment type of every environment's file system at /fsx."""

OPEN_ZFS_DEPLOYMENT = "SINGLE_AZ_1"
"""The deployment type of /home where it is on FSx for OpenZFS."""


def file_system_zone(environment: Environment) -> str:
    """Return the availability zone id of the file system."""
    return environment.storage.lustre.availability_zone_id or environment.network.training_availability_zone_id


@environment_rule
def lustre_capacity_step(environment: Environment) -> Iterator[Finding]:
    """The file system's capacity is one that FSx for Lustre sells: 1,200 GiB, 2,400 GiB or a multiple of 2,400."""
    if environment.storage.lustre.existing:
        return  # It may have any deployment type.
    deployment = facts.lustre_deployment(LUSTRE_DEPLOYMENT)
    capacity, step = environment.storage.lustre.capacity_gib, deployment.capacity_step_gib
    if not deployment.allows_capacity(capacity):
        below = capacity // step * step or deployment.smallest_capacity_gib
        above = deployment.capacity_from(capacity)
        path = ("storage", "lustre", "capacity_gib")
        yield Finding(path, f"FSx for Lustre does not sell this size (got {capacity})", f"Write {below} or {above}.")


@environment_rule
def lustre_throughput_tier(environment: Environment) -> Iterator[Finding]:
    """The file system's throughput is one of FSx for Lustre's tiers."""
    tiers = facts.lustre_deployment(LUSTRE_DEPLOYMENT).throughputs
    throughput = environment.storage.lustre.throughput_mb_s_per_tib
    if throughput not in tiers and not environment.storage.lustre.existing:
        path = ("storage", "lustre", "throughput_mb_s_per_tib")
        yield Finding(
            path, f"FSx for Lustre does not sell this throughput (got {throughput})", f"Write {listed(tiers)}."
        )


@environment_rule
def home_capacity_sold(environment: Environment) -> Iterator[Finding]:
    """The capacity of /home is one that FSx for OpenZFS sells."""
    home, deployment = environment.storage.home, facts.open_zfs_deployment(OPEN_ZFS_DEPLOYMENT)
    least, most = deployment.smallest_capacity_gib, deployment.largest_capacity_gib
    if home and not least <= home.capacity_gib <= most:
        message = f"FSx for OpenZFS does not sell this size (got {home.capacity_gib})"
        yield Finding(("storage", "home", "capacity_gib"), message, f"Write {least} to {most}.")


@environment_rule
def home_throughput_sold(environment: Environment) -> Iterator[Finding]:
    """The throughput of /home is one that FSx for OpenZFS sells."""
    home, throughputs = environment.storage.home, facts.open_zfs_deployment(OPEN_ZFS_DEPLOYMENT).throughputs
    if home and home.throughput_mb_s not in throughputs:
        message = f"FSx for OpenZFS does not sell this throughput (got {home.throughput_mb_s})"
        yield Finding(("storage", "home", "throughput_mb_s"), message, f"Write {listed(throughputs)}.")


@environment_rule
def accounting_database_type_known(environment: Environment) -> Iterator[Finding]:
    """The accounting database's instance class is one that Slipway knows."""
    database, known = environment.storage.accounting_database, facts.database_instance_types()
    if database and database.instance_type not in known:
        message = f"Slipway does not know the database instance class {shown(database.instance_type)}"
        fix = near_names(database.instance_type, known, likeness=0.8) or f"Write {listed(known)}."
        yield Finding(("storage", "accounting_database", "instance_type"), message, fix)


@environment_notice
def buckets_kept_with_file_system(environment: Environment) -> Iterator[Finding]:
    """/fsx is kept and its buckets are not: files that no job has read yet are on /fsx by name only."""
    storage = environment.storage
    if storage.lustre.lifecycle == "persistent" and (storage.lifecycle or environment.lifecycle) == "ephemeral":
        message = "the file system is kept and the data bucket is deleted, with every file that no job has read yet"
        fix = "Write `persistent` as storage.lifecycle, which keeps both."
        yield Finding(("storage", "lustre", "lifecycle"), message, fix)


@environment_rule
def home_in_one_place(environment: Environment) -> Iterator[Finding]:
    """/home is on the head node's volume (`training.home`) or on FSx for OpenZFS (`storage.home`), not on both."""
    if environment.storage.home and "home" in slurm_cluster(environment).model_fields_set:
        message = "/home is on FSx for OpenZFS already, where `storage.home` puts it"
        yield Finding(("training", "home"), message, "Remove it or `storage.home`.", at_key=True)


@environment_rule
def slurm_storage_with_cluster(environment: Environment) -> Iterator[Finding]:
    """/home and further directories on file systems, and the accounting database, are for Slurm's nodes alone."""
    for name in ("home", "shared_directories", "accounting_database"):
        section = getattr(environment.storage, name)
        if section and environment.training is None:
            message = "only a Slurm cluster uses it"
            yield Finding(("storage", name), message, "Remove it, or add `training`.", at_key=True)


@environment_rule
def model_readers_distinct(environment: Environment) -> Iterator[Finding]:
    """Each role in `storage.model_readers` appears once, and is of the partition `aws`, as the environment's Region."""
    readers = environment.storage.model_readers
    for index, arn in enumerate(readers):
        path = ("storage", "model_readers", index)
        if arn in readers[:index]:
            yield Finding(path, f"{arn} appears twice", "Remove this line.")
        yield from other_partition(path, arn, environment.region)


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
