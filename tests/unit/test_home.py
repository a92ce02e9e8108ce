"""/home on FSx for OpenZFS: what ParallelCluster needs to mount it, and nobody outside of the VPC."""

from typing import Any

import pytest

from tests.assembly import Assembly


@pytest.fixture
def file_system(team: Assembly) -> Any:
    """The resource of /home in the team's environment."""
    (found,) = [
        resource
        for resource in team.resources("storage", "AWS::FSx::FileSystem").values()
        if resource["Properties"]["FileSystemType"] == "OPENZFS"
    ]
    return found


def test_home_is_what_the_environment_file_asks_for(team: Assembly, file_system: Any) -> None:
    wanted = team.environment.storage.home
    assert wanted is not None
    properties = file_system["Properties"]
    configuration = properties["OpenZFSConfiguration"]

    assert (properties["StorageType"], properties["StorageCapacity"]) == ("SSD", wanted.capacity_gib)
    assert configuration["DeploymentType"] == "SINGLE_AZ_1"
    assert configuration["ThroughputCapacity"] == wanted.throughput_mb_s
    assert configuration["AutomaticBackupRetentionDays"] == wanted.backup_retention_days
    assert configuration["CopyTagsToBackups"] is True


def test_members_of_the_client_group_mount_home_as_root(team: Assembly, file_system: Any) -> None:
    root_volume = file_system["Properties"]["OpenZFSConfiguration"]["RootVolumeConfiguration"]
    (clients,) = root_volume["NfsExports"][0]["ClientConfigurations"]

    assert clients == {"Clients": team.environment.network.cidr, "Options": ["rw", "crossmnt", "no_root_squash"]}


def test_the_cluster_mounts_the_root_volume_and_makes_no_volume_for_home(team: Assembly) -> None:
    configuration = team.resource("training", "Custom::PclusterCluster")["ClusterConfiguration"]
    mounts = {item["MountDir"]: item for item in configuration["SharedStorage"]}

    assert mounts["/home"]["StorageType"] == "FsxOpenZfs"
    assert "RootVolumeId" in str(mounts["/home"]["FsxOpenZfsSettings"]["VolumeId"])
    assert mounts["/apps"]["StorageType"] == "Ebs"


def test_somebodys_snapshot_does_not_keep_a_home_that_is_to_go(team: Assembly, directory: Assembly) -> None:
    def options(assembly: Assembly) -> Any:
        file_systems = assembly.resources("storage", "AWS::FSx::FileSystem").values()
        (home,) = [item for item in file_systems if item["Properties"]["FileSystemType"] == "OPENZFS"]
        return home["DeletionPolicy"], home["Properties"]["OpenZFSConfiguration"].get("Options")

    assert options(team) == ("Delete", ["DELETE_CHILD_VOLUMES_AND_SNAPSHOTS"])
    assert options(directory) == ("RetainExceptOnCreate", None)
