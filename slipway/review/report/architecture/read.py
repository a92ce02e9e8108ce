"""Reading of an environment's architecture."""

from collections import Counter

from slipway.assembly.stacks import Stack
from slipway.review.report.architecture.flows import people_of, read_flows
from slipway.review.report.architecture.model import Architecture, Subnet
from slipway.review.report.architecture.parts import read_parts
from slipway.review.report.architecture.rows import part_rows
from slipway.review.report.architecture.template_values import Resources, as_text, at_path

_SUBNET = "AWS::EC2::Subnet"
_VPC = "AWS::EC2::VPC"
_SUBNET_KIND_TAG = "aws-cdk:subnet-type"


def read_architecture(stacks: tuple[Stack, ...]) -> Architecture:
    """Return what the templates of an environment's stacks say of its parts, their places and their flows.

    Nothing but the templates is read: what a reader sees is what would be deployed.
    """
    resources = Resources(stacks)
    region = stacks[0].region
    parts = tuple(read_parts(resources, region))
    parts = (*people_of(parts, resources), *parts)
    drawn = {member for part in parts for member in part.members} | {
        name for name in resources.by_id if resources.type_of(name) in {_SUBNET, _VPC, *part_rows()}
    }
    network_id, network = _network(resources)
    return Architecture(
        region=region,
        stacks=tuple(stack.name for stack in stacks),
        network=network,
        network_id=network_id,
        subnets=_subnets(resources),
        parts=parts,
        flows=tuple(read_flows(parts, resources, region)),
        not_drawn=dict(
            sorted(Counter(resources.type_of(name) for name in resources.by_id if name not in drawn).items())
        ),
    )


def _network(resources: Resources) -> tuple[str, str]:
    for name, resource in resources.by_id.items():
        if resource["Type"] == _VPC:
            return name, f"VPC {as_text(at_path(resource, 'Properties.CidrBlock'), '') or ''}".strip()
    existing = resources.existing_network
    return (existing.vpc_id, f"Existing VPC {existing.cidr}") if existing else ("", "")


def _subnets(resources: Resources) -> tuple[Subnet, ...]:
    existing = resources.existing_network
    if existing:
        return tuple(
            # Its range is not in the environment file: the id tells a reader which one it is.
            Subnet(id=subnet.id, zone=subnet.zone_id, cidr=subnet.id, is_public=subnet.public)
            for subnet in existing.subnets
        )
    return tuple(
        Subnet(
            id=name,
            zone=as_text(properties.get("AvailabilityZoneId"), "") or "zone unknown",
            cidr=as_text(properties.get("CidrBlock"), "") or "",
            is_public=any(
                tag["Key"] == _SUBNET_KIND_TAG and tag["Value"] == "Public" for tag in properties.get("Tags", ())
            ),
        )
        for name, resource in resources.by_id.items()
        if resource["Type"] == _SUBNET
        for properties in [resource.get("Properties", {})]
    )
