"""File systems and volumes that all nodes mount, as ParallelCluster's configuration wants them."""

from dataclasses import dataclass
from typing import Any, Literal


@dataclass(frozen=True, kw_only=True)
class SharedVolume:
    """An encrypted gp3 volume that the head node shares over NFS."""

    size_gib: int
    """Size in GiB."""

    deletion_policy: Literal["Delete", "Snapshot", "Retain"]
    """What happens to the volume when the cluster is deleted."""


@dataclass(frozen=True, kw_only=True)
class SharedStorage:
    """Everything that the nodes share."""

    lustre_file_system_id: str
    """FSx for Lustre file system, mounted at /fsx."""

    home: SharedVolume | str
    """/home: a volume of the head node, or the id of an FSx for OpenZFS volume."""

    apps: SharedVolume
    """/apps: virtual environments and tools."""


def shared_storage_configuration(storage: SharedStorage) -> list[dict[str, Any]]:
    """Return the `SharedStorage` section."""
    lustre = {"FileSystemId": storage.lustre_file_system_id}
    return [
        _shared("fsx", "FsxLustre", {"FsxLustreSettings": lustre}),
        _shared("home", "FsxOpenZfs", {"FsxOpenZfsSettings": {"VolumeId": storage.home}})
        if isinstance(storage.home, str)
        else _shared("home", "Ebs", _volume_settings(storage.home)),
        _shared("apps", "Ebs", _volume_settings(storage.apps)),
    ]


def _shared(name: str, kind: str, settings: dict[str, Any]) -> dict[str, Any]:
    return {"Name": name, "MountDir": f"/{name}", "StorageType": kind, **settings}


def _volume_settings(volume: SharedVolume) -> dict[str, Any]:
    return {
        "EbsSettings": {
            "Size": volume.size_gib,
            "VolumeType": "gp3",
            "Encrypted": True,
            "DeletionPolicy": volume.deletion_policy,
        }
    }
