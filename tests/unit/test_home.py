"""/home on FSx for OpenZFS: what ParallelCluster needs to mount it, and nobody outside of the VPC."""

from typing import Any

import pytest

from tests.assembly import Assembly

NFS_PORTS = {(111, 111), (2049, 2049), (20001, 20003)}


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


def test_nodes_of_the_vpc_mount_home_as_root(team: Assembly, file_system: Any) -> None:
    root_volume = file_system["Properties"]["OpenZFSConfiguration"]["RootVolumeConfiguration"]
    (clients,) = root_volume["NfsExports"][0]["ClientConfigurations"]

    assert clients == {"Clients": team.environment.network.cidr, "Options": ["rw", "crossmnt", "no_root_squash"]}


def test_nfs_comes_in_from_the_vpc_by_tcp_and_udp_and_nothing_goes_out(team: Assembly) -> None:
    groups = team.resources("storage", "AWS::EC2::SecurityGroup")
    (group,) = [item["Properties"] for logical_id, item in groups.items() if logical_id.startswith("Home")]
    rules = {(r["IpProtocol"], (r["FromPort"], r["ToPort"]), r["CidrIp"]) for r in group["SecurityGroupIngress"]}

    assert rules == {
        (protocol, ports, team.environment.network.cidr) for protocol in ("tcp", "udp") for ports in NFS_PORTS
    }
    assert [rule["CidrIp"] for rule in group["SecurityGroupEgress"]] == ["255.255.255.255/32"]


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
    assert options(directory) == ("Retain", None)
