"""A VPC is whole: its subnets, routes, gateways, names and security groups fit together."""

from collections.abc import Iterator
from ipaddress import IPv4Network, ip_network
from itertools import combinations

from slipway.review.changes.references import references
from slipway.review.changes.resources import Resource
from slipway.review.wiring.connections import Connections
from slipway.review.wiring.interfaces import LOAD_BALANCER
from slipway.review.wiring.registry import Finding, about, rule
from slipway.review.wiring.resources import Resources, rows
from slipway.review.wiring.routes import SUBNET, TABLE, VPC, Routes

_GROUP = "AWS::EC2::SecurityGroup"
_SUBNET_TYPE = "aws-cdk:subnet-type"
_RULES = ("AWS::EC2::SecurityGroupIngress", "AWS::EC2::SecurityGroupEgress")
_IN_TWO_ZONES = {
    LOAD_BALANCER: "load balancer",
    "AWS::RDS::DBInstance": "database",
    "AWS::EKS::Cluster": "control plane",
}


@rule(
    reason="EC2 refuses the subnet, after everything before it was made.",
    fix="Write a part of the VPC's range that no other subnet has.",
    source='Amazon VPC user guide, "Subnet CIDR blocks"',
)
def subnet_has_its_own_range(resources: Resources) -> Iterator[Finding]:
    """A subnet's range is a part of its VPC's, and no other subnet's."""
    subnets = [(each, found) for each in resources.of_type(SUBNET) if (found := _range(each))]
    for subnet, own in subnets:
        vpc = resources.resource(subnet.at("VpcId"), VPC)
        whole = _range(vpc) if vpc else None
        if whole and not own.subnet_of(whole):
            yield about(subnet, "CidrBlock", f"{own} is not a part of the VPC's {whole}")
    for (one, own), (other, others) in combinations(subnets, 2):
        if own.overlaps(others) and one.at("VpcId") == other.at("VpcId"):
            yield about(other, "CidrBlock", f"{others} overlaps {own} of {one.logical_id}")


def _range(resource: Resource) -> IPv4Network | None:
    try:
        found = ip_network(str(resource.at("CidrBlock")))
    except ValueError:
        return None
    return found if isinstance(found, IPv4Network) else None


@rule(
    severity="warning",
    reason="The main route table of a new VPC leads nowhere: machines in the subnet reach nothing outside the VPC.",
    fix="Associate the subnet with a route table of its VPC.",
    source='Amazon VPC user guide, "Subnet route tables"',
)
def subnet_has_a_route_table(resources: Resources) -> Iterator[Finding]:
    """Every subnet is associated with one route table, of its own VPC."""
    tables = Routes(resources).tables
    for subnet in resources.of_type(SUBNET):
        table = tables.get(subnet.key)
        if table is None:
            yield about(subnet, "", "it has no route table of its own")
        elif table.at("VpcId") != subnet.at("VpcId"):
            yield about(subnet, "", f"its route table {table.logical_id} is of another VPC")


@rule(
    reason="A NAT gateway without a way out takes connections and drops them.",
    fix="Put it into a subnet whose default route is the VPC's internet gateway, with an Elastic IP address.",
    source='Amazon VPC user guide, "NAT gateways"',
)
def nat_gateway_reaches_the_internet(resources: Resources) -> Iterator[Finding]:
    """A public NAT gateway has an address, and stands in a subnet that leads to an attached internet gateway."""
    routes = Routes(resources)
    for gateway in resources.of_type("AWS::EC2::NatGateway"):
        subnet = routes.subnet(str(gateway.at("SubnetId")))
        if gateway.at("ConnectivityType") == "private":
            continue
        if subnet and not routes.is_public(subnet) and not routes.leads_elsewhere(subnet):
            yield about(
                gateway, "SubnetId", f"{subnet.logical_id} has no default route to an attached internet gateway"
            )
        if gateway.at("AllocationId") is None:
            yield about(gateway, "AllocationId", "it has no Elastic IP address")


