"""What is left after a teardown, in the words of the AWS APIs, and whether someone wrote down that it would be."""

from collections.abc import Iterator
from dataclasses import dataclass
from fnmatch import fnmatchcase

from slipway.documented_leftovers import rules
from slipway.teardown.account import Account
from slipway.teardown.extent import Extent
from slipway.teardown.inspection import VOLUME, Inspection
from slipway.teardown.stacks import SkippedResource, skipped_resources, standing_stacks


@dataclass(frozen=True)
class Remainder:
    """Something that is still there.

    Attributes:
        what: what it is, with its name or id.
        reason: why.
        documented: whether that is as it should be.
    """

    what: str
    reason: str
    documented: bool


def find_remains(extent: Extent, before: Inspection, account: Account) -> list[Remainder]:
    """Ask CloudFormation, EC2 and S3 what is left of an environment."""
    standing = standing_stacks(account.cloudformation)
    return [
        *(
            Remainder(f"stack {name}", f"it is in {standing[name].status}", documented=False)
            for name in extent.stack_names
            if name in standing
        ),
        *(_skipped(extent, resource) for resource in skipped_resources(account.cloudformation, before.stack_ids)),
        *_snapshots(before, account),
        *_buckets(account),
    ]


def _skipped(extent: Extent, resource: SkippedResource) -> Remainder:
    what = f"{resource.type} {resource.physical_id}"
    for row in rules().documented:
        if fnmatchcase(resource.physical_id, row.name):
            return Remainder(what, row.reason, documented=True)
    chosen = {(kept.stack, kept.logical_id) for kept in extent.kept}
    for data in rules().kept_data:
        if data.type == resource.type and (resource.stack, resource.logical_id) in chosen:
            return Remainder(what, data.reason, documented=True)
    for cluster in extent.clusters:
        if resource.type == VOLUME and resource.stack == cluster.name and "Retain" in cluster.volumes.values():
            return Remainder(what, "The environment file keeps a volume of the cluster.", documented=True)
    return Remainder(
        what, f"the deletion policy of {resource.stack}/{resource.logical_id} left it alone", documented=False
    )


def _snapshots(before: Inspection, account: Account) -> Iterator[Remainder]:
    if not before.volumes:
        return
    filters = [{"Name": "volume-id", "Values": list(before.volumes)}]
    pages = account.ec2.get_paginator("describe_snapshots").paginate(OwnerIds=["self"], Filters=filters)
    for page in pages:
        for snapshot in page["Snapshots"]:
            what = f"EBS snapshot {snapshot['SnapshotId']} of {snapshot['VolumeId']}"
            yield Remainder(what, "A volume of the cluster as it was last.", documented=True)


def _buckets(account: Account) -> Iterator[Remainder]:
    """What ParallelCluster keeps for all clusters of the account and Region."""
    names = [bucket["Name"] for bucket in account.s3.list_buckets(BucketRegion=account.region)["Buckets"]]
    for row in rules().documented:
        if row.kind == "S3 bucket" and row.left_by == "ParallelCluster":
            for name in names:
                if fnmatchcase(name, row.name):
                    yield Remainder(f"S3 bucket {name}", row.reason, documented=True)
