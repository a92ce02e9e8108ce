"""FSx file systems and their volumes as FSx describes them; moto's descriptions lack what ParallelCluster looks at."""

import uuid
from typing import Any

import moto.fsx.models
from moto.core.responses import ActionResult
from moto.ec2.models import ec2_backends
from moto.fsx.responses import FSxResponse

from slipway.review.judge.inside_parallelcluster.answer import MotoPatch

_ROOT_VOLUME_PATH = "/fsx"
"""Where FSx for OpenZFS mounts every root volume."""


def bridge() -> list[MotoPatch]:
    """Complete file systems, and describe root volumes; call once, before moto starts."""
    return [_file_systems(), _volumes()]


def _file_systems() -> MotoPatch:
    plain = moto.fsx.models.FileSystem

    class FileSystem(plain):  # type: ignore[misc,valid-type]
        """A file system with the id, network interfaces, VPC, mount name and root volume that FSx gives."""

        def __init__(self, account_id: str, region_name: str, **settings: Any) -> None:
            super().__init__(account_id=account_id, region_name=region_name, **settings)
            self.file_system_id = f"fs-{uuid.uuid4().hex[:17]}"
            self.dns_name = f"{self.file_system_id}.fsx.{region_name}.amazonaws.com"
            if lustre := settings["lustre_configuration"]:
                self.lustre_configuration = {"MountName": "abcdefgh", **lustre}
            if open_zfs := settings["open_zfs_configuration"]:
                self.open_zfs_configuration = {"RootVolumeId": f"fsvol-{uuid.uuid4().hex[:17]}", **open_zfs}
            ec2 = ec2_backends[account_id][region_name]
            self.vpc_id = ec2.get_subnet(self.subnet_ids[0]).vpc_id
            self.network_interfaces = [
                ec2.create_network_interface(ec2.get_subnet(subnet_id), "", group_ids=self.security_group_ids)
                for subnet_id in self.subnet_ids
            ]

        def to_dict(self) -> dict[str, Any]:
            more = {
                "VpcId": self.vpc_id,
                "NetworkInterfaceIds": [interface.id for interface in self.network_interfaces],
                "Lifecycle": "AVAILABLE",
            }
            return {**super().to_dict(), **more}

    moto.fsx.models.FileSystem = FileSystem  # type: ignore[misc,assignment]
    return MotoPatch(
        "FSx file systems",
        "moto gives ids of 8 digits and no VPC, network interfaces, mount name or root volume; those of FSx are filled "
        "in",
    )


def _volumes() -> MotoPatch:
    def describe_volumes(self: FSxResponse) -> ActionResult:
        roots = {
            item.open_zfs_configuration["RootVolumeId"]: item
            for item in self.fsx_backend.file_systems.values()
            if item.open_zfs_configuration
        }
        wanted = self._get_param("VolumeIds")
        return ActionResult(
            {
                "Volumes": [
                    {
                        "VolumeId": volume_id,
                        "VolumeType": "OPENZFS",
                        "FileSystemId": roots[volume_id].file_system_id,
                        "OpenZFSConfiguration": {"VolumePath": _ROOT_VOLUME_PATH},
                    }
                    for volume_id in wanted
                    if volume_id in roots
                ]
            }
        )

    FSxResponse.describe_volumes = describe_volumes  # type: ignore[attr-defined]
    return MotoPatch("FSx volumes", "moto has no DescribeVolumes; it answers for the root volumes of OpenZFS")
