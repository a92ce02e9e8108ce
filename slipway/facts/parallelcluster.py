"""AWS ParallelCluster releases: what a cluster configuration may say, as the release itself checks it."""

from __future__ import annotations

from collections.abc import Mapping
from functools import cache
from typing import Annotated

from pydantic import Field

from slipway.facts.rows import FrozenList, Row, Text, find, load_rows

_PositiveCount = Annotated[int, Field(ge=1)]


class ParallelClusterRelease(Row):
    """Limits of one ParallelCluster release.

    Attributes:
        version: For example ``3.16.1``. A cluster can be updated only with the version that created it.
        operating_systems: ``Image.Os`` values that Slipway supports; official AMIs exist for each.
        regions: Regions the release supports.
        max_queues: Slurm queues in a cluster.
        max_compute_resources: Compute resources in a cluster, over all queues.
        cluster_name_pattern: Regular expression for the characters of a cluster name.
        max_cluster_name_length: Characters in a cluster name.
        max_cluster_name_length_with_accounting: The same for a cluster with a Slurm accounting database.
        queue_name_pattern: Regular expression for queue and compute resource names.
        max_queue_name_length: Characters in a queue or compute resource name.
        reserved_names: Queue and compute resource names that are refused.
        max_tags: Tags on a cluster.
        reserved_tag_prefix: Tag keys with this prefix are refused.
        reserved_mount_directories: Directories where no shared storage may be mounted.
        default_root_volume_gib: Root volume of a node when none is configured.
        default_bootstrap_timeout_seconds: Time for the head node, and for a compute node, when none is configured.
        node_start_seconds: Kept for what ParallelCluster and EC2 do around our set-up: for the head node from the start
            of the cluster's stack, for a compute node from its request.
        custom_resource_timeout_seconds: Time CloudFormation gives the cluster's custom resource to finish.
        custom_resource_reserve_seconds: Part of it for everything but the wait for the head node.
        addresses_per_efa_node: VPC addresses of a compute node with EFA: its EFA-only interfaces have none.
        script_bucket_prefixes: A bucket whose name starts so may be read by the provider's default role.
    """

    version: Text
    operating_systems: FrozenList[Text]
    regions: FrozenList[Text]
    max_queues: _PositiveCount
    max_compute_resources: _PositiveCount
    cluster_name_pattern: Text
    max_cluster_name_length: _PositiveCount
    max_cluster_name_length_with_accounting: _PositiveCount
    queue_name_pattern: Text
    max_queue_name_length: _PositiveCount
    reserved_names: FrozenList[Text]
    max_tags: _PositiveCount
    reserved_tag_prefix: Text
    reserved_mount_directories: FrozenList[Text]
    default_root_volume_gib: _PositiveCount
    default_bootstrap_timeout_seconds: _PositiveCount
    node_start_seconds: _PositiveCount
    custom_resource_timeout_seconds: _PositiveCount
    custom_resource_reserve_seconds: _PositiveCount
    addresses_per_efa_node: _PositiveCount
    script_bucket_prefixes: FrozenList[Text]

    @property
    def head_node_bootstrap_timeout_seconds(self) -> int:
        """Time for the head node: what CloudFormation leaves of the custom resource's hour.

        ParallelCluster's wait for the head node begins with the cluster's stack, and ends when all static nodes run
        (aws-parallelcluster 3.16.1, templates/cluster_stack.py, ``_add_wait_condition``; aws-parallelcluster-cookbook,
        aws-parallelcluster-slurm/recipes/finalize/finalize_head_node.rb).
        """
        return self.custom_resource_timeout_seconds - self.custom_resource_reserve_seconds

    @property
    def node_setup_seconds(self) -> int:
        """Time for our set-up of one node: the head node's and a static node's, one after the other, must fit in."""
        return self.head_node_bootstrap_timeout_seconds // 2 - self.node_start_seconds

    @property
    def compute_node_bootstrap_timeout_seconds(self) -> int:
        """Time for a compute node, from its request until it can take a job."""
        return self.node_start_seconds + self.node_setup_seconds


@cache
def parallelcluster_releases() -> Mapping[str, ParallelClusterRelease]:
    """Return every ParallelCluster release by version."""
    return load_rows(ParallelClusterRelease, "parallelcluster_releases.yaml", key_field="version")


def parallelcluster_release(version: str) -> ParallelClusterRelease:
    """Return one ParallelCluster release.

    Raises:
        UnknownFact: Slipway knows no such release.
    """
    return find("ParallelCluster release", version, parallelcluster_releases())
