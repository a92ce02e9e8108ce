"""A VPC that is there before the first deployment, in the made-up account that judge and rehearsal work in.

It has what `slipway preflight` asks of a real one: DNS, an internet gateway, and private subnets that lead to NAT or,
in an isolated network, to VPC endpoints.
"""

from collections.abc import Iterator, Mapping
from ipaddress import IPv4Network
from typing import Any
from unittest.mock import patch

from moto.ec2.models import EC2Backend, ec2_backends, vpcs
from moto.ec2.models import subnets as subnet_models

from slipway_emulator.settings import ACCOUNT

_EVERYWHERE = "0.0.0.0/0"


def make_network(network: Mapping[str, Any], region: str) -> None:
    """Make the VPC in moto, with the ids that the environment file names.

    Args:
        network: `vpc_id`, `cidr`, `subnets` and `endpoints`; of each subnet `id`, `zone_id` and `public`; of each
            endpoint, which an isolated network has in place of NAT, `service` and `kind`.
        region: its AWS Region.
    """
    ec2, vpc_id = ec2_backends[ACCOUNT][region], network["vpc_id"]
    with patch.object(vpcs, "random_vpc_id", return_value=vpc_id):
        ec2.create_vpc(network["cidr"])
    for attribute in ("enable_dns_support", "enable_dns_hostnames"):
        ec2.modify_vpc_attribute(vpc_id, attribute, "true")
    subnets = network["subnets"]
    ranges = _parts(network["cidr"], len(subnets) + 1)
    internet = ec2.create_internet_gateway()
    ec2.attach_internet_gateway(internet.id, vpc_id)
    public, private = ec2.create_route_table(vpc_id).id, ec2.create_route_table(vpc_id).id
    ec2.create_route(public, _EVERYWHERE, gateway_id=internet.id)
    nat_range = next(ranges)
    for subnet in subnets:
        _make_subnet(ec2, vpc_id, subnet["id"], next(ranges), subnet["zone_id"])
        ec2.associate_route_table(public if subnet["public"] else private, subnet_id=subnet["id"])
    if network["endpoints"]:
        _make_endpoints(ec2, network, region, private)
        return
    # NAT needs a public subnet, even if the environment names none.
    nat_subnet = ec2.create_subnet(vpc_id, nat_range, availability_zone_id=subnets[0]["zone_id"])
    ec2.associate_route_table(public, subnet_id=nat_subnet.id)
    address = ec2.allocate_address("vpc").allocation_id
    assert address, "an address of a VPC has an allocation id"
    nat = ec2.create_nat_gateway(nat_subnet.id, address)
    ec2.create_route(private, _EVERYWHERE, nat_gateway_id=nat.id)


def _make_endpoints(ec2: EC2Backend, network: Mapping[str, Any], region: str, route_table_id: str) -> None:
    """Make the VPC endpoints, which let in HTTPS from the VPC."""
    vpc_id = network["vpc_id"]
    group = ec2.create_security_group("endpoints", "HTTPS from the VPC", vpc_id=vpc_id)
    ec2.authorize_security_group_ingress(group.id, "tcp", "443", "443", [{"CidrIp": network["cidr"]}])
    for endpoint in network["endpoints"]:
        interface = endpoint["kind"] == "interface"
        ec2.create_vpc_endpoint(
            vpc_id,
            f"com.amazonaws.{region}.{endpoint['service']}",
            endpoint["kind"].capitalize(),
            None,
            [] if interface else [route_table_id],
            subnet_ids=[subnet["id"] for subnet in network["subnets"] if not subnet["public"]] if interface else None,
            security_group_ids=[group.id] if interface else None,
            private_dns_enabled=interface,
        )


def _make_subnet(ec2: EC2Backend, vpc_id: str, subnet_id: str, cidr: str, zone_id: str) -> None:
    with patch.object(subnet_models, "random_subnet_id", return_value=subnet_id):
        ec2.create_subnet(vpc_id, cidr, availability_zone_id=zone_id)
    # Always said: moto gives public addresses to the first subnet of a zone, EC2 does not.
    ec2.modify_subnet_attribute(subnet_id, "map_public_ip_on_launch", attr_value=False)


def _parts(cidr: str, count: int) -> Iterator[str]:
    """Yield equal parts of a range, as many as are needed at least."""
    vpc = IPv4Network(cidr)
    return (str(part) for part in vpc.subnets(prefixlen_diff=(count - 1).bit_length()))
