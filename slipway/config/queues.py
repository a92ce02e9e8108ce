"""Slurm queues of the `training` section and the nodes in them."""

from typing import Annotated, Literal

from pydantic import Field

from slipway import facts
from slipway.config.section import AvailabilityZoneId, Form, Section

CapacityReservationId = Annotated[
    str, Form(r"cr-[0-9a-f]{17}", "`cr-` and 17 hexadecimal digits", "cr-0123456789abcdef0")
]
"""Id of an On-Demand Capacity Reservation or of a Capacity Block."""

ResourceGroupArn = Annotated[
    str,
    Form(
        r"arn:aws[a-z-]*:resource-groups:[a-z0-9-]+:[0-9]{12}:group/[A-Za-z0-9_.-]+",
        "the ARN of a resource group",
        "arn:aws:resource-groups:us-west-2:111122223333:group/trn1-reservations",
    ),
]
"""ARN of an AWS Resource Groups group of On-Demand Capacity Reservations."""

PlacementGroupName = Annotated[
    str, Form(r"[!-~]([ -~]{0,253}[!-~])?", "1 to 255 ASCII characters without a space at the ends", "trn1-reserved")
]
"""Name of an EC2 placement group (EC2 API reference, CreatePlacementGroup, GroupName)."""

AmiId = Annotated[str, Form(r"ami-[0-9a-f]{17}", "`ami-` and 17 hexadecimal digits", "ami-0123456789abcdef0")]
"""Id of an Amazon Machine Image."""


class ComputeResource(Section):
    """Nodes of one instance type inside a queue."""

    name: str
    """Name of the compute resource; part of the node names that Slurm shows."""

    instance_type: str
    """EC2 instance type of the nodes. Any x86_64 CPU type is taken; one without facts is unpriced."""

    min_count: Annotated[int, Field(ge=0)] = 0
    """Nodes that always run, and are paid, from the first minute. Creation fails when EC2 does not have them."""

    max_count: Annotated[int, Field(ge=1, le=65_536)] = 1
    """Most nodes that Slurm may launch; a subnet has no addresses for more than 65,536."""

    efa: bool | None = None
    """Elastic Fabric Adapter. Left out, it is on exactly where the instance type has it."""

    @property
    def uses_efa(self) -> bool:
        """Whether the nodes get EFA interfaces: as `efa` says, else if the instance type has them.

        Raises:
            UnknownFact: `efa` is left out and there are no facts about the instance type.
        """
        return facts.devices(self.instance_type).efa_interfaces > 0 if self.efa is None else self.efa

    @property
    def accelerated(self) -> bool:
        """Whether the nodes have Neuron devices.

        Raises:
            UnknownFact: there are no facts about the instance type.
        """
        return facts.devices(self.instance_type).neuron_devices > 0


class Queue(Section):
    """A Slurm partition: Trainium nodes for training, or nodes without accelerator for preparation."""

    name: str
    """Name of the queue: a lower-case letter, then letters, digits and hyphens, 25 characters at most."""

    compute_resources: Annotated[tuple[ComputeResource, ...], Field(min_length=1)]
    """The kinds of node in this queue: all with accelerators or none."""

    availability_zone_id: AvailabilityZoneId | None = None
    """Availability zone id; the training zone when left out. It must be the file system's."""

    capacity_type: Literal["on_demand", "spot", "capacity_block"] = "on_demand"
    """How the nodes are bought. `capacity_block` needs `capacity_reservation_id` and min_count = max_count."""

    capacity_reservation_id: CapacityReservationId | None = None
    """An On-Demand Capacity Reservation or a Capacity Block (`cr-` and 17 hexadecimal digits) that the nodes use."""

    capacity_reservation_resource_group_arn: ResourceGroupArn | None = None
    """Instead of one reservation: a resource group of several On-Demand Capacity Reservations."""

    placement_group: PlacementGroupName | None = None
    """The placement group that the reservation was made in. Left out, reserved nodes are started without one."""

    training_stack: str | None = None
    """Training stack of this queue's nodes; the cluster's when left out."""

    custom_ami_id: AmiId | None = None
    """Image of the nodes, baked for this ParallelCluster version and training stack; AWS's own when left out."""

    job_exclusive_allocation: bool | None = None
    """Whether a job gets whole nodes. It always does where they have accelerators; elsewhere `false` when left out."""

    @property
    def reserved(self) -> bool:
        """Whether the nodes come from a reservation, a group of them or a Capacity Block."""
        return (self.capacity_reservation_id or self.capacity_reservation_resource_group_arn) is not None

    @property
    def accelerated(self) -> bool:
        """Whether the nodes have Neuron devices.

        Raises:
            UnknownFact: there are no facts about an instance type.
        """
        return any(resource.accelerated for resource in self.compute_resources)
