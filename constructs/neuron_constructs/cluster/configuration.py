"""The complete `ClusterConfiguration` of AWS ParallelCluster, built from typed props.

It stays an object all the way into CloudFormation: the provider refuses a string.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Literal

from neuron_constructs.cluster.access import (
    DirectoryService,
    LoginNodes,
    Ssh,
    directory_service_configuration,
    head_node_ssh,
    login_nodes_configuration,
)
from neuron_constructs.cluster.node_access import NodeAccess
from neuron_constructs.cluster.queues import Queue, queue_configuration
from neuron_constructs.cluster.shared_storage import SharedStorage, shared_storage_configuration
from slipway import facts

HEALTH_CHECK_PROGRAM = "/opt/slurm/etc/slipway/health_check.sh"
"""Where the head node's set-up puts the program with which slurmd looks at an idle node."""

HEALTH_CHECK_SECONDS = 300
"""How often slurmd runs it."""


@dataclass(frozen=True, kw_only=True)
class HeadNode:
    """The node that runs slurmctld."""

    instance_type: str
    """EC2 instance type."""

    root_volume_gib: int
    """Root volume in GiB."""

    custom_ami_id: str | None = None
    """Image of the node, baked for the ParallelCluster version; AWS's own when left out."""


@dataclass(frozen=True, kw_only=True)
class AccountingDatabase:
    """A MySQL database for slurmdbd."""

    endpoint: str
    """`host:port`."""

    user_name: str
    """The user that owns the accounting database."""

    password_secret_arn: str
    """Secret with the password as plain text, not as JSON."""

    client_security_group_id: str
    """Security group that may connect; the head node gets it."""


@dataclass(frozen=True, kw_only=True)
class ClusterConfigurationProps:
    """Everything the configuration depends on."""

    region: str
    """AWS Region."""

    parallelcluster_version: str
    """AWS ParallelCluster release, a row of the facts."""

    operating_system: str
    """ParallelCluster's name of the operating system, for example `ubuntu2204`."""

    head_node: HeadNode
    """The head node."""

    login_nodes: LoginNodes | None = None
    """Nodes for people."""

    ssh: Ssh | None = None
    """Who may use SSH; without it people come through SSM Session Manager only."""

    directory_service: DirectoryService | None = None
    """Where users come from."""

    accounting_database: AccountingDatabase | None = None
    """Where slurmdbd keeps its records."""

    queues: tuple[Queue, ...]
    """The Slurm partitions, default first."""

    access: NodeAccess
    """Subnet, policies and scripts of all nodes."""

    shared_storage: SharedStorage
    """What all nodes mount."""

    scaledown_idletime_minutes: int
    """Minutes without a job after which a node is terminated."""

    kill_wait_seconds: int
    """Seconds between Slurm's SIGTERM and its SIGKILL."""

    queue_update_strategy: Literal["DRAIN", "TERMINATE", "COMPUTE_FLEET_STOP"]
    """What an update does to running nodes of a changed queue."""

    managed_dns: bool = True
    """Whether Slurm's node names are names of a private hosted zone of Route 53, which the head node writes. Without a
    way to the internet it cannot: Route 53 has no VPC endpoint. Nodes then have EC2's host names."""

    log_retention_days: int
    """How long the cluster's log group keeps events."""

    permissions_boundary_arn: str | None = None
    """Managed policy that bounds every role of the cluster."""

    tags: Mapping[str, str]
    """Tags of every resource and node of the cluster."""


