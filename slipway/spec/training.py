"""The `training` section: the Slurm cluster that AWS ParallelCluster builds."""

from typing import Annotated, Literal

from pydantic import Field

from slipway import facts
from slipway.spec.section import AvailabilityZoneId, Form, Section

CapacityReservationId = Annotated[
    str, Form(r"cr-[0-9a-f]{17}", "`cr-` and 17 hexadecimal digits", "cr-0123456789abcdef0")
]
"""Id of an On-Demand Capacity Reservation or of a Capacity Block."""


class HeadNode(Section):
    """The node that runs slurmctld and takes logins. It cannot be resized without replacing the cluster."""

    instance_type: str = "m6i.2xlarge"
    """EC2 instance type, x86_64 like the Trainium nodes."""

    root_volume_gib: Annotated[int, Field(ge=50, le=16384)] = 200
    """Size of the encrypted gp3 root volume in GiB."""


class ComputeResource(Section):
    """Nodes of one instance type inside a queue."""

    name: str
    """Name of the compute resource; part of the node names that Slurm shows."""

    instance_type: str
    """EC2 instance type of the nodes."""

    min_count: Annotated[int, Field(ge=0)] = 0
    """Nodes that always run, and are paid, from the first minute. Creation fails when EC2 does not have them."""

    max_count: Annotated[int, Field(ge=1)] = 1
    """Most nodes that Slurm may launch."""

    efa: bool | None = None
    """Elastic Fabric Adapter. Left out, it is on exactly where the instance type has it."""

    @property
    def uses_efa(self) -> bool:
        """Whether the nodes get EFA interfaces: as `efa` says, else if the instance type has them.

        Raises:
            UnknownFact: `efa` is left out and there are no facts about the instance type.
        """
        return facts.instance_type(self.instance_type).efa_interfaces > 0 if self.efa is None else self.efa


class Queue(Section):
    """A Slurm partition. Jobs get whole nodes."""

    name: str
    """Name of the queue: a lower-case letter, then letters, digits and hyphens, 25 characters at most."""

    compute_resources: Annotated[tuple[ComputeResource, ...], Field(min_length=1)]
    """The kinds of node in this queue."""

    availability_zone_id: AvailabilityZoneId | None = None
    """Availability zone id; the training zone when left out. It must be the file system's."""

    capacity_type: Literal["on_demand", "spot", "capacity_block"] = "on_demand"
    """How the nodes are bought. `capacity_block` needs `capacity_reservation_id` and min_count = max_count."""

    capacity_reservation_id: CapacityReservationId | None = None
    """An On-Demand Capacity Reservation or a Capacity Block (`cr-` and 17 hexadecimal digits) that the nodes use."""


class Training(Section):
    """The cluster. Its name and its ParallelCluster version cannot change: another value builds another cluster."""

    cluster_name: str
    """Name of the cluster and of its own CloudFormation stack: a letter, then letters, digits, hyphens; 60 at most."""

    parallelcluster_version: str = "3.16.1"
    """AWS ParallelCluster version; a row of the facts."""

    operating_system: str = "ubuntu2204"
    """Operating system of all nodes by ParallelCluster's name; `ubuntu2204`, `ubuntu2404` or `alinux2023`."""

    neuron_release: str = "2.28.1"
    """AWS Neuron SDK release; a row of the facts. It pins driver, runtime, compiler and framework packages."""

    head_node: HeadNode = HeadNode()
    """The head node."""

    home_gib: Annotated[int, Field(ge=10, le=16384)] = 100
    """Size in GiB of the encrypted gp3 volume that the head node shares as /home."""

    apps_gib: Annotated[int, Field(ge=10, le=16384)] = 200
    """Size in GiB of the encrypted gp3 volume that the head node shares as /apps: virtual environments and tools."""

    scaledown_idletime_minutes: Annotated[int, Field(ge=1, le=1440)] = 10
    """Minutes without a job after which Slurm terminates a node."""

    queue_update_strategy: Literal["DRAIN", "TERMINATE", "COMPUTE_FLEET_STOP"] = "DRAIN"
    """What an update that changes a queue does to its running nodes, in ParallelCluster's words."""

    queues: Annotated[tuple[Queue, ...], Field(min_length=1)]
    """The Slurm partitions; the first is the default one."""