@rule(
    reason="Traffic to a gateway that is not attached is dropped; EC2 refuses a second route to one destination.",
    fix="Refer to a route table, and to a NAT gateway or an attached internet gateway.",
    source='Amazon VPC user guide, "Configure route tables"',
)
def route_leads_somewhere(resources: Resources) -> Iterator[Finding]:
    """A default route leads to a gateway that is attached; a route table has one route for each destination."""
    routes = Routes(resources)
    seen: dict[str, Resource] = {}
    for route in resources.of_type("AWS::EC2::Route"):
        table = resources.resource(route.at("RouteTableId"), TABLE)
        if table is None:
            continue
        where = f"{table.key} {route.at('DestinationCidrBlock') or route.at('DestinationIpv6CidrBlock')}"
        if where in seen:
            yield about(route, "DestinationCidrBlock", f"{seen[where].logical_id} has the same destination")
        seen[where] = route
    for subnet in resources.of_type(SUBNET):
        gateway = routes.gateway(subnet)
        nat = gateway if gateway and gateway.type == "AWS::EC2::NatGateway" else None
        if nat and nat.at("SubnetId") == f"${{{subnet.key}}}":
            yield about(subnet, "", f"its default route leads to {nat.logical_id}, which is in the same subnet")
        if gateway and not nat and not routes.is_public(subnet):
            yield about(
                subnet, "", f"its default route leads to {gateway.logical_id}, which is not attached to the VPC"
            )


@rule(
    severity="warning",
    reason="File systems, endpoints and nodes are found by names of the VPC's own DNS: without it mounts fail.",
    fix="Write `EnableDnsSupport: true` and `EnableDnsHostnames: true`.",
    source='Amazon VPC user guide, "DNS attributes for your VPC"; FSx for Lustre user guide, "Mounting"',
)
def vpc_resolves_names(resources: Resources) -> Iterator[Finding]:
    """A VPC has DNS resolution and DNS host names on."""
    for vpc in resources.of_type(VPC):
        for name in ("EnableDnsSupport", "EnableDnsHostnames"):
            if vpc.at(name) is not True and not (name == "EnableDnsSupport" and vpc.at(name) is None):
                yield about(vpc, name, "DNS is off")
    for endpoint in resources.of_type("AWS::EC2::VPCEndpoint"):
        if endpoint.at("VpcEndpointType") == "Interface" and endpoint.at("PrivateDnsEnabled") is not True:
            yield about(endpoint, "PrivateDnsEnabled", "the service's own name does not lead to it")


@rule(
    reason="AWS refuses it: a load balancer, a database and a control plane have addresses in two zones.",
    fix="Name subnets in two Availability Zones.",
    source='Elastic Load Balancing user guide, "Application Load Balancers", subnets; '
    'Amazon RDS user guide, "Working with DB subnet groups"; Amazon EKS user guide, "networking requirements"',
)
def two_zones_where_needed(resources: Resources) -> Iterator[Finding]:
    """A load balancer, a database and a Kubernetes control plane have subnets in two zones."""
    connections = Connections(resources)
    for each in connections.attached:
        found = [connections.routes.subnet(subnet) for subnet in each.subnets]
        zones = {_zone(subnet) for subnet in found if subnet}
        is_needed = each.resource.type in _IN_TWO_ZONES and not _is_network_balancer(each.resource)
        if is_needed and found and all(found) and len(zones) == 1:
            yield about(each.resource, each.path, f"the {_IN_TWO_ZONES[each.resource.type]} has subnets in one zone")


@rule(
    severity="warning",
    reason="A public load balancer in a private subnet has no way in; a machine in a public one has no way out.",
    fix="Put public load balancers into public subnets, and everything else into private ones.",
    source='Elastic Load Balancing user guide, "Application Load Balancers", subnets',
)
def subnet_is_of_the_right_kind(resources: Resources) -> Iterator[Finding]:
    """A public load balancer is in public subnets; what runs code, files and databases are in private ones."""
    connections = Connections(resources)
    for each in connections.attached:
        is_public = each.resource.type == LOAD_BALANCER and each.resource.at("Scheme") != "internal"
        for subnet in each.subnets:
            found = connections.routes.subnet(subnet)
            if found and connections.routes.is_public(found) != is_public:
                kind = "private" if is_public else "public"
                yield about(each.resource, each.path, f"{each} is in {found.logical_id}, a {kind} subnet")


@rule(
    severity="warning",
    reason="Tools choose subnets by this tag: what they put there has no way in, or no way out.",
    fix="Route the subnet as its tag says: to the internet gateway, to a NAT gateway, or nowhere.",
    source="https://docs.aws.amazon.com/cdk/api/v2/docs/aws-cdk-lib.aws_ec2.SubnetType.html",
)
def subnet_is_as_tagged(resources: Resources) -> Iterator[Finding]:
    """A subnet is public, private or isolated, as the CDK's tag says."""
    routes = Routes(resources)
    for subnet in resources.of_type(SUBNET):
        gateway = routes.gateway(subnet)
        is_so = {
            "Public": routes.is_public(subnet),
            "Private": routes.reaches_the_internet(subnet),
            "Isolated": gateway is None,
        }
        kind = next((str(tag.get("Value")) for tag in rows(subnet.at("Tags")) if tag.get("Key") == _SUBNET_TYPE), None)
        if kind in is_so and not is_so[kind]:
            leads = f"leads to {gateway.logical_id}" if gateway else "does not lead out"
            yield about(subnet, "Tags", f"it is tagged as {kind}, and its default route {leads}")


