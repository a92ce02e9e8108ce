"""What has addresses in a VPC: file systems, databases, load balancers, functions, hosts and the nodes of clusters."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from slipway.review.changes.permissions.security_groups import ALL_PORTS, EVERYBODY, Direction, Rule, group_of
from slipway.review.changes.resources import Resource, value_at
from slipway.review.wiring.resources import Resources, mapping, rows

LOAD_BALANCER = "AWS::ElasticLoadBalancingV2::LoadBalancer"
CLUSTER = "Custom::PclusterCluster"
FUNCTION = "AWS::Lambda::Function"
_CONTROL_PLANE = "AWS::EKS::Cluster"
LAUNCH_TEMPLATE = "AWS::EC2::LaunchTemplate"
_MANIFEST = "Custom::AWSCDK-EKS-KubernetesResource"

# Dotted paths of subnets and security groups.
_PLACES: Mapping[str, tuple[str, str]] = {
    "AWS::FSx::FileSystem": ("SubnetIds", "SecurityGroupIds"),
    "AWS::EFS::MountTarget": ("SubnetId", "SecurityGroups"),
    FUNCTION: ("VpcConfig.SubnetIds", "VpcConfig.SecurityGroupIds"),
    "AWS::ECS::Service": (
        "NetworkConfiguration.AwsvpcConfiguration.Subnets",
        "NetworkConfiguration.AwsvpcConfiguration.SecurityGroups",
    ),
    "AWS::EC2::VPCEndpoint": ("SubnetIds", "SecurityGroupIds"),
    _CONTROL_PLANE: ("ResourcesVpcConfig.SubnetIds", "ResourcesVpcConfig.SecurityGroupIds"),
    LOAD_BALANCER: ("Subnets", "SecurityGroups"),
}
_STARTED_FROM_A_TEMPLATE: Mapping[str, str] = {
    "AWS::AutoScaling::AutoScalingGroup": "VPCZoneIdentifier",
    "AWS::EKS::Nodegroup": "Subnets",
}


@dataclass(frozen=True, eq=False)
class Attached:
    """Something with addresses in a VPC.

    Attributes:
        resource: the resource that it is, or is a part of.
        name: what it is, for example `the head node`; empty for the whole resource.
        path: where in the resource's properties its security groups stand.
        subnets: ids, or references.
        groups: security groups, ids or references.
        definition: what its template says, with its launch template and its permissions: the names in it are what it
            works with.
        runs_code: whether it asks AWS's services by itself.
        uses_efa: whether it has an Elastic Fabric Adapter.
    """

    resource: Resource
    name: str
    path: str
    subnets: tuple[str, ...]
    groups: tuple[str, ...]
    definition: Any
    runs_code: bool = False
    uses_efa: bool = False

    def __str__(self) -> str:
        return f"{self.name} of {self.resource.logical_id}" if self.name else self.resource.logical_id


def attached(resources: Resources) -> Iterator[Attached]:
    """Yield all that has addresses in a VPC."""
    for type_, (subnets, groups) in _PLACES.items():
        for resource in resources.of_type(type_):
            if found := _texts(resource.at(subnets)):
                own = _texts(resource.at(groups)) + ((own_group(resource),) if type_ == _CONTROL_PLANE else ())
                definition = [resource.properties, list(_permissions(resources, resource))]
                yield Attached(resource, "", groups, found, own, definition, runs_code=type_ == FUNCTION)
    for resource in resources.of_type("AWS::RDS::DBInstance"):
        group = resources.resource(resource.at("DBSubnetGroupName"), "AWS::RDS::DBSubnetGroup")
        found = _texts(group.at("SubnetIds")) if group else ()
        path = "VPCSecurityGroups"
        yield Attached(resource, "", path, found, _texts(resource.at(path)), resource.properties)
    for type_, subnets in _STARTED_FROM_A_TEMPLATE.items():
        for resource in resources.of_type(type_):
            yield _started(resources, resource, _texts(resource.at(subnets)))
    for resource in resources.of_type(CLUSTER):
        yield from _nodes(resource)


def _permissions(resources: Resources, function: Resource) -> Iterator[Any]:
    """Yield the policies of a function's role: they name what it works with where its settings do not."""
    role = resources.resource(function.at("Role"), "AWS::IAM::Role")
    for policy in resources.of_type("AWS::IAM::Policy") if role else ():
        if any(resources.resource(each, "AWS::IAM::Role") is role for each in policy.at("Roles") or ()):
            yield policy.properties


