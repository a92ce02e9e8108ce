"""Snapshots and backups of what holds data: the copies that stay when the original goes."""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass

from slipway.aws.account import Account
from slipway.aws.stacks import physical_ids

FILE_SYSTEM = "AWS::FSx::FileSystem"


@dataclass(frozen=True)
class DataHolders:
    """What holds data and can be copied by its service, by physical id.

    Attributes:
        volumes: EBS volumes of the clusters.
        file_systems: FSx file systems.
        databases: RDS instances.
    """

    volumes: tuple[str, ...] = ()
    file_systems: tuple[str, ...] = ()
    databases: tuple[str, ...] = ()


@dataclass(frozen=True)
class Copy:
    """A snapshot or a backup.

    Attributes:
        kind: what it is.
        id: its id.
        original: id of what it was made of.
    """

    kind: str
    id: str
    original: str


def find_data_holders(account: Account, stack_ids: Iterable[str]) -> DataHolders:
    """Return what holds data in some stacks."""
    stack_ids = tuple(stack_ids)

    def ids(resource_type: str) -> tuple[str, ...]:
        found = (physical_ids(account.client("cloudformation"), stack_id, resource_type) for stack_id in stack_ids)
        return tuple(id_ for resources in found for id_ in resources.values())

    return DataHolders(
        volumes=ids("AWS::EC2::Volume"),
        file_systems=ids(FILE_SYSTEM),
        databases=ids("AWS::RDS::DBInstance"),
    )


def find_copies(account: Account, holders: DataHolders) -> Iterator[Copy]:
    """Yield the copies of these volumes, file systems and databases, whoever made them."""
    if holders.volumes:
        filters = [{"Name": "volume-id", "Values": list(holders.volumes)}]
        pages = account.client("ec2").get_paginator("describe_snapshots").paginate(OwnerIds=["self"], Filters=filters)
        for page in pages:
            for snapshot in page["Snapshots"]:
                yield Copy("EBS snapshot", snapshot["SnapshotId"], snapshot["VolumeId"])
    yield from backups(account, holders.file_systems)
    for database in holders.databases:
        pages = account.client("rds").get_paginator("describe_db_snapshots").paginate(DBInstanceIdentifier=database)
        for page in pages:
            for snapshot in page["DBSnapshots"]:
                yield Copy("RDS snapshot", snapshot["DBSnapshotIdentifier"], database)


def backups(account: Account, file_systems: Iterable[str]) -> Iterator[Copy]:
    """Yield the backups of FSx file systems."""
    for file_system in file_systems:
        filters = [{"Name": "file-system-id", "Values": [file_system]}]
        for page in account.client("fsx").get_paginator("describe_backups").paginate(Filters=filters):
            yield from (Copy("FSx backup", backup["BackupId"], file_system) for backup in page["Backups"])