def cluster_configuration(props: ClusterConfigurationProps) -> dict[str, Any]:
    """Return the `ClusterConfiguration` (schema of AWS ParallelCluster 3.16).

    Raises:
        slipway.facts.UnknownFact: there is no row for the ParallelCluster release.
    """
    configuration: dict[str, Any] = {
        "Region": props.region,
        "Image": {"Os": props.operating_system},
        "Imds": {"ImdsSupport": "v2.0"},
        "HeadNode": _head_node(props),
        "Scheduling": _scheduling(props),
        "SharedStorage": shared_storage_configuration(props.shared_storage),
        "Monitoring": _monitoring(props),
        "DevSettings": {"Timeouts": _timeouts(props)},
        "Tags": [{"Key": key, "Value": value} for key, value in props.tags.items()],
    }
    if props.login_nodes:
        configuration["LoginNodes"] = login_nodes_configuration(props.login_nodes, props.ssh, props.access)
    if props.directory_service:
        configuration["DirectoryService"] = directory_service_configuration(props.directory_service)
    if props.permissions_boundary_arn:
        configuration["Iam"] = {"PermissionsBoundary": props.permissions_boundary_arn}
    return configuration


def _head_node(props: ClusterConfigurationProps) -> dict[str, Any]:
    set_up = props.access.node_set_up("head")
    accounting = (props.accounting_database.client_security_group_id,) if props.accounting_database else ()
    image = props.head_node.custom_ami_id
    return {
        **({"Image": {"CustomAmi": image}} if image else {}),
        "InstanceType": props.head_node.instance_type,
        "Networking": {
            "SubnetId": props.access.subnet_id,
            "ElasticIp": False,
            **props.access.additional_security_groups(*accounting),
            **props.access.proxy(),
        },
        "Ssh": head_node_ssh(props.ssh),
        "LocalStorage": {
            "RootVolume": {"Size": props.head_node.root_volume_gib, "VolumeType": "gp3", "Encrypted": True}
        },
        "Imds": {"Secured": True},
        "CustomActions": {"OnNodeConfigured": set_up, "OnNodeUpdated": set_up},
        "Iam": props.access.additional_iam_policies("head"),
    }


def _scheduling(props: ClusterConfigurationProps) -> dict[str, Any]:
    settings: dict[str, Any] = {
        "ScaledownIdletime": props.scaledown_idletime_minutes,
        "QueueUpdateStrategy": props.queue_update_strategy,
        "CustomSlurmSettings": [
            {"HealthCheckProgram": HEALTH_CHECK_PROGRAM},
            {"HealthCheckInterval": HEALTH_CHECK_SECONDS},
            {"HealthCheckNodeState": "IDLE"},
            # All nodes of a job run the prolog when they are allocated, not each with its first step.
            {"PrologFlags": "Alloc"},
            # ParallelCluster's 30 s are too short for a checkpoint.
            {"KillWait": props.kill_wait_seconds},
        ],
    }
    if not props.managed_dns:
        settings["Dns"] = {"DisableManagedDns": True, "UseEc2Hostnames": True}
    if props.accounting_database:
        settings["Database"] = {
            "Uri": props.accounting_database.endpoint,
            "UserName": props.accounting_database.user_name,
            "PasswordSecretArn": props.accounting_database.password_secret_arn,
        }
    return {
        "Scheduler": "slurm",
        "SlurmSettings": settings,
        "SlurmQueues": [queue_configuration(queue, props.access) for queue in props.queues],
    }


def _monitoring(props: ClusterConfigurationProps) -> dict[str, Any]:
    return {
        "DetailedMonitoring": True,
        "Logs": {
            "CloudWatch": {
                "Enabled": True,
                "RetentionInDays": props.log_retention_days,
                # With Delete the roll-back of a failed creation takes along what the nodes said of it.
                "DeletionPolicy": "Retain",
            }
        },
        "Dashboards": {"CloudWatch": {"Enabled": True}},
        "Alarms": {"Enabled": True},
    }


def _timeouts(props: ClusterConfigurationProps) -> dict[str, int]:
    """One budget for head and compute nodes, of which the nodes' own scripts get their part (`cluster_file`)."""
    release = facts.parallelcluster_release(props.parallelcluster_version)
    return {
        "HeadNodeBootstrapTimeout": release.head_node_bootstrap_timeout_seconds,
        "ComputeNodeBootstrapTimeout": release.compute_node_bootstrap_timeout_seconds,
    }
