"""The `network` section: one VPC with public and private subnets in named availability zones, new or existing."""

from typing import Annotated

from pydantic import Field

from slipway.config.section import HOST_NAME_PATTERN, AvailabilityZoneId, Cidr, Form, Section
from slipway.config.storage import BucketName

SubnetId = Annotated[str, Form("subnet-([0-9a-f]{8}|[0-9a-f]{17})", "the id of a subnet", "subnet-0123456789abcdef0")]
"""Id of a subnet; the short form is of before 2018."""


class ExistingSubnet(Section):
    """A subnet that is there already."""

    id: SubnetId
    """Id of the subnet."""

    availability_zone_id: AvailabilityZoneId
    """Availability zone id that it is in."""


class ExistingNetwork(Section):
    """A VPC that is there already. Nothing of it is changed, tagged or deleted; preflight looks whether it fits."""

    vpc_id: Annotated[str, Form("vpc-([0-9a-f]{8}|[0-9a-f]{17})", "the id of a VPC", "vpc-0123456789abcdef0")]
    """Id of the VPC, which is in the environment's account and Region."""

    cidr: Cidr
    """IPv4 range of the VPC that its subnets are in."""

    private_subnets: tuple[ExistingSubnet, ...]
    """Where nodes, tasks and file systems are: one subnet in each of the environment's zones, with a route out."""

    public_subnets: tuple[ExistingSubnet, ...] = ()
    """Where a public endpoint's load balancer is: one subnet in each zone, with a route to an internet gateway."""


class S3Endpoint(Section):
    """The gateway endpoint that takes what goes to S3. Objects can be written into buckets of this account alone."""

    readable_buckets: Annotated[tuple[BucketName, ...], Field(min_length=1)] | None = None
    """Buckets of other accounts that can be read through it, beside this account's and those of AWS that nodes need.
    Left out: all."""


_ADDRESS_PATTERN = r"([0-9]{1,3}\.){3}[0-9]{1,3}"


class Proxy(Section):
    """An HTTP proxy for what is outside of the VPC. Instance metadata, the VPC and S3 never go through it."""

    # User name and password fit the pattern so that a rule can say why they are refused.
    url: Annotated[
        str,
        Form(
            rf"http://([^\s/@]*@)?({HOST_NAME_PATTERN}|{_ADDRESS_PATTERN}):[0-9]{{1,5}}",
            "http://HOST:PORT without a path, where HOST is a DNS name in lower case or an IPv4 address",
            "http://proxy.example.internal:3128",
        ),
    ]
    """Its address, without user and password. A change of it makes a new Slurm cluster."""

    bypass: tuple[
        Annotated[
            str,
            Form(
                rf"\.?([a-z0-9]([a-z0-9-]{{0,61}}[a-z0-9])?\.)*[a-z]([a-z0-9-]{{0,61}}[a-z0-9])?"
                rf"|{_ADDRESS_PATTERN}(/[0-9]{{1,2}})?",
                "a DNS name in lower case, a domain with a dot in front, an IPv4 address or range",
                ".example.internal",
            ),
        ],
        ...,
    ] = ()
    """What is reached without it, beside what Slipway adds: names, domains such as `.example.internal`, addresses,
    ranges. Programs in Python do not know ranges."""


class Network(Section):
    """One VPC. Nodes and tasks live in private subnets; public ones hold only NAT gateways and a public endpoint."""

    cidr: Cidr = "10.40.0.0/16"
    """IPv4 range of the VPC, /16 to /28."""

    existing: ExistingNetwork | None = None
    """A VPC of yours instead of a new one; `cidr`, prefix lengths and `nat_gateways` are left out beside it."""

    isolated: bool = False
    """Whether private subnets have no route to the internet: VPC endpoints lead to AWS's services, and there is no NAT
    gateway. Slipway makes the endpoints in a new VPC; an existing one has them already."""

    s3_endpoint: S3Endpoint = S3Endpoint()
    """The S3 endpoint of a new VPC."""

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

    proxy: Proxy | None = None
    """An HTTP proxy that nodes and hosts use; leave out where they reach the internet without one."""

    @property
    def reaches_internet(self) -> bool:
        """Whether machines in private subnets reach the internet, if only through the proxy."""
        return not self.isolated or self.proxy is not None


def vpc_cidr(network: Network) -> str:
    """Return the IPv4 range of the VPC, whether it is new or there already."""
    return network.existing.cidr if network.existing else network.cidr
