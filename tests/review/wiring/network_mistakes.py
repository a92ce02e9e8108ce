"""Mistakes in a network, one at a time: a resource with another property, or without it, or none at all."""

from collections.abc import Callable, Iterator, Mapping
from copy import deepcopy
from dataclasses import dataclass
from typing import Any

from slipway.review.changes.resources import Resource
from slipway.review.wiring.resources import Resources

FOREIGN = "198.51.100.0/24"
"""A range of addresses that nothing here has (RFC 5737)."""

_NOBODY = "255.255.255.255/32"
_SEPARATE = ("AWS::EC2::SecurityGroupIngress", "AWS::EC2::SecurityGroupEgress")
_INLINE = ("SecurityGroupIngress", "SecurityGroupEgress")
_PEERS = ("SourceSecurityGroupId", "DestinationSecurityGroupId", "CidrIp")
_GROUP, _SUBNET = "AWS::EC2::SecurityGroup", "AWS::EC2::Subnet"
_INTERFACES = "LaunchTemplateData.NetworkInterfaces.0"

GROUPS: Mapping[str, tuple[str, ...]] = {
    "AWS::FSx::FileSystem": ("SecurityGroupIds",),
    "AWS::RDS::DBInstance": ("VPCSecurityGroups",),
    "AWS::Lambda::Function": ("VpcConfig.SecurityGroupIds",),
    "AWS::ECS::Service": ("NetworkConfiguration.AwsvpcConfiguration.SecurityGroups",),
    "AWS::EC2::VPCEndpoint": ("SecurityGroupIds",),
    "AWS::ElasticLoadBalancingV2::LoadBalancer": ("SecurityGroups",),
    "AWS::EC2::LaunchTemplate": ("LaunchTemplateData.SecurityGroupIds", f"{_INTERFACES}.Groups"),
    "Custom::PclusterCluster": (
        "ClusterConfiguration.HeadNode.Networking.AdditionalSecurityGroups",
        "ClusterConfiguration.Scheduling.SlurmQueues.0.Networking.AdditionalSecurityGroups",
        "ClusterConfiguration.LoginNodes.Pools.0.Networking.AdditionalSecurityGroups",
    ),
}
"""Lists of security groups, by resource type."""

SUBNETS: Mapping[str, tuple[str, ...]] = {
    "AWS::FSx::FileSystem": ("SubnetIds",),
    "AWS::RDS::DBSubnetGroup": ("SubnetIds",),
    "AWS::Lambda::Function": ("VpcConfig.SubnetIds",),
    "AWS::EKS::Cluster": ("ResourcesVpcConfig.SubnetIds",),
    "AWS::ElasticLoadBalancingV2::LoadBalancer": ("Subnets",),
    "AWS::AutoScaling::AutoScalingGroup": ("VPCZoneIdentifier",),
    "AWS::EKS::Nodegroup": ("Subnets",),
    "Custom::PclusterCluster": ("ClusterConfiguration.Scheduling.SlurmQueues.0.Networking.SubnetIds",),
}
"""Lists of subnets, by resource type."""

Change = Callable[[Resources, Resource], Iterator[Resource | None]]
"""Yields a resource with a mistake; None where it is left out."""

CHANGES: dict[str, tuple[tuple[str, ...], Change]] = {}


@dataclass(frozen=True)
class Mistake:
    """An assembly with one mistake."""

    kind: str
    key: str
    resources: Resources


def mistakes(resources: Resources) -> Iterator[Mistake]:
    """Yield an assembly with every mistake, one at a time."""
    for kind, (types, change) in CHANGES.items():
        for resource in resources.of_type(*types):
            for changed in change(resources, resource):
                rest = {key: each for key, each in resources.by_key.items() if key != resource.key}
                spoiled = rest if changed is None else {**rest, resource.key: changed}
                yield Mistake(kind, resource.key, Resources(resources.stacks, spoiled))


def _of(*types: str) -> Callable[[Change], Change]:
    def register(change: Change) -> Change:
        CHANGES[change.__name__] = (types, change)
        return change

    return register


def _set(resource: Resource, path: str, value: Any) -> Resource:
    """Return a resource with another value at a dotted path of its properties; None takes it away."""
    properties = deepcopy(dict(resource.properties))
    *steps, last = path.split(".")
    place: Any = properties
    for step in steps:
        place = place[int(step)] if isinstance(place, list) else place[step]
    key: Any = int(last) if isinstance(place, list) else last
    if value is None:
        del place[key]
    else:
        place[key] = value
    return resource.with_template({**resource.template, "Properties": properties})


