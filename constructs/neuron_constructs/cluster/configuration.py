"""The complete `ClusterConfiguration` of AWS ParallelCluster, built from typed props.

It stays an object all the way into CloudFormation: the provider refuses a string.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Literal

from neuron_constructs.cluster.queues import ENTRY_SCRIPT, NodeAccess, Queue, queue_configuration


@dataclass(frozen=True, kw_only=True)
class ClusterConfigurationProps:
    """Everything the configuration depends on."""

    region: str
    """AWS Region."""

    operating_system: str
    """ParallelCluster's name of the operating system, for example `ubuntu2204`."""

    head_node_instance_type: str
    """EC2 instance type of the head node."""

    head_node_root_volume_gib: int
    """Root volume of the head node in GiB."""

    login_cidr: str
    """IPv4 range that may reach the head node's SSH port; people come through SSM Session Manager."""

    queues: tuple[Queue, ...]
    """The Slurm partitions, default first."""

    access: NodeAccess
    """Subnet, policies and scripts of all nodes."""

    lustre_file_system_id: str
    """FSx for Lustre file system that all nodes mount at /fsx."""

    home_gib: int
    """Size of the shared /home volume in GiB."""

    apps_gib: int
    """Size of the shared /apps volume in GiB."""

    shared_volume_deletion: Literal["Delete", "Snapshot"]
    """What happens to /home and /apps when the cluster is deleted."""

    scaledown_idletime_minutes: int
    """Minutes without a job after which a node is terminated."""

    queue_update_strategy: Literal["DRAIN", "TERMINATE", "COMPUTE_FLEET_STOP"]
    """What an update does to running nodes of a changed queue."""

    log_retention_days: int
    """How long the cluster's log group keeps events."""

    tags: Mapping[str, str]
    """Tags of every resource and node of the cluster."""


def cluster_configuration(props: ClusterConfigurationProps) -> dict[str, Any]:
    """Return the `ClusterConfiguration` (schema of AWS ParallelCluster 3.16)."""
    return {
        "Region": props.region,
        "Image": {"Os": props.operating_system},
        "Imds": {"ImdsSupport": "v2.0"},
        "HeadNode": _head_node(props),
        "Scheduling": _scheduling(props),
        "SharedStorage": _shared_storage(props),
        "Monitoring": _monitoring(props),
        "Tags": [{"Key": key, "Value": value} for key, value in props.tags.items()],
    }


def _head_node(props: ClusterConfigurationProps) -> dict[str, Any]:
    set_up = {
        # A stable URL and stable arguments: ParallelCluster refuses every update that changes one of them.
        "Script": f"s3://{props.access.script_bucket}/{props.access.script_prefix}/{ENTRY_SCRIPT}",
        "Args": ["head", props.access.script_bucket, props.access.script_prefix],
    }
    return {
        "InstanceType": props.head_node_instance_type,
        "Networking": {"SubnetId": props.access.subnet_id, "ElasticIp": False},
        # Without AllowedIps ParallelCluster opens port 22 to 0.0.0.0/0.
        "Ssh": {"AllowedIps": props.login_cidr},
        "LocalStorage": {
            "RootVolume": {"Size": props.head_node_root_volume_gib, "VolumeType": "gp3", "Encrypted": True}
        },
        "Imds": {"Secured": True},
        "CustomActions": {"OnNodeConfigured": set_up, "OnNodeUpdated": set_up},
        "Iam": {"AdditionalIamPolicies": [{"Policy": arn} for arn in props.access.policy_arns]},
    }


def _scheduling(props: ClusterConfigurationProps) -> dict[str, Any]:
    return {
        "Scheduler": "slurm",
        "SlurmSettings": {
            "ScaledownIdletime": props.scaledown_idletime_minutes,
            "QueueUpdateStrategy": props.queue_update_strategy,
        },
        "SlurmQueues": [queue_configuration(queue, props.access) for queue in props.queues],
    }


def _shared_storage(props: ClusterConfigurationProps) -> list[dict[str, Any]]:
    return [
        {
            "Name": "fsx",
            "MountDir": "/fsx",
            "StorageType": "FsxLustre",
            "FsxLustreSettings": {"FileSystemId": props.lustre_file_system_id},
        },
        _shared_volume("home", props.home_gib, props),
        _shared_volume("apps", props.apps_gib, props),
    ]


def _shared_volume(name: str, size_gib: int, props: ClusterConfigurationProps) -> dict[str, Any]:
    return {
        "Name": name,
        "MountDir": f"/{name}",
        "StorageType": "Ebs",
        "EbsSettings": {
            "Size": size_gib,
            "VolumeType": "gp3",
            "Encrypted": True,
            "DeletionPolicy": props.shared_volume_deletion,
        },
    }


def _monitoring(props: ClusterConfigurationProps) -> dict[str, Any]:
    return {
        "DetailedMonitoring": True,
        "Logs": {
            "CloudWatch": {
                "Enabled": True,
                "RetentionInDays": props.log_retention_days,
                # The default is Retain: the group would stay after the cluster.
                "DeletionPolicy": "Delete",
            }
        },
        "Dashboards": {"CloudWatch": {"Enabled": True}},
        "Alarms": {"Enabled": True},
    }
