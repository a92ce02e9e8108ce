"""File systems and volumes that all nodes mount, as ParallelCluster's configuration wants them."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Literal


@dataclass(frozen=True, kw_only=True)
class SharedVolume:
    """An encrypted gp3 volume that the head node shares over NFS."""

    size_gib: int
    """Size in GiB."""

    deletion_policy: Literal["Delete", "Snapshot", "Retain"]
    """What happens to the volume when the cluster is deleted."""

    kms_key_arn: str | None = None
    """ARN of the KMS key that encrypts it. None uses the account's default key of EBS."""


@dataclass(frozen=True, kw_only=True)
class SharedFileSystem:
    """A file system over NFS that the cluster does not own."""

    type: Literal["FsxOpenZfs", "Efs"]
    """Its kind, as ParallelCluster's `StorageType`."""

    id: str
    """Id of the volume of FSx for OpenZFS, or of the file system of EFS."""


@dataclass(frozen=True, kw_only=True)
class SharedStorage:
    """Everything that the nodes share."""

    lustre_file_system_id: str
    """FSx for Lustre file system, mounted at /fsx."""

    home: SharedVolume | SharedFileSystem
    """/home: a volume of the head node, or a file system."""

    apps: SharedVolume
    """/apps: virtual environments and tools."""

    others: Mapping[str, SharedFileSystem] = field(default_factory=dict)
    """Further file systems, by the name of their directory below /."""


def shared_storage_configuration(storage: SharedStorage) -> list[dict[str, Any]]:
    """Return the `SharedStorage` section."""
    lustre = {"FileSystemId": storage.lustre_file_system_id}
    return [
        _shared("fsx", "FsxLustre", {"FsxLustreSettings": lustre}),
        _file_system("home", storage.home)
        if isinstance(storage.home, SharedFileSystem)
        else _shared("home", "Ebs", _volume_settings(storage.home)),
        _shared("apps", "Ebs", _volume_settings(storage.apps)),
        *(_file_system(name, file_system) for name, file_system in storage.others.items()),
    ]


def _file_system(name: str, shared: SharedFileSystem) -> dict[str, Any]:
    match shared.type:
        case "FsxOpenZfs":
            settings: dict[str, Any] = {"FsxOpenZfsSettings": {"VolumeId": shared.id}}
        case "Efs":
            settings = {"EfsSettings": {"FileSystemId": shared.id, "EncryptionInTransit": True}}
    return _shared(name, shared.type, settings)


def _shared(name: str, kind: str, settings: dict[str, Any]) -> dict[str, Any]:
    return {"Name": name, "MountDir": f"/{name}", "StorageType": kind, **settings}


def _volume_settings(volume: SharedVolume) -> dict[str, Any]:
    return {
        "EbsSettings": {
            "Size": volume.size_gib,
            "VolumeType": "gp3",
            "Encrypted": True,
            "DeletionPolicy": volume.deletion_policy,
            **({"KmsKeyId": volume.kms_key_arn} if volume.kms_key_arn else {}),
        }
    }