def _rules(resource: Resource) -> Iterator[tuple[str, Mapping[str, Any]]]:
    """Yield the rules that a resource has, each with the beginning of its dotted path."""
    if resource.type in _SEPARATE:
        yield "", resource.properties
        return
    for name in _INLINE:
        for index, row in enumerate(resource.properties.get(name, ())):
            if row.get("CidrIp") != _NOBODY:
                yield f"{name}.{index}.", row


def _others(resources: Resources, resource: Resource, type_: str, own: Any) -> Iterator[str]:
    """Yield references to other resources of the same stack."""
    for other in resources.of_type(type_):
        if other.stack == resource.stack and other.key not in str(own):
            yield f"${{{other.key}}}"


@_of(_GROUP, *_SEPARATE)
def rule_is_left_out(_: Resources, resource: Resource) -> Iterator[Resource | None]:
    for place, row in _rules(resource):
        yield _set(resource, place.rstrip("."), {**row, "CidrIp": _NOBODY}) if place else None


@_of(_GROUP, *_SEPARATE)
def rule_begins_one_port_later(_: Resources, resource: Resource) -> Iterator[Resource | None]:
    for place, row in _rules(resource):
        if "FromPort" in row:
            first, last = row["FromPort"] + 1, max(row["ToPort"], row["FromPort"] + 1)
            yield _set(_set(resource, f"{place}FromPort", first), f"{place}ToPort", last)


@_of(_GROUP, *_SEPARATE)
def rule_has_another_protocol(_: Resources, resource: Resource) -> Iterator[Resource | None]:
    for place, row in _rules(resource):
        if row["IpProtocol"] in ("tcp", "udp"):
            yield _set(resource, f"{place}IpProtocol", {"tcp": "udp", "udp": "tcp"}[row["IpProtocol"]])


@_of(_GROUP, *_SEPARATE)
def rule_has_another_peer(_: Resources, resource: Resource) -> Iterator[Resource | None]:
    for place, row in _rules(resource):
        for name in _PEERS:
            if name in row:
                yield _set(_set(resource, f"{place}{name}", None), f"{place}CidrIp", FOREIGN)


@_of(*_SEPARATE)
def rule_is_of_another_group(resources: Resources, resource: Resource) -> Iterator[Resource | None]:
    for other in _others(resources, resource, _GROUP, resource.at("GroupId")):
        yield _set(resource, "GroupId", other)


@_of("AWS::EC2::Route", "AWS::EC2::SubnetRouteTableAssociation", "AWS::EC2::VPCGatewayAttachment")
def link_is_left_out(_: Resources, __: Resource) -> Iterator[Resource | None]:
    yield None


@_of("AWS::EC2::Route")
def route_leads_to_the_other_gateway(resources: Resources, route: Resource) -> Iterator[Resource | None]:
    if "NatGatewayId" in route.properties:
        was, name, type_ = "NatGatewayId", "GatewayId", "AWS::EC2::InternetGateway"
    else:
        was, name, type_ = "GatewayId", "NatGatewayId", "AWS::EC2::NatGateway"
    for other in _others(resources, route, type_, None):
        yield _set(_set(route, was, None), name, other)


@_of("AWS::EC2::Route", "AWS::EC2::SubnetRouteTableAssociation")
def route_table_is_another(resources: Resources, resource: Resource) -> Iterator[Resource | None]:
    own = resource.at("RouteTableId")
    kind = "Private" if "Private" in own else "Public"
    for other in _others(resources, resource, "AWS::EC2::RouteTable", own):
        # Two private subnets may share a table.
        if resource.type == "AWS::EC2::Route" or kind not in other:
            yield _set(resource, "RouteTableId", other)


@_of("AWS::EC2::NatGateway")
def nat_gateway_is_in_a_private_subnet(resources: Resources, gateway: Resource) -> Iterator[Resource | None]:
    for other in _others(resources, gateway, _SUBNET, gateway.at("SubnetId")):
        if "Private" in other:
            yield _set(gateway, "SubnetId", other)


@_of("AWS::EC2::NatGateway")
def nat_gateway_has_no_address(_: Resources, gateway: Resource) -> Iterator[Resource | None]:
    yield _set(gateway, "AllocationId", None)


