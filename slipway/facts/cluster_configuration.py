"""What a cluster configuration may say, and where it goes wrong, beyond the limits in ``ParallelClusterRelease``."""

from __future__ import annotations

from collections.abc import Mapping
from functools import cache
from typing import Annotated

from pydantic import Field

from slipway.facts.rows import FrozenList, FrozenMapping, Row, Text, find, load_rows

_PositiveCount = Annotated[int, Field(ge=1)]
_MIB_PER_GIB = 1024


class ConfigurationLimits(Row):
    """Defaults, limits and removed features of the configuration of one ParallelCluster release.

    Attributes:
        version: For example ``3.16.1``.
        operating_systems: Every ``Image.Os`` that the release accepts, also those that Slipway does not support.
        removed_operating_systems: Former ``Image.Os`` values, with the release that removed each.
        removed_schedulers: The same for ``Scheduling.Scheduler``.
        oldest_deployable_release: Older releases make Lambda functions with a runtime that AWS no longer creates.
        default_max_count: ``MaxCount`` of a compute resource that names none.
        default_scratch_directory: Where a node's own disks are mounted when ``EphemeralVolume`` does not say.
        default_log_retention_days: ``RetentionInDays`` of the log group when the configuration names none.
        nodes_per_gib_of_head_node: Compute nodes for each GiB of the head node's memory.
        head_node_system_mib: Memory of the head node for its operating system.
        most_gib_asked_of_head_node: From here on more nodes need no more memory.
        most_nodes_on_shared_ebs: Compute nodes at most before a volume shared by the head node holds them up.
        denied_slurm_settings: Names that ``SlurmSettings.CustomSlurmSettings`` may not have.
        denied_slurm_settings_with_database: The same, for a cluster with ``SlurmSettings.Database``.
        denied_queue_settings: Names that a queue's ``CustomSlurmSettings`` may not have.
        denied_compute_resource_settings: Names that a compute resource's ``CustomSlurmSettings`` may not have.
        attachable_policies: Patterns of the policy ARNs that the provider's default role may attach to nodes.
    """

    version: Text
    operating_systems: FrozenList[Text]
    removed_operating_systems: FrozenMapping[Text]
    removed_schedulers: FrozenMapping[Text]
    oldest_deployable_release: Text
    default_max_count: _PositiveCount
    default_scratch_directory: Text
    default_log_retention_days: _PositiveCount
    nodes_per_gib_of_head_node: _PositiveCount
    head_node_system_mib: _PositiveCount
    most_gib_asked_of_head_node: _PositiveCount
    most_nodes_on_shared_ebs: _PositiveCount
    denied_slurm_settings: FrozenList[Text]
    denied_slurm_settings_with_database: FrozenList[Text]
    denied_queue_settings: FrozenList[Text]
    denied_compute_resource_settings: FrozenList[Text]
    attachable_policies: FrozenList[Text]

    def head_node_memory_gib(self, nodes: int) -> float:
        """Return the memory in GiB that a head node needs for this many compute nodes."""
        needed = nodes / self.nodes_per_gib_of_head_node + self.head_node_system_mib / _MIB_PER_GIB
        return min(needed, self.most_gib_asked_of_head_node)


class BroadPolicy(Row):
    """An AWS managed policy that gives a node more than it needs.

    Attributes:
        name: Name of the policy; ``*`` stands for any text.
        grants: What it allows, in words.
    """

    name: Text
    grants: Text


class ScriptSource(Row):
    """A public bucket with scripts that examples run as root.

    Attributes:
        bucket: Name of the bucket.
        owner: Who may change the scripts.
    """

    bucket: Text
    owner: Text


class SystemNames(Row):
    """Users and groups that a node has already.

    Attributes:
        owner: What brings them.
        names: The names.
    """

    owner: Text
    names: FrozenList[Text]


@cache
def system_names() -> frozenset[str]:
    """Return every name of a user or group that a node has before Slipway makes any."""
    rows = load_rows(SystemNames, "system_names.yaml", key_field="owner").values()
    return frozenset(name for row in rows for name in row.names)


@cache
def configuration_limits() -> Mapping[str, ConfigurationLimits]:
    """Return the limits of every release by version."""
    return load_rows(ConfigurationLimits, "cluster_configuration.yaml", key_field="version")


def configuration_limit(version: str) -> ConfigurationLimits:
    """Return the limits of one release.

    Raises:
        UnknownFact: Slipway knows no such release.
    """
    return find("ParallelCluster release", version, configuration_limits())


@cache
def broad_policies() -> Mapping[str, BroadPolicy]:
    """Return every broad policy by name, the more exact names first."""
    return load_rows(BroadPolicy, "broad_policies.yaml")


@cache
def script_sources() -> Mapping[str, ScriptSource]:
    """Return every public bucket with scripts by name."""
    return load_rows(ScriptSource, "script_sources.yaml", key_field="bucket")
