"""Slurm queues as ParallelCluster's configuration wants them."""

from dataclasses import dataclass
from typing import Any, Literal

from slipway import facts

ENTRY_SCRIPT = "node_configured.sh"
"""The one script that ParallelCluster downloads to a node; it fetches the others from beside it."""

SCRATCH_MOUNT_DIR = "/scratch"
"""Where the nodes' local NVMe disks are mounted as one striped volume."""


@dataclass(frozen=True, kw_only=True)
class ComputeResource:
    """Nodes of one instance type inside a queue."""

    name: str
    """Name, unique in the queue."""

    instance_type: str
    """EC2 instance type; a row of the facts."""

    min_count: int
    """Nodes that always run."""

    max_count: int
    """Most nodes that Slurm may launch."""

    efa: bool
    """Whether the nodes use the Elastic Fabric Adapter."""


@dataclass(frozen=True, kw_only=True)
class Queue:
    """A Slurm partition."""

    name: str
    """Name, unique in the cluster."""

    compute_resources: tuple[ComputeResource, ...]
    """The kinds of node in this queue, at least one."""

    capacity_type: Literal["ONDEMAND", "SPOT", "CAPACITY_BLOCK"]
    """How the nodes are bought, in ParallelCluster's words."""

    capacity_reservation_id: str | None
    """Reservation or Capacity Block that the nodes run in."""


@dataclass(frozen=True, kw_only=True)
class NodeAccess:
    """What every node of the cluster gets."""

    subnet_id: str
    """The private subnet."""

    policy_arns: tuple[str, ...]
    """Managed policies for the node roles; the provider's own role may attach only those it allows."""

    script_bucket: str
    """Name of the bucket that holds the node set-up scripts."""

    script_prefix: str
    """Key prefix of the scripts, without slashes at its ends."""


def queue_configuration(queue: Queue, access: NodeAccess) -> dict[str, Any]:
    """Return the `SlurmQueues` item of a queue."""
    configuration: dict[str, Any] = {
        "Name": queue.name,
        "CapacityType": queue.capacity_type,
        # A training job owns its nodes' NeuronCores; Slurm cannot count them (ParallelCluster refuses GresTypes).
        "JobExclusiveAllocation": True,
        "Networking": {
            "SubnetIds": [access.subnet_id],
            "PlacementGroup": {"Enabled": _wants_placement_group(queue)},
        },
        "ComputeSettings": {"LocalStorage": _local_storage(queue)},
        "ComputeResources": [_compute_resource_configuration(resource) for resource in queue.compute_resources],
        "CustomActions": {"OnNodeConfigured": _compute_node_action(queue, access)},
        "Iam": {"AdditionalIamPolicies": [{"Policy": arn} for arn in access.policy_arns]},
    }
    if queue.capacity_reservation_id:
        configuration["CapacityReservationTarget"] = {"CapacityReservationId": queue.capacity_reservation_id}
    return configuration


def _wants_placement_group(queue: Queue) -> bool:
    """A reservation already has its place; a cluster placement group on top of it ends in InsufficientCapacity."""
    return queue.capacity_reservation_id is None and any(resource.efa for resource in queue.compute_resources)


def _local_storage(queue: Queue) -> dict[str, Any]:
    storage: dict[str, Any] = {"RootVolume": {"Size": 200, "VolumeType": "gp3", "Encrypted": True}}
    if any(facts.instance_type(resource.instance_type).nvme_volumes for resource in queue.compute_resources):
        storage["EphemeralVolume"] = {"MountDir": SCRATCH_MOUNT_DIR}
    return storage


def _compute_resource_configuration(resource: ComputeResource) -> dict[str, Any]:
    return {
        "Name": resource.name,
        "InstanceType": resource.instance_type,
        "MinCount": resource.min_count,
        "MaxCount": resource.max_count,
        "Efa": {"Enabled": resource.efa},
    }


def _compute_node_action(queue: Queue, access: NodeAccess) -> dict[str, Any]:
    """The script learns what each instance type of the queue must show before a job may run on it."""
    expectations = [
        f"{kind.name}={kind.neuron_devices}:{kind.efa_interfaces if resource.efa else 0}"
        for resource in queue.compute_resources
        for kind in [facts.instance_type(resource.instance_type)]
    ]
    return {
        "Script": f"s3://{access.script_bucket}/{access.script_prefix}/{ENTRY_SCRIPT}",
        "Args": ["compute", access.script_bucket, access.script_prefix, *expectations],
    }
