"""The `network` section: one VPC with public and private subnets in named availability zones."""

from typing import Annotated

from pydantic import Field

from slipway.config.section import AvailabilityZoneId, Cidr, Section


class Network(Section):
    """One VPC. Nodes and tasks live in private subnets; public ones hold only NAT gateways and a public endpoint."""

    cidr: Cidr = "10.40.0.0/16"
    """IPv4 range of the VPC, /16 to /28."""

    training_availability_zone_id: AvailabilityZoneId
    """Availability zone id of the nodes that train and of FSx for Lustre. It must offer their instance types."""

    other_availability_zone_ids: Annotated[tuple[AvailabilityZoneId, ...], Field(min_length=1, max_length=3)]
    """Further availability zone ids. At least one: a load balancer needs two zones."""

    private_subnet_prefix_length: Annotated[int, Field(ge=16, le=28)] = 20
    """Size of each private subnet as a prefix length; /20 has 4,091 usable addresses. A node takes 1, on EKS 11."""

    public_subnet_prefix_length: Annotated[int, Field(ge=16, le=28)] = 24
    """Size of each public subnet as a prefix length."""

    nat_gateways: Annotated[int, Field(ge=1, le=4)] = 1
    """How many NAT gateways. One is the cheapest; one per zone survives the loss of a zone."""
