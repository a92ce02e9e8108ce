"""Slurm queues as ParallelCluster's configuration wants them."""

from dataclasses import dataclass
from typing import Any, Literal

from neuron_constructs.cluster.node_access import NodeAccess
from slipway import facts

SCRATCH_MOUNT_DIR = "/scratch"
"""Where the nodes' local NVMe disks are mounted as one striped volume."""

NO_TRAINING_STACK = "none"
"""What a node without accelerator gets as the name of its training stack."""


@dataclass(frozen=True, kw_only=True)
class ComputeResource:
    """Nodes of one instance type inside a queue."""

    name: str
    """Name, unique in the queue."""

    instance_type: str
    """EC2 instance type: a row of the facts, or any CPU type."""

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

    capacity_reservation_id: str | None = None
    """Reservation or Capacity Block that the nodes run in."""

    capacity_reservation_resource_group_arn: str | None = None
    """Instead of one reservation: a resource group of them."""

    placement_group: str | None = None
    """Name of the placement group that the reservation was made in."""

    training_stack: str | None
    """Training stack of the nodes, a row of the facts; none for nodes without accelerator."""

    job_exclusive_allocation: bool
    """Whether a job gets whole nodes."""

    custom_ami_id: str | None = None
    """Image of the nodes instead of ParallelCluster's own."""


def queue_configuration(queue: Queue, access: NodeAccess) -> dict[str, Any]:
    """Return the `SlurmQueues` item of a queue."""
    configuration: dict[str, Any] = {
        "Name": queue.name,
        "CapacityType": queue.capacity_type,
        "JobExclusiveAllocation": queue.job_exclusive_allocation,
        "Networking": {
            "SubnetIds": [access.subnet_id],
            **access.additional_security_groups(),
            "PlacementGroup": _placement_group(queue),
            **access.proxy(),
        },
        "ComputeSettings": {"LocalStorage": _local_storage(queue)},
        "ComputeResources": [_compute_resource_configuration(resource) for resource in queue.compute_resources],
        "CustomActions": {"OnNodeConfigured": _compute_node_action(queue, access)},
        "Iam": access.additional_iam_policies("compute"),
    }
    if target := _capacity_reservation_target(queue):
        configuration["CapacityReservationTarget"] = target
    if queue.custom_ami_id:
        configuration["Image"] = {"CustomAmi": queue.custom_ami_id}
    return configuration


def _capacity_reservation_target(queue: Queue) -> dict[str, str]:
    if queue.capacity_reservation_id:
        return {"CapacityReservationId": queue.capacity_reservation_id}
    if queue.capacity_reservation_resource_group_arn:
        return {"CapacityReservationResourceGroupArn": queue.capacity_reservation_resource_group_arn}
    return {}


def _placement_group(queue: Queue) -> dict[str, Any]:
    """A reservation already has its place; another placement group on top of it ends in InsufficientCapacity."""
    if queue.placement_group:
        return {"Enabled": True, "Name": queue.placement_group}
    wanted = not _capacity_reservation_target(queue) and any(resource.efa for resource in queue.compute_resources)
    return {"Enabled": wanted}


def _local_storage(queue: Queue) -> dict[str, Any]:
    storage: dict[str, Any] = {"RootVolume": {"Size": 200, "VolumeType": "gp3", "Encrypted": True}}
    if any(facts.devices(resource.instance_type).nvme_volumes for resource in queue.compute_resources):
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
    expectations = (
        f"{resource.instance_type}={kind.neuron_devices}:{kind.efa_interfaces if resource.efa else 0}"
        for resource in queue.compute_resources
        for kind in [facts.devices(resource.instance_type)]
    )
    return access.node_set_up("compute", queue.training_stack or NO_TRAINING_STACK, *dict.fromkeys(expectations))
