"""PF25: file systems that are there already are as the environment file says."""

from collections.abc import Iterator, Mapping
from functools import partial
from typing import Any

from botocore.exceptions import ClientError

from slipway.assembly.existing import EFS, LUSTRE, OPEN_ZFS, SECURITY_GROUP, ExistingResource
from slipway.aws.account import Account
from slipway.check.preflight.answer import Answer
from slipway.check.preflight.check import check
from slipway.check.preflight.needs import Needs

_Answer = partial(Answer, check="PF25")
_MISSING = frozenset(
    {
        "FileSystemNotFound",
        "FileSystemNotFoundFault",
        "VolumeNotFound",
        "InvalidGroup.NotFound",
        "InvalidGroupId.Malformed",
    }
)
_PROBLEM = "name the right one in the environment file, or change it"


@check(
    "PF25",
    "file systems that are there already",
    stage="existence",
    prevents="Nodes that cannot mount /fsx or /home, or reads from another zone by the gigabyte.",
    actions=(
        "ec2:DescribeSecurityGroups",
        "ec2:DescribeSubnets",
        "elasticfilesystem:DescribeMountTargets",
        "fsx:DescribeDataRepositoryAssociations",
        "fsx:DescribeFileSystems",
        "fsx:DescribeVolumes",
    ),
)
def existing_file_systems(needs: Needs, account: Account) -> Iterator[Answer]:
    """Compare each with what the environment file says of it."""
    readers = {LUSTRE: _lustre, OPEN_ZFS: _open_zfs, EFS: _efs, SECURITY_GROUP: _group}
    for resource in needs.existing(*readers):
        subject = f"{resource.kind} {resource.id}"
        try:
            problems = list(readers[resource.kind](resource, account))
        except ClientError as error:
            if error.response["Error"]["Code"] not in _MISSING:
                raise
            message = f"{needs.region} of this account has none with this id"
            yield _Answer(status="failed", subject=subject, message=message, fix=_PROBLEM)
            continue
        if problems:
            yield _Answer(status="failed", subject=subject, message="; ".join(problems), fix=_PROBLEM)
        else:
            yield _Answer(status="passed", subject=subject, message="it is as the environment file says")
        if resource.kind == LUSTRE:
            yield from _associations(resource, account)


def _lustre(resource: ExistingResource, account: Account) -> Iterator[str]:
    said = dict(resource.facts)
    found = account.client("fsx").describe_file_systems(FileSystemIds=[resource.id])["FileSystems"][0]
    configuration = found.get("LustreConfiguration", {})
    real = {
        "mount_name": configuration.get("MountName"),
        "capacity_gib": found["StorageCapacity"],
        "throughput_mb_s_per_tib": configuration.get("PerUnitStorageThroughput", said["throughput_mb_s_per_tib"]),
    }
    yield from (f"{name} is {real[name]}, not {said[name]}" for name in real if real[name] != said[name])
    yield from _state_and_zone(found, str(said["zone"]), account)


def _open_zfs(resource: ExistingResource, account: Account) -> Iterator[str]:
    volume = account.client("fsx").describe_volumes(VolumeIds=[resource.id])["Volumes"][0]
    answer = account.client("fsx").describe_file_systems(FileSystemIds=[volume["FileSystemId"]])
    yield from _state_and_zone(answer["FileSystems"][0], str(dict(resource.facts)["zone"]), account)


def _efs(resource: ExistingResource, account: Account) -> Iterator[str]:
    targets = account.client("efs").describe_mount_targets(FileSystemId=resource.id)["MountTargets"]
    zone = str(dict(resource.facts)["zone"])
    zones = sorted(target["AvailabilityZoneId"] for target in targets)
    if zone not in zones:
        yield f"it has mount targets in {', '.join(zones) or 'no zone'}, and none in {zone}"


def _group(resource: ExistingResource, account: Account) -> Iterator[str]:
    """Yield nothing: a group that is not there raises."""
    account.client("ec2").describe_security_groups(GroupIds=[resource.id])
    yield from ()


def _state_and_zone(found: Mapping[str, Any], zone: str, account: Account) -> Iterator[str]:
    if found["Lifecycle"] not in {"AVAILABLE", "UPDATING"}:
        yield f"its state is {found['Lifecycle']}"
    subnets = account.client("ec2").describe_subnets(SubnetIds=found["SubnetIds"])["Subnets"]
    zones = sorted({subnet["AvailabilityZoneId"] for subnet in subnets})
    if zone not in zones:
        yield f"it is in {', '.join(zones)}, and the training zone is {zone}"


def _associations(resource: ExistingResource, account: Account) -> Iterator[Answer]:
    """Say what of the folders that Slipway links on its own file systems is linked here."""
    filters = [{"Name": "file-system-id", "Values": [resource.id]}]
    found = account.client("fsx").describe_data_repository_associations(Filters=filters)["Associations"]
    linked = {row["FileSystemPath"]: row["DataRepositoryPath"] for row in found}
    for path in ("/data", "/checkpoints"):
        subject = f"{resource.id}, {path}"
        if path in linked:
            yield _Answer(status="passed", subject=subject, message=f"it is linked with {linked[path]}")
        else:
            message = "no data repository association links it with a bucket: what is written there is nowhere else"
            fix = "link it with your bucket (`slipway docs existing-resources`), or back it up in another way"
            yield _Answer(status="warning", subject=subject, message=message, fix=fix)
