"""What an environment file names by id because it exists: for the constructs, and for the templates' metadata."""

from collections.abc import Iterator

from neuron_constructs.cluster.shared_storage import SharedFileSystem
from neuron_constructs.lustre import LustreMount
from slipway.assembly.existing import BUCKET, EFS, IMAGE, KEY, LUSTRE, OPEN_ZFS, SECURITY_GROUP, ExistingResource
from slipway.config.environment import Environment
from slipway.config.storage import ExistingEfs, ExistingLustre, ExistingOpenZfs, Storage
from slipway.config.training import Training


def lustre_mount(existing: ExistingLustre, region: str) -> LustreMount:
    """Return how clients mount a file system.

    Its DNS name follows from its id (FSx for Lustre user guide, "Mounting from an Amazon EC2 instance").
    """
    return LustreMount(
        file_system_id=existing.file_system_id,
        dns_name=f"{existing.file_system_id}.fsx.{region}.amazonaws.com",
        mount_name=existing.mount_name,
        client_security_group_id=existing.client_security_group_id,
    )


def shared_file_system(existing: ExistingOpenZfs | ExistingEfs) -> SharedFileSystem:
    """Return what ParallelCluster mounts."""
    if isinstance(existing, ExistingOpenZfs):
        return SharedFileSystem(type="FsxOpenZfs", id=existing.volume_id)
    return SharedFileSystem(type="Efs", id=existing.file_system_id)


def existing_storage(environment: Environment) -> tuple[ExistingResource, ...]:
    """Return the file systems and buckets, and the groups of those who mount, each once."""
    return tuple(dict.fromkeys((*_buckets(environment), *_file_systems(environment))))


def existing_key(environment: Environment) -> tuple[ExistingResource, ...]:
    """Return the key."""
    return (ExistingResource(KEY, environment.kms.key_arn, "encryption"),) if environment.kms else ()


def existing_images(training: Training) -> tuple[ExistingResource, ...]:
    """Return the baked images of nodes."""
    facts = (("os", training.operating_system), ("version", training.parallelcluster_version))
    uses = [("head node", training.head_node.custom_ami_id)]
    uses += [(f"nodes of {queue.name}", queue.custom_ami_id) for queue in training.queues]
    return tuple(ExistingResource(IMAGE, id_, use, facts) for use, id_ in uses if id_)


def existing_nfs(storage: Storage) -> dict[str, ExistingOpenZfs | ExistingEfs]:
    """Return what is mounted over NFS, by the name of its directory below /."""
    existing = {directory.path.lstrip("/"): directory.existing for directory in storage.shared_directories}
    if storage.home and storage.home.existing:
        existing["home"] = storage.home.existing
    return existing


def _buckets(environment: Environment) -> Iterator[ExistingResource]:
    for use, name in environment.storage.existing_buckets:
        if name:
            # The endpoint's functions act when a served version changes.
            told = use == "models" and environment.inference is not None
            yield ExistingResource(BUCKET, name, use, (("events", "EventBridge"),) if told else ())


def _file_systems(environment: Environment) -> Iterator[ExistingResource]:
    storage, zone = environment.storage, environment.network.training_availability_zone_id
    if lustre := storage.lustre.existing:
        facts: dict[str, str | int] = {
            "mount_name": lustre.mount_name,
            "capacity_gib": storage.lustre.capacity_gib,
            "throughput_mb_s_per_tib": storage.lustre.throughput_mb_s_per_tib,
        }
        yield ExistingResource(LUSTRE, lustre.file_system_id, "/fsx", (*facts.items(), ("zone", zone)))
        yield ExistingResource(SECURITY_GROUP, lustre.client_security_group_id, "clients of file systems")
    for name, shared in existing_nfs(storage).items():
        if isinstance(shared, ExistingOpenZfs):
            yield ExistingResource(OPEN_ZFS, shared.volume_id, f"/{name}", (("zone", zone),))
        else:
            yield ExistingResource(EFS, shared.file_system_id, f"/{name}", (("zone", zone),))
        yield ExistingResource(SECURITY_GROUP, shared.client_security_group_id, "clients of file systems")