@_of("AWS::EC2::VPC")
def names_are_not_resolved(_: Resources, vpc: Resource) -> Iterator[Resource | None]:
    yield from (_set(vpc, name, value=False) for name in ("EnableDnsSupport", "EnableDnsHostnames"))


@_of("AWS::EC2::VPCEndpoint")
def endpoint_has_no_private_name(_: Resources, endpoint: Resource) -> Iterator[Resource | None]:
    if "PrivateDnsEnabled" in endpoint.properties:
        yield _set(endpoint, "PrivateDnsEnabled", value=False)


@_of("AWS::EC2::VPCEndpoint")
def gateway_endpoint_lacks_a_route_table(_: Resources, endpoint: Resource) -> Iterator[Resource | None]:
    for index, table in enumerate(endpoint.properties.get("RouteTableIds", ())):
        if "Private" in table:
            yield _set(endpoint, f"RouteTableIds.{index}", None)


@_of(_SUBNET)
def range_is_not_free(resources: Resources, subnet: Resource) -> Iterator[Resource | None]:
    yield _set(subnet, "CidrBlock", FOREIGN)
    for other in resources.of_type(_SUBNET):
        if other.key != subnet.key:
            yield _set(subnet, "CidrBlock", other.at("CidrBlock"))


@_of(_SUBNET)
def zone_is_another(resources: Resources, subnet: Resource) -> Iterator[Resource | None]:
    for other in resources.of_type(_SUBNET):
        if "Private" in subnet.key and other.at("AvailabilityZoneId") != subnet.at("AvailabilityZoneId"):
            yield _set(subnet, "AvailabilityZoneId", other.at("AvailabilityZoneId"))
            return


def _lists(resource: Resource, places: Mapping[str, tuple[str, ...]]) -> Iterator[tuple[str, list[Any]]]:
    for path in places[resource.type]:
        if found := resource.at(path):
            yield path, found


@_of(*GROUPS)
def group_is_left_out(_: Resources, resource: Resource) -> Iterator[Resource | None]:
    for path, groups in _lists(resource, GROUPS):
        yield from (_set(resource, f"{path}.{index}", None) for index in range(len(groups)))


@_of(*GROUPS)
def group_is_another(resources: Resources, resource: Resource) -> Iterator[Resource | None]:
    for path, groups in _lists(resource, GROUPS):
        for index, own in enumerate(groups):
            for other in resources.of_type(_GROUP):
                if other.key not in str(groups):
                    yield _set(resource, f"{path}.{index}", f"${{{other.key}.GroupId}}")
                    break
            assert own


@_of(*SUBNETS)
def subnet_is_of_the_other_kind(resources: Resources, resource: Resource) -> Iterator[Resource | None]:
    for path, subnets in _lists(resource, SUBNETS):
        for index, own in enumerate(subnets):
            kind = "Public" if "Private" in own else "Private"
            for other in resources.of_type(_SUBNET):
                if kind in other.key:
                    yield _set(resource, f"{path}.{index}", f"${{{other.key}}}")
                    break


@_of("AWS::RDS::DBSubnetGroup", "AWS::EKS::Cluster", "AWS::ElasticLoadBalancingV2::LoadBalancer")
def one_zone_is_left(_: Resources, resource: Resource) -> Iterator[Resource | None]:
    for path, subnets in _lists(resource, SUBNETS):
        yield _set(resource, path, subnets[:1])


@_of("AWS::ElasticLoadBalancingV2::LoadBalancer")
def scheme_is_the_other(_: Resources, balancer: Resource) -> Iterator[Resource | None]:
    is_public = balancer.at("Scheme") != "internal"
    yield _set(balancer, "Scheme", "internal" if is_public else "internet-facing")


@_of("AWS::ElasticLoadBalancingV2::Listener")
def listener_has_another_port(_: Resources, listener: Resource) -> Iterator[Resource | None]:
    yield _set(listener, "Port", 8080)


@_of("AWS::ECS::Service")
def container_has_another_port(_: Resources, service: Resource) -> Iterator[Resource | None]:
    if service.at("LoadBalancers"):
        yield _set(service, "LoadBalancers.0.ContainerPort", 8080)


@_of("AWS::ElasticLoadBalancingV2::TargetGroup")
def health_check_has_another_port(_: Resources, targets: Resource) -> Iterator[Resource | None]:
    yield _set(targets, "HealthCheckPort", "8081")
