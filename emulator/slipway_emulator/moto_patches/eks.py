"""EKS: what a cluster and its node groups have in the VPC, and launch templates that EKS refuses."""

import uuid
from collections.abc import Mapping
from itertools import cycle
from typing import Any

from moto.ec2.models import ec2_backends
from moto.eks.exceptions import InvalidParameterException
from moto.eks.models import Cluster, EKSBackend, Nodegroup

from slipway_emulator.moto_patches.patch import MotoPatch

_CLUSTER_INTERFACES = 2


def _network(backend: EKSBackend) -> Any:
    return ec2_backends[backend.account_id][backend.region_name]


def _give_clusters_their_network() -> None:
    create, delete = EKSBackend.create_cluster, EKSBackend.delete_cluster

    def create_cluster(self: EKSBackend, *arguments: Any, **named: Any) -> Cluster:
        cluster = create(self, *arguments, **named)
        network, configured = _network(self), cluster.resources_vpc_config
        subnets = [network.get_subnet(subnet_id) for subnet_id in configured["subnetIds"]]
        group = network.create_security_group(
            name=f"eks-cluster-sg-{cluster.name}-{uuid.uuid4().hex[:10]}",
            description="EKS created security group applied to ENI that is attached to EKS Control Plane master nodes",
            vpc_id=subnets[0].vpc_id,
        )
        configured.update({"vpcId": subnets[0].vpc_id, "clusterSecurityGroupId": group.id})
        groups = [group.id, *configured.get("securityGroupIds", [])]
        cluster.interfaces = [  # type: ignore[attr-defined]
            network.create_network_interface(subnet, None, group_ids=groups, description=f"Amazon EKS {cluster.name}")
            for subnet in subnets[:_CLUSTER_INTERFACES]
        ]
        return cluster

    def delete_cluster(self: EKSBackend, name: str) -> Cluster:
        cluster, network = delete(self, name), _network(self)
        for interface in cluster.interfaces:  # type: ignore[attr-defined]
            network.delete_network_interface(interface.id)
        network.delete_security_group(group_id=cluster.resources_vpc_config["clusterSecurityGroupId"])
        return cluster

    EKSBackend.create_cluster = create_cluster  # type: ignore[method-assign]
    EKSBackend.delete_cluster = delete_cluster  # type: ignore[method-assign]


def _keep_the_cluster_network() -> None:
    update = EKSBackend.update_cluster_config

    def update_cluster_config(
        self: EKSBackend, name: str, resources_vpc_config: dict[str, Any] | None, *arguments: Any, **named: Any
    ) -> Cluster:
        changed = {**self.describe_cluster(name).resources_vpc_config, **(resources_vpc_config or {})}
        return update(self, name, changed, *arguments, **named)

    EKSBackend.update_cluster_config = update_cluster_config  # type: ignore[method-assign]


def _let_nodes_stand_in_subnets() -> None:
    create, delete = EKSBackend.create_nodegroup, EKSBackend.delete_nodegroup

    def create_nodegroup(self: EKSBackend, *arguments: Any, **named: Any) -> Nodegroup:
        template = _checked_launch_template(_network(self), named)
        group = create(self, *arguments, **named)
        network, cluster = _network(self), self.clusters[group.cluster_name]
        security_groups = _security_groups(template) or [cluster.resources_vpc_config["clusterSecurityGroupId"]]
        subnets = [network.get_subnet(subnet_id) for subnet_id in group.subnets]
        group.interfaces = [  # type: ignore[attr-defined]
            network.create_network_interface(
                subnet, None, group_ids=security_groups, description=f"Node of {group.nodegroup_name}"
            )
            for subnet, _ in zip(cycle(subnets), range(group.scaling_config["desiredSize"]), strict=False)
        ]
        return group

    def delete_nodegroup(self: EKSBackend, cluster_name: str, nodegroup_name: str) -> Nodegroup:
        group = delete(self, cluster_name, nodegroup_name)
        for interface in group.interfaces:  # type: ignore[attr-defined]
            _network(self).delete_network_interface(interface.id)
        return group

    EKSBackend.create_nodegroup = create_nodegroup  # type: ignore[method-assign]
    EKSBackend.delete_nodegroup = delete_nodegroup  # type: ignore[method-assign]


def _checked_launch_template(network: Any, named: Mapping[str, Any]) -> Mapping[str, Any]:
    """Return what the launch template of a new node group says.

    EKS user guide, "Customize managed nodes with launch templates": the instance type is in one place, subnets are the
    node group's, and the instance profile is made from the node role.
    """
    wanted = named.get("launch_template")
    if not wanted:
        return {}
    template = network.get_launch_template(wanted["id"])
    data: dict[str, Any] = template.get_version(wanted.get("version", "$Default")).data
    if data.get("InstanceType") and named.get("instance_types"):
        raise InvalidParameterException(message="Instance type is in the launch template and in the node group")
    if data.get("IamInstanceProfile") or any(card.get("SubnetId") for card in _interfaces(data)):
        raise InvalidParameterException(message="Launch template must not have an instance profile or a subnet")
    return data


def _interfaces(template: Mapping[str, Any]) -> list[dict[str, Any]]:
    return list(template.get("NetworkInterfaces") or [])


def _security_groups(template: Mapping[str, Any]) -> list[str]:
    groups = list(template.get("SecurityGroupIds") or [])
    for interface in _interfaces(template)[:1]:
        groups += interface.get("Groups") or interface.get("SecurityGroupIds") or []
    return groups


DEVIATIONS = (
    MotoPatch(
        "eks-cluster-network",
        "moto's clusters have no security group and no network interfaces; EKS makes them, and no subnet can go before",
        _give_clusters_their_network,
    ),
    MotoPatch(
        "eks-cluster-network-updates",
        "moto forgets the security group of a cluster whose access changes; EKS keeps it",
        _keep_the_cluster_network,
    ),
    MotoPatch(
        "eks-nodes-in-subnets",
        "moto takes any launch template and starts no node; EKS refuses one with a subnet or an instance profile, and "
        "each node stands in a subnet until its group is deleted",
        _let_nodes_stand_in_subnets,
    ),
)
