"""What stays of data that a stack deletes: a snapshot of a volume or a database, a backup of a file system."""

from typing import Any

import pytest
from botocore.exceptions import ClientError

from slipway_emulator.settings import ACCOUNT
from tests.emulator.running import RunningEmulator

VPC = {"Type": "AWS::EC2::VPC", "Properties": {"CidrBlock": "10.0.0.0/16"}}


@pytest.mark.parametrize("way", ["delete", "replace"])
def test_a_snapshot_stays_of_a_volume(emulator: RunningEmulator, way: str) -> None:
    def resources(zone: str) -> dict[str, Any]:
        properties = {"AvailabilityZone": zone, "Size": 40, "VolumeType": "gp3"}
        policies = {"DeletionPolicy": "Snapshot", "UpdateReplacePolicy": "Snapshot"}
        return {"Home": {"Type": "AWS::EC2::Volume", "Properties": properties, **policies}}

    name = f"snapshot-{way}"
    emulator.create(name, resources("us-west-2a"))
    original = emulator.physical_id(name, "Home")
    status = emulator.delete(name) if way == "delete" else emulator.update(name, resources("us-west-2b"))
    assert status in ("DELETE_COMPLETE", "UPDATE_COMPLETE")
    ec2 = emulator.client("ec2")
    snapshots = ec2.describe_snapshots(Filters=[{"Name": "volume-id", "Values": [original]}])["Snapshots"]
    kept = emulator.ledger(stack=name, action="retain")
    assert [(entry["type"], entry["physical_id"]) for entry in kept] == [
        ("AWS::EC2::Snapshot", snapshot["SnapshotId"]) for snapshot in snapshots
    ]
    assert len(snapshots) == 1
    with pytest.raises(ClientError, match="NotFound"):
        ec2.describe_volumes(VolumeIds=[original])


def test_an_account_lists_the_snapshots_that_are_its_own(emulator: RunningEmulator) -> None:
    ec2 = emulator.client("ec2")
    volume = ec2.create_volume(AvailabilityZone="us-west-2a", Size=1)["VolumeId"]
    made = ec2.create_snapshot(VolumeId=volume)["SnapshotId"]

    own = {each["SnapshotId"] for each in ec2.describe_snapshots(OwnerIds=["self"])["Snapshots"]}
    owners = {each["SnapshotId"]: each["OwnerId"] for each in ec2.describe_snapshots()["Snapshots"]}

    assert own == {snapshot for snapshot, owner in owners.items() if owner == ACCOUNT}
    assert made in own
    assert set(owners) > own, "those of public images"


DATABASE = {
    "Type": "AWS::RDS::DBInstance",
    "Properties": {
        "AllocatedStorage": "20",
        "DBInstanceClass": "db.t4g.micro",
        "Engine": "mysql",
        "MasterUsername": "slurm",
        "MasterUserPassword": "0123456789",
    },
}


def test_a_last_snapshot_stays_of_a_database(emulator: RunningEmulator) -> None:
    emulator.create("accounting", {"Database": {**DATABASE, "DeletionPolicy": "Snapshot"}})
    instance = emulator.physical_id("accounting", "Database")
    assert emulator.delete("accounting") == "DELETE_COMPLETE"
    rds = emulator.client("rds")
    snapshots = rds.describe_db_snapshots(DBInstanceIdentifier=instance)["DBSnapshots"]
    kept = emulator.ledger(stack="accounting", action="retain")
    assert [(entry["type"], entry["physical_id"]) for entry in kept] == [
        ("AWS::RDS::DBSnapshot", snapshot["DBSnapshotIdentifier"]) for snapshot in snapshots
    ]
    assert len(snapshots) == 1
    assert instance not in [found["DBInstanceIdentifier"] for found in rds.describe_db_instances()["DBInstances"]]


def test_a_parameter_group_has_the_parameters_of_its_template(emulator: RunningEmulator) -> None:
    properties = {"Family": "mysql8.4", "Description": "d", "Parameters": {"require_secure_transport": "1"}}
    emulator.create("parameters", {"Group": {"Type": "AWS::RDS::DBParameterGroup", "Properties": properties}})
    group = emulator.physical_id("parameters", "Group")
    found = emulator.client("rds").describe_db_parameters(DBParameterGroupName=group)["Parameters"]
    assert {item["ParameterName"]: item["ParameterValue"] for item in found} == {"require_secure_transport": "1"}
    assert emulator.delete("parameters") == "DELETE_COMPLETE"


def test_a_last_backup_stays_of_an_open_zfs_file_system_and_its_root_volume_is_described(
    emulator: RunningEmulator,
) -> None:
    subnet = {"Type": "AWS::EC2::Subnet", "Properties": {"VpcId": {"Ref": "Vpc"}, "CidrBlock": "10.0.0.0/24"}}
    properties = {
        "FileSystemType": "OPENZFS",
        "StorageCapacity": 64,
        "SubnetIds": [{"Ref": "Subnet"}],
        "OpenZFSConfiguration": {"DeploymentType": "SINGLE_AZ_1", "ThroughputCapacity": 64},
    }
    home = {"Type": "AWS::FSx::FileSystem", "Properties": properties}
    volume = {
        "Type": "AWS::SSM::Parameter",
        "Properties": {"Type": "String", "Value": {"Fn::GetAtt": "Home.RootVolumeId"}},
    }
    emulator.create("home", {"Vpc": VPC, "Subnet": subnet, "Home": home, "Volume": volume})
    fsx, file_system = emulator.client("fsx"), emulator.physical_id("home", "Home")
    parameter = emulator.client("ssm").get_parameter(Name=emulator.physical_id("home", "Volume"))["Parameter"]["Value"]
    (described,) = fsx.describe_volumes(VolumeIds=[parameter])["Volumes"]
    assert (described["FileSystemId"], described["OpenZFSConfiguration"]["VolumePath"]) == (file_system, "/fsx")
    assert emulator.delete("home") == "DELETE_COMPLETE"
    backups = fsx.describe_backups(Filters=[{"Name": "file-system-id", "Values": [file_system]}])["Backups"]
    assert [backup["FileSystem"]["FileSystemId"] for backup in backups] == [file_system]


def test_a_type_without_snapshots_is_refused(emulator: RunningEmulator) -> None:
    with pytest.raises(ClientError, match=r"AWS::SNS::Topic does not support deletion policy Snapshot"):
        emulator.create("no-snapshot", {"Topic": {"Type": "AWS::SNS::Topic", "DeletionPolicy": "Snapshot"}})