@rule(
    reason="EC2 refuses a security group of another VPC.",
    fix="Name a security group of the VPC that its subnets are in.",
    source='Amazon VPC user guide, "Security groups for your VPC"',
)
def group_is_of_the_vpc(resources: Resources) -> Iterator[Finding]:
    """The security groups of what has addresses in a VPC are of that VPC."""
    connections = Connections(resources)
    for each in connections.attached:
        vpcs = {str(found.at("VpcId")) for subnet in each.subnets if (found := connections.routes.subnet(subnet))}
        for group in each.groups:
            found = resources.resource(group, _GROUP)
            if found and vpcs and str(found.at("VpcId")) not in vpcs:
                yield about(each.resource, each.path, f"{found.logical_id} is of another VPC")


@rule(
    severity="warning",
    reason="It gets the VPC's default group, from which Slipway removes all rules.",
    fix="Name a security group.",
    source='Amazon VPC user guide, "Default security groups for your VPCs"',
)
def address_has_a_group(resources: Resources) -> Iterator[Finding]:
    """What has addresses in a VPC has a security group, unless it is a Network Load Balancer."""
    for each in Connections(resources).attached:
        is_gateway = each.resource.at("VpcEndpointType") == "Gateway"
        if each.subnets and not each.groups and not is_gateway and not _is_network_balancer(each.resource):
            yield about(each.resource, each.path, f"{each} has no security group")


def _is_network_balancer(resource: Resource) -> bool:
    return resource.type == LOAD_BALANCER and resource.at("Type") == "network"


@rule(
    reason="A connection needs a rule on each side: with one of them it is dropped.",
    fix="Add the rule of the other group, or remove this one.",
    source='Amazon VPC user guide, "Security group rules"',
)
def group_rule_has_its_other_half(resources: Resources) -> Iterator[Finding]:
    """A rule to another security group has its counterpart there: egress needs ingress, ingress needs egress."""
    for each in Connections(resources).one_sided():
        owner = resources.by_key[each.owner]
        lets = "out to" if each.direction == "out" else "in from"
        yield about(
            owner,
            "",
            f"it lets {each.protocol} {each.ports[0]}-{each.ports[1]} {lets} {each.peer}, which has no rule for it",
        )


@rule(
    severity="warning",
    reason="It has no effect. Often a resource should have it and does not.",
    fix="Add it to that resource, or remove it.",
    source='Amazon VPC user guide, "Security groups for your VPC"',
)
def group_is_used(resources: Resources) -> Iterator[Finding]:
    """A resource refers to each security group; rules do not count."""
    used = {
        key
        for each in resources.by_key.values()
        if each.type not in (_GROUP, *_RULES)
        for key, _ in references(each.properties)
    }
    for group in resources.of_type(_GROUP):
        if group.key not in used:
            yield about(group, "", "no resource refers to it")


@rule(
    severity="warning",
    reason="Every read and write crosses zones: it is slower, and each GB is billed in both directions.",
    fix="Put the nodes into the file system's zone.",
    source='FSx for Lustre user guide, "Accessing file systems", Availability Zones; Amazon EC2 pricing, data transfer',
)
def nodes_are_near_their_files(resources: Resources) -> Iterator[Finding]:
    """Nodes of a Kubernetes cluster with EFA are in the zone of the Lustre file system.

    For a Slurm cluster `queue-beside-file-system` looks.
    """
    connections = Connections(resources)
    for service in connections.services():
        zones = _zones(connections, service.target.subnets)
        for each in connections.attached if service.target.resource.at("FileSystemType") == "LUSTRE" else ():
            named = each.resource.type == "AWS::EKS::Nodegroup" and each.uses_efa
            if named and (far := _zones(connections, each.subnets) - zones):
                yield about(
                    each.resource, each.path, f"{each} is in {', '.join(sorted(far))}, away from {service.target}"
                )


def _zone(subnet: Resource) -> str:
    return str(subnet.at("AvailabilityZoneId") or subnet.at("AvailabilityZone"))


def _zones(connections: Connections, subnets: tuple[str, ...]) -> set[str]:
    found = [connections.routes.subnet(subnet) for subnet in subnets]
    return {_zone(each) for each in found if each}
