"""What is left is told from what may be left; CloudFormation's history is the witness."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, cast

import pytest

from slipway.aws.account import Account
from slipway.aws.stacks import failed_deletions
from slipway.remove.leftovers.findings import Findings, Leftover
from slipway.remove.scope import Scope, read_scope
from slipway.remove.teardown.copies import DataHolders, backups
from slipway.remove.teardown.inference_services import InferenceServices
from slipway.remove.teardown.inspection import Inspection
from slipway.remove.teardown.programs import Programs
from slipway.remove.teardown.remains import Remainder, find_remains, not_named
from slipway.remove.teardown.teardown import Teardown
from tests.remove.teardown.fakes import CLUSTER, NETWORK, REGION, answering, write_assembly

Event = Mapping[str, str]

BEFORE = Inspection(
    stacks={},
    stack_ids=(NETWORK, CLUSTER),
    data=DataHolders(),
    lost_file_systems=(),
    lost_buckets=(),
    exports=(),
    nodes={},
    jobs={},
    made_by_kubernetes={},
    inference=InferenceServices(cast("Account", None), (), ()),
    serving=(),
    protected_load_balancers=(),
)


@dataclass
class History:
    """A CloudFormation client whose stacks are gone and whose history a test wrote down, newest first."""

    events: Sequence[Event] = ()

    def get_paginator(self, operation: str) -> "History":
        assert operation in ("describe_stacks", "describe_stack_events")
        return self

    def paginate(self, **parameters: str) -> Iterator[dict[str, Any]]:
        stack = parameters.get("StackName")
        yield {"Stacks": [], "StackEvents": [event for event in self.events if event["StackName"] == stack]}


def event(stack: str, type_: str, status: str, *, logical_id: str = "Vpc", physical_id: str = "vpc-1") -> Event:
    return {
        "StackName": stack,
        "LogicalResourceId": logical_id,
        "PhysicalResourceId": physical_id,
        "ResourceType": type_,
        "ResourceStatus": status,
        "ResourceStatusReason": "resource sg-1 has a dependent object",
    }


@pytest.fixture
def scope(tmp_path: Path) -> Scope:
    return read_scope(write_assembly(tmp_path / "assembly"))


def remains(scope: Scope, account: Account, *events: Event) -> list[Remainder]:
    return find_remains(scope, BEFORE, answering(account, "cloudformation", History(events)))


@pytest.mark.parametrize(
    ("stack", "type_", "physical_id"),
    [
        (NETWORK, "AWS::EC2::VPC", "vpc-1"),
        (CLUSTER, "AWS::EC2::Volume", "vol-1"),
    ],
)
def test_what_the_environment_or_parallelcluster_keeps_may_be_left(
    scope: Scope, account: Account, stack: str, type_: str, physical_id: str
) -> None:
    (left,) = remains(scope, account, event(stack, type_, "DELETE_SKIPPED", physical_id=physical_id))

    assert (left.what, left.documented) == (f"{type_} {physical_id}", True)
    assert left.reason


@pytest.mark.parametrize(
    ("stack", "type_", "logical_id"),
    [
        (NETWORK, "AWS::EC2::VPC", "Other"),
        (NETWORK, "AWS::SNS::Topic", "Vpc"),
        (CLUSTER, "AWS::EC2::SecurityGroup", "Group"),
    ],
)
def test_everything_else_may_not(scope: Scope, account: Account, stack: str, type_: str, logical_id: str) -> None:
    (left,) = remains(scope, account, event(stack, type_, "DELETE_SKIPPED", logical_id=logical_id))

    assert not left.documented
    assert f"{stack}/{logical_id}" in left.reason


def test_what_was_deleted_is_not_left(scope: Scope, account: Account) -> None:
    assert remains(scope, account, event(NETWORK, "AWS::EC2::VPC", "DELETE_COMPLETE")) == []


def test_snapshots_and_backups_of_what_held_data_are_named(scope: Scope, account: Account) -> None:
    volume = account.client("ec2").create_volume(Size=1, AvailabilityZone=f"{REGION}a")["VolumeId"]
    snapshot = account.client("ec2").create_snapshot(VolumeId=volume)["SnapshotId"]
    file_system, backup = file_system_with_backup(account)
    database = "accounting"
    account.client("rds").create_db_instance(
        DBInstanceIdentifier=database,
        Engine="mysql",
        DBInstanceClass="db.t4g.medium",
        AllocatedStorage=20,
    )
    account.client("rds").create_db_snapshot(DBInstanceIdentifier=database, DBSnapshotIdentifier="last")
    data = DataHolders(volumes=(volume,), file_systems=(file_system,), databases=(database,))

    left = find_remains(scope, replace(BEFORE, stack_ids=(), data=data), account)

    # moto makes an automated snapshot of its own, too.
    assert {remainder.what for remainder in left} >= {
        f"EBS snapshot {snapshot} of {volume}",
        f"FSx backup {backup} of {file_system}",
        f"RDS snapshot last of {database}",
    }
    assert all(remainder.documented for remainder in left)


def file_system_with_backup(account: Account) -> tuple[str, str]:
    file_system = account.client("fsx").create_file_system(
        FileSystemType="OPENZFS", StorageCapacity=64, SubnetIds=["subnet-12345678"]
    )["FileSystem"]["FileSystemId"]
    return file_system, account.client("fsx").create_backup(FileSystemId=file_system)["Backup"]["BackupId"]


def test_of_a_lost_file_system_the_last_backup_goes_and_older_ones_stay(
    account: Account, scope: Scope, tmp_path: Path
) -> None:
    file_system, older = file_system_with_backup(account)
    found = replace(BEFORE, lost_file_systems=(file_system,))
    said: list[str] = []
    teardown = Teardown(scope, found, account, Programs(tmp_path, tmp_path), tmp_path, 0, said.append)
    somebodys = teardown.backups_so_far()
    last = account.client("fsx").create_backup(FileSystemId=file_system)["Backup"]["BackupId"]

    teardown.delete_last_backups(somebodys)

    assert [backup.id for backup in backups(account, [file_system])] == [older]
    assert said == [f"last backup {last} of {file_system} deleted"]


def test_a_second_run_takes_a_copy_for_what_it_is() -> None:
    common: Any = {"name": "x", "why": "tag", "since": None, "usd_per_month": 1.0, "cost": "$1", "holds_data": True}
    rows = [
        Leftover(kind="EBS snapshot", id="snap-1", reason=None, **common),
        Leftover(kind="EBS volume", id="vol-1", reason=None, **common),
    ]
    found = Findings(
        environment="tiny",
        account="1",
        region=REGION,
        standing=(),
        leftovers=tuple(rows),
        tagged_only=(),
        shared=(),
        existing=(),
        not_looked_at=(),
        commands=(),
    )

    assert [left.documented for left in not_named(found, [])] == [True, False]


def test_parallelclusters_bucket_of_the_region_is_named(scope: Scope, account: Account) -> None:
    for name in ("parallelcluster-0a1b2c3d4e5f6789-v1-do-not-delete", "somebody-elses"):
        account.client("s3").create_bucket(Bucket=name, CreateBucketConfiguration={"LocationConstraint": REGION})

    (left,) = remains(scope, account)

    assert left.what == "S3 bucket parallelcluster-0a1b2c3d4e5f6789-v1-do-not-delete"
    assert left.documented


def test_node_images_of_the_environment_are_named(scope: Scope, account: Account) -> None:
    image = account.client("ec2").register_image(Name="tiny-cluster-xla-2-28-1-ubuntu2204")["ImageId"]
    account.client("ec2").create_tags(Resources=[image], Tags=[{"Key": "slipway:environment", "Value": "tiny"}])
    account.client("ec2").register_image(Name="somebody-elses")

    (left,) = remains(scope, account)

    assert (left.what, left.documented) == (f"AMI {image}", True)


def test_only_failures_of_the_last_deletion_are_told() -> None:
    history = History(
        [
            event(CLUSTER, "AWS::CloudFormation::Stack", "DELETE_FAILED", physical_id=CLUSTER),
            event(CLUSTER, "AWS::EC2::SecurityGroup", "DELETE_FAILED", logical_id="Nodes"),
            event(CLUSTER, "AWS::CloudFormation::Stack", "DELETE_IN_PROGRESS", physical_id=CLUSTER),
            event(CLUSTER, "AWS::EC2::PlacementGroup", "DELETE_FAILED", logical_id="Old"),
        ]
    )

    assert list(failed_deletions(history, [CLUSTER])) == [
        f"{CLUSTER}/Nodes (AWS::EC2::SecurityGroup): resource sg-1 has a dependent object"
    ]
