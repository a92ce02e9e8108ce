"""PF29: the VPC endpoints of an environment whose machines do not reach the internet."""

from collections.abc import Iterator, Mapping
from functools import partial
from ipaddress import IPv4Network
from typing import Any

from slipway.assembly.existing_network import ExistingNetwork, NeededEndpoint, existing_network
from slipway.aws.account import Account
from slipway.check.preflight.answer import Answer
from slipway.check.preflight.check import check
from slipway.check.preflight.checks.existing_network import table_of
from slipway.check.preflight.needs import Needs

_Answer = partial(Answer, check="PF29")
_HTTPS = 443


@check(
    "PF29",
    "VPC endpoints",
    stage="existence",
    prevents="A network that AWS refuses halfway, or nodes that wait for a service until the cluster rolls back.",
    actions=(
        "ec2:DescribeRouteTables",
        "ec2:DescribeSecurityGroups",
        "ec2:DescribeVpcEndpointServices",
        "ec2:DescribeVpcEndpoints",
    ),
)
def vpc_endpoints(needs: Needs, account: Account) -> Iterator[Answer]:
    """Look whether AWS offers each new endpoint in its zones, and whether an isolated existing VPC has all it needs."""
    yield from _offers(needs, account)
    network = existing_network(stack.template for stack in needs.stacks)
    if network and network.endpoints:
        yield from _existing(network, needs, account)


def _offers(needs: Needs, account: Account) -> Iterator[Answer]:
    wanted = dict(_wanted(needs))
    if not wanted:
        return
    named = [{"Name": "service-name", "Values": sorted(wanted)}, {"Name": "service-type", "Values": ["Interface"]}]
    found = account.listing("ec2", "describe_vpc_endpoint_services", "ServiceDetails", Filters=named)
    offered = {service["ServiceName"]: set(service.get("AvailabilityZoneIds", ())) for service in found}
    wrong = False
    for name, zones in sorted(wanted.items()):
        if missing := sorted(zones - offered.get(name, set())):
            wrong = True
            where = ", ".join(sorted(offered.get(name, set()))) or "no zone"
            message = f"AWS offers it in {where}, not in {', '.join(missing)}"
            fix = "choose zones that all of them are offered in, or remove `network.isolated`"
            yield _Answer(status="failed", subject=name, message=message, fix=fix)
    if not wrong:
        everywhere = ", ".join(sorted(set().union(*wanted.values())))
        message = f"{len(wanted)} services, offered where they are asked from: {everywhere}"
        yield _Answer(status="passed", subject="interface endpoints", message=message)


def _wanted(needs: Needs) -> Iterator[tuple[str, set[str]]]:
    """Yield the names of the services that get an interface endpoint, with the zone ids of its subnets."""
    zones = {
        (stack.name, logical_id): properties["AvailabilityZoneId"]
        for stack, logical_id, properties in needs.resources("AWS::EC2::Subnet")
    }
    for stack, _, properties in needs.resources("AWS::EC2::VPCEndpoint"):
        if properties["VpcEndpointType"] == "Interface":
            subnets = {subnet["Ref"] for subnet in properties["SubnetIds"]}
            yield properties["ServiceName"], {zones[stack.name, subnet] for subnet in subnets}


def _existing(network: ExistingNetwork, needs: Needs, account: Account) -> Iterator[Answer]:
    in_vpc = [{"Name": "vpc-id", "Values": [network.vpc_id]}]
    found = account.listing("ec2", "describe_vpc_endpoints", "VpcEndpoints", Filters=in_vpc)
    wrong = [
        answer for needed in network.endpoints if (answer := _problem(needed, network, found, needs.region, account))
    ]
    yield from wrong
    if not wrong:
        message = f"all {len(network.endpoints)} that the environment needs, with their names and routes"
        yield _Answer(status="passed", subject=f"VPC endpoints of {network.vpc_id}", message=message)


def _problem(
    needed: NeededEndpoint, network: ExistingNetwork, found: list[Mapping[str, Any]], region: str, account: Account
) -> Answer | None:
    """Return what is wrong about one endpoint that the VPC should have."""
    name = f"com.amazonaws.{region}.{needed.service}"
    there = [
        endpoint
        for endpoint in found
        if endpoint["ServiceName"] == name
        and endpoint["VpcEndpointType"].lower() == needed.kind
        and endpoint["State"].lower() == "available"
    ]
    command = f"aws ec2 {{}} --region {region}"
    if not there:
        create = command.format("create-vpc-endpoint") + f" --vpc-id {network.vpc_id} --service-name {name}"
        private = " ".join(subnet.id for subnet in network.subnets if not subnet.public)
        kind = f" --vpc-endpoint-type Interface --subnet-ids {private}" if needed.kind == "interface" else ""
        return _failed(name, f"{network.vpc_id} has no {needed.kind} endpoint for it", create + kind)
    modify = command.format("modify-vpc-endpoint") + f" --vpc-endpoint-id {there[0]['VpcEndpointId']}"
    if needed.kind == "gateway":
        if missing := _tables_without_route(there, network, account):
            message = f"{', '.join(missing)} has no route to it"
            return _failed(name, message, f"{modify} --add-route-table-ids {' '.join(missing)}")
        return None
    if not any(endpoint.get("PrivateDnsEnabled") for endpoint in there):
        return _failed(
            name, "its private DNS names are off: programs ask the public address", f"{modify} --private-dns-enabled"
        )
    if not any(_lets_in(endpoint, network.cidr, account) for endpoint in there):
        message = f"no rule of its security groups lets in HTTPS from {network.cidr}"
        fix = f"ask the VPC's owner for a rule, unless others let the nodes' subnets in:\n{modify}"
        return _Answer(status="warning", subject=name, message=message, fix=f"{fix} --add-security-group-ids sg-...")
    return None


def _failed(subject: str, message: str, command: str) -> Answer:
    fix = f"ask the VPC's owner for it:\n{command}"
    return _Answer(status="failed", subject=subject, message=message, fix=fix)


def _tables_without_route(there: list[Mapping[str, Any]], network: ExistingNetwork, account: Account) -> list[str]:
    """Return the route tables of private subnets that do not lead to a gateway endpoint."""
    in_vpc = [{"Name": "vpc-id", "Values": [network.vpc_id]}]
    tables = account.listing("ec2", "describe_route_tables", "RouteTables", Filters=in_vpc)
    reached = {table for endpoint in there for table in endpoint["RouteTableIds"]}
    own = {
        table_of(subnet.id, tables).get("RouteTableId", "rtb-...") for subnet in network.subnets if not subnet.public
    }
    return sorted(own - reached)


def _lets_in(endpoint: Mapping[str, Any], cidr: str, account: Account) -> bool:
    """Return whether a rule of the endpoint's groups lets in HTTPS from the whole range."""
    ids = [group["GroupId"] for group in endpoint["Groups"]]
    groups = account.listing("ec2", "describe_security_groups", "SecurityGroups", GroupIds=ids)
    return any(
        IPv4Network(cidr).subnet_of(IPv4Network(source["CidrIp"]))
        for group in groups
        for rule in group["IpPermissions"]
        if rule["IpProtocol"] in ("-1", "tcp") and rule.get("FromPort", 0) <= _HTTPS <= rule.get("ToPort", _HTTPS)
        for source in rule["IpRanges"]
    )
