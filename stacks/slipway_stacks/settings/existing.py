"""File systems that the environment file names by id, in the words of their constructs."""

from neuron_constructs.cluster.shared_storage import SharedFileSystem
from neuron_constructs.lustre import LustreMount
from slipway.config.storage import ExistingEfs, ExistingLustre, ExistingOpenZfs


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
