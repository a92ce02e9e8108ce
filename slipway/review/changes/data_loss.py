"""Whether users' data go with a change, and cannot be recovered."""

from collections.abc import Iterator, Mapping
from typing import Any

from slipway.assembly.stacks import CLUSTER_TYPE
from slipway.catalogue import known
from slipway.review.changes.model import Effect
from slipway.review.changes.resources import Resource

# What a cluster only mounts has one: https://docs.aws.amazon.com/parallelcluster/latest/ug/SharedStorage-v3.html
_OF_OTHERS = ("VolumeId", "FileSystemId", "FileCacheId")
_KEPT = ("Retain", "RetainExceptOnCreate", "Snapshot")


def loses_data(before: Resource, after: Resource | None, effect: Effect) -> bool:
    """Return whether data go.

    A resource that CloudFormation may replace counts as kept; a note says what would be lost.

    Args:
        before: the resource as it is.
        after: as it will be, None when it goes.
        effect: what happens to it.
    """
    if before.type == CLUSTER_TYPE:
        return any(_lost_volumes(before, None if effect in ("remove", "replace") else after, effect))
    return effect in ("remove", "replace") and holds_data(before) and not _is_kept(before, after, effect)


def holds_data(resource: Resource) -> bool:
    """Return whether a resource holds users' data."""
    return known(resource.type).holds_data is not None


def _is_kept(before: Resource, after: Resource | None, effect: Effect) -> bool:
    # The documents do not say whether a policy counts that comes with the replacement itself: so both must have one.
    if effect == "replace" and after is not None and after.logical_id == before.logical_id:
        return all(side.template.get("UpdateReplacePolicy") in _KEPT for side in (before, after))
    default = known(before.type).default_deletion_policy
    return before.template.get("DeletionPolicy", default) in _KEPT


def _lost_volumes(before: Resource, after: Resource | None, effect: Effect) -> Iterator[str]:
    """Yield the names of a Slurm cluster's own storage that is deleted; ParallelCluster deletes it by default."""
    if effect == "orphan":
        return
    staying = {} if after is None else _volumes(after)
    for name, settings in _volumes(before).items():
        if name not in staying and settings.get("DeletionPolicy", "Delete") not in _KEPT:
            yield name


def _volumes(cluster: Resource) -> Mapping[str, Mapping[str, Any]]:
    storage = cluster.properties.get("ClusterConfiguration", {}).get("SharedStorage", [])
    settings = {row["Name"]: row.get(f"{row.get('StorageType', '')}Settings", {}) for row in storage}
    return {name: values for name, values in settings.items() if values.keys().isdisjoint(_OF_OTHERS)}