def launch_template(resources: Resources, group: Resource) -> Resource | None:
    """Return the launch template of an Auto Scaling group or a managed node group, if it is in the stacks."""
    named = mapping(group.at("LaunchTemplate"))
    return resources.resource(named.get("LaunchTemplateId") or named.get("Id"), LAUNCH_TEMPLATE)


def efa_interfaces(template: Resource | None) -> list[Mapping[str, Any]]:
    """Return the Elastic Fabric Adapter interfaces of a launch template."""
    interfaces = rows(template.at("LaunchTemplateData.NetworkInterfaces")) if template else []
    return [each for each in interfaces if str(each.get("InterfaceType", "")).startswith("efa")]


def _started(resources: Resources, resource: Resource, subnets: tuple[str, ...]) -> Attached:
    template = launch_template(resources, resource)
    data = mapping(template.at("LaunchTemplateData") if template else None)
    interfaces = rows(data.get("NetworkInterfaces"))
    groups = value_at(interfaces, "0.Groups") if interfaces else data.get("SecurityGroupIds")
    efa = bool(efa_interfaces(template))
    # What a Kubernetes cluster runs, any of its nodes can run.
    cluster = resource.at("ClusterName")
    manifests = [each.properties for each in resources.of_type(_MANIFEST) if each.at("ClusterName") == cluster]
    definition = [resource.properties, data, manifests if cluster else []]
    path = "LaunchTemplate"
    return Attached(resource, "", path, subnets, _texts(groups), definition, runs_code=True, uses_efa=efa)


def _nodes(cluster: Resource) -> Iterator[Attached]:
    """Yield the nodes of a cluster of ParallelCluster, which adds a security group of its own unless all are named."""
    path = "ClusterConfiguration"
    parts = [("the head node", f"{path}.HeadNode")]
    queues = rows(cluster.at(f"{path}.Scheduling.SlurmQueues"))
    parts += [(f"queue {queue.get('Name')}", f"{path}.Scheduling.SlurmQueues.{n}") for n, queue in enumerate(queues)]
    pools = rows(cluster.at(f"{path}.LoginNodes.Pools"))
    parts += [(f"login nodes {pool.get('Name')}", f"{path}.LoginNodes.Pools.{n}") for n, pool in enumerate(pools)]
    everywhere = cluster.at(f"{path}.SharedStorage")
    settings = cluster.at(f"{path}.Scheduling.SlurmSettings")
    for name, place in parts:
        section = mapping(cluster.at(place))
        network = mapping(section.get("Networking"))
        whole = _texts(network.get("SecurityGroups"))
        groups = whole or (own_group(cluster), *_texts(network.get("AdditionalSecurityGroups")))
        efa = any(value_at(each, "Efa.Enabled") is True for each in rows(section.get("ComputeResources")))
        subnets = _texts(network.get("SubnetId")) + _texts(network.get("SubnetIds"))
        at = f"{place}.Networking.{'SecurityGroups' if whole else 'AdditionalSecurityGroups'}"
        definition = [section, everywhere, settings if section is cluster.at(f"{path}.HeadNode") else None]
        yield Attached(cluster, name, at, subnets, groups, definition, runs_code=True, uses_efa=efa)


def own_group(cluster: Resource) -> str:
    """Return what the rules call the security group that a service makes for a cluster."""
    return f"${{{cluster.key}.ClusterSecurityGroupId}}"


def own_rules(resources: Resources) -> Iterator[Rule]:
    """Yield the rules of groups that services make, which no template has.

    Amazon EKS user guide, "View Amazon EKS security group requirements for clusters"; aws-parallelcluster 3.16.1,
    pcluster/templates/cluster_stack.py, _add_compute_security_group.
    """
    for cluster in resources.of_type(_CONTROL_PLANE, CLUSTER):
        group = own_group(cluster)
        directions: tuple[Direction, ...] = ("in", "out")
        for direction in directions:
            yield Rule(cluster.key, group, direction, "-1", ALL_PORTS, group, group)
        yield Rule(cluster.key, group, "out", "-1", ALL_PORTS, EVERYBODY, EVERYBODY)


def _texts(value: Any) -> tuple[str, ...]:
    items = value if isinstance(value, list) else [value] if value else []
    return tuple(group_of(item) for item in items if isinstance(item, str))
