"""FSx: ids, network interfaces, the members that clients read, volumes and last backups."""

import uuid
from typing import Any

from moto.core.responses import ActionResult
from moto.ec2.models import ec2_backends
from moto.fsx.models import Backup, FileSystem, FSxBackend
from moto.fsx.responses import FSxResponse

from slipway_emulator.moto_patches.patch import MotoPatch

_INTERFACES = 2
_MOUNT_NAME = "rehrsl01"  # 8 characters, like AWS's own
_OPEN_ZFS = "OPENZFS"
_ROOT_VOLUME_PATH = "/fsx"


def _default_group(network: Any, vpc_id: str) -> list[str]:
    return [network.get_default_security_group(vpc_id).id]


def _complete_file_systems() -> None:
    initialize, describe = FileSystem.__init__, FileSystem.to_dict

    def initialize_completely(
        self: FileSystem, account_id: str, region_name: str, *arguments: Any, **named: Any
    ) -> None:
        initialize(self, account_id, region_name, *arguments, **named)
        short_id, self.file_system_id = self.file_system_id, f"fs-{uuid.uuid4().hex[:17]}"
        self.dns_name = self.dns_name.replace(short_id, self.file_system_id)
        self.resource_arn = self.resource_arn.replace(short_id, self.file_system_id)
        network: Any = ec2_backends[account_id][region_name]
        subnet = network.get_subnet(self.subnet_ids[0])
        groups = self.security_group_ids or _default_group(network, subnet.vpc_id)
        self.vpc_id = subnet.vpc_id  # type: ignore[attr-defined]
        if self.file_system_type == _OPEN_ZFS:
            root_volume_id = f"fsvol-{uuid.uuid4().hex[:17]}"
            self.open_zfs_configuration = {**(self.open_zfs_configuration or {}), "RootVolumeId": root_volume_id}
        self.interfaces = [  # type: ignore[attr-defined]
            network.create_network_interface(
                subnet, None, group_ids=groups, description=f"Created By Amazon FSx {self.file_system_id}"
            )
            for _ in range(_INTERFACES)
        ]

    def describe_completely(self: FileSystem) -> dict[str, Any]:
        description = describe(self)
        description["VpcId"] = self.vpc_id  # type: ignore[attr-defined]
        description["Lifecycle"] = "AVAILABLE"
        description["NetworkInterfaceIds"] = [interface.id for interface in self.interfaces]  # type: ignore[attr-defined]
        if self.file_system_type == "LUSTRE":
            configured = self.lustre_configuration or {}
            description["LustreConfiguration"] = {
                "MountName": _MOUNT_NAME,
                "DataCompressionType": "NONE",
                **configured,
            }
        return description

    FileSystem.__init__ = initialize_completely  # type: ignore[method-assign]
    FileSystem.to_dict = describe_completely  # type: ignore[method-assign]


def _describe_root_volumes() -> None:
    def describe_volumes(self: FSxResponse) -> ActionResult:
        wanted = self._get_param("VolumeIds")
        volumes = [
            {
                "VolumeId": root_volume_id,
                "VolumeType": _OPEN_ZFS,
                "FileSystemId": file_system.file_system_id,
                "Lifecycle": "AVAILABLE",
                "OpenZFSConfiguration": {"VolumePath": _ROOT_VOLUME_PATH},
            }
            for file_system in self.fsx_backend.file_systems.values()
            if (root_volume_id := (file_system.open_zfs_configuration or {}).get("RootVolumeId"))
        ]
        return ActionResult({"Volumes": [item for item in volumes if not wanted or item["VolumeId"] in wanted]})

    FSxResponse.describe_volumes = describe_volumes  # type: ignore[attr-defined]


def _take_last_backups() -> None:
    delete = FSxBackend.delete_file_system

    def delete_file_system(self: FSxBackend, file_system_id: str, *arguments: Any, **named: Any) -> Any:
        file_system = self.file_systems.get(file_system_id)
        skipped = (named.get("open_zfs_configuration") or {}).get("SkipFinalBackup", False)
        if file_system and file_system.file_system_type == _OPEN_ZFS and not skipped:
            tags = self.list_tags_for_resource(file_system.resource_arn)
            self.create_backup(file_system_id, client_request_token=None, volume_id=None, tags=tags)
        return delete(self, file_system_id, *arguments, **named)

    FSxBackend.delete_file_system = delete_file_system  # type: ignore[method-assign]


def _describe_backups_completely() -> None:
    describe = Backup.to_dict

    def describe_completely(self: Backup) -> dict[str, Any]:
        return {**describe(self), "Lifecycle": "AVAILABLE", "FileSystem": {"FileSystemId": self.file_system_id}}

    Backup.to_dict = describe_completely  # type: ignore[method-assign]


def _release_interfaces() -> None:
    delete = FSxBackend.delete_file_system

    def delete_file_system(self: FSxBackend, file_system_id: str, *arguments: Any, **named: Any) -> Any:
        file_system = self.file_systems.get(file_system_id)
        answer = delete(self, file_system_id, *arguments, **named)
        if file_system:
            network = ec2_backends[self.account_id][self.region_name]
            for interface in file_system.interfaces:  # type: ignore[attr-defined]
                network.delete_network_interface(interface.id)
        return answer

    FSxBackend.delete_file_system = delete_file_system  # type: ignore[method-assign]


DEVIATIONS = (
    MotoPatch(
        "fsx-file-system-description",
        "moto's ids have 8 digits (AWS: 17), and VpcId, Lifecycle, NetworkInterfaceIds, MountName and RootVolumeId are "
        "missing",
        _complete_file_systems,
    ),
    MotoPatch(
        "fsx-network-interfaces",
        "the interfaces made for a file system have to go with it, or its subnet could not be deleted on AWS",
        _release_interfaces,
    ),
    MotoPatch(
        "fsx-describe-volumes",
        "moto has no FSx volumes; DescribeVolumes answers the root volumes of OpenZFS file systems",
        _describe_root_volumes,
    ),
    MotoPatch(
        "fsx-last-backups",
        "AWS takes a last backup of an OpenZFS file system that is deleted, unless a flag says no, and CloudFormation "
        "cannot tell it; moto takes none",
        _take_last_backups,
    ),
    MotoPatch(
        "fsx-backup-description",
        "moto's backups are being created forever and do not say of which file system they are",
        _describe_backups_completely,
    ),
)
