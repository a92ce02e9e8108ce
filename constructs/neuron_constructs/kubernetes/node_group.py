"""Managed node groups of an EKS cluster: nodes of one instance type for jobs, with EFA where there is EFA."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Literal

import aws_cdk as cdk
from aws_cdk import aws_ec2 as ec2
from aws_cdk import aws_eks_v2 as eks
from aws_cdk import aws_iam as iam
from constructs import Construct

from neuron_constructs.capacity_reservation import reserve
from neuron_constructs.kubernetes.names import NEURON_TAINT, NODE_GROUP_LABEL
from neuron_constructs.kubernetes.node_interfaces import network_interfaces
from neuron_constructs.kubernetes.node_user_data import node_user_data
from neuron_constructs.kubernetes.nodes import follow_version
from neuron_constructs.kubernetes.scale_from_zero import node_resource_tags
from slipway import facts

_CAPACITY_TYPES = {
    "on_demand": eks.CapacityType.ON_DEMAND,
    "spot": eks.CapacityType.SPOT,
    "capacity_block": eks.CapacityType.CAPACITY_BLOCK,
}


@dataclass(frozen=True, kw_only=True)
class NodeGroupProps:
    """Properties of a `NodeGroup`."""

    cluster: eks.ICluster
    """The cluster. Its security group lets its members talk to each other in every protocol, which EFA needs."""

    node_role: iam.IRole
    """Role of the nodes."""

    lustre_client_group_id: str
    """Id of the security group whose members may mount /fsx."""

    name: str
    """Name that pods choose the nodes by: value of their label `slipway/node-group`."""

    instance_type: str
    """EC2 instance type, x86_64; a row of the facts."""

    subnet: ec2.ISubnet
    """The private subnet of all nodes: EFA does not leave a subnet."""

    kubernetes_version: str
    """Kubernetes version of the nodes, a row of the facts; it pins the releases of their image."""

    neuron_runtime: str
    """Version of the Neuron runtime library in the containers of jobs: the nodes' driver must work with it."""

    min_count: int
    """Nodes that always run. A Capacity Block needs 0: EC2 starts nothing in it before its first hour."""

    max_count: int
    """Most nodes."""

    capacity_type: Literal["on_demand", "spot", "capacity_block"]
    """How nodes are bought."""

    capacity_reservation_id: str | None
    """The On-Demand Capacity Reservation or Capacity Block that all nodes start in; needed for `capacity_block`."""

    placement_group: str | None
    """Name of the placement group that the reservation was made in."""

    efa: bool
    """Whether nodes get every EFA interface of the instance type, which must have some."""

    root_volume_gib: int
    """Size in GiB of the root volume. Where there are local disks, images and volumes of pods are on those."""

    auto_repair: bool
    """Whether EKS replaces a node whose monitoring agent finds it broken."""

    tags: Mapping[str, str]
    """Tags of instances and volumes: those of the stack do not reach what EKS starts."""


class NodeGroup(Construct):
    """Nodes that the cluster autoscaler starts and ends between two numbers.

    They carry the label `slipway/node-group` with the group's name, and a taint that keeps other pods off:
    `aws.amazon.com/neuron` (`true`) where there are Neuron devices, which EKS lets pods tolerate that ask for devices,
    and `slipway/node-group` with the name elsewhere.

    EKS demands a desired number of nodes when it creates a group, and the template keeps it: the smallest one. What the
    autoscaler has made of it stays through updates, except through one that changes the smallest or the largest
    number: CloudFormation then sets the desired one again, which ends nodes above the smallest number.

    An update of image or launch template ends all nodes of the group before it starts new ones: for Trainium there are
    seldom more at hand, a reservation has no others, and a run of many nodes is interrupted once and not once for each.

    Raises:
        ValueError: EFA is asked for and the instance type has none; or no pinned image has a driver for the runtime.
        slipway.facts.UnknownFact: there is no row for the instance type or the Kubernetes version.
    """

    node_group: eks.Nodegroup
    launch_template: ec2.LaunchTemplate

    def __init__(self, scope: Construct, id: str, props: NodeGroupProps) -> None:  # noqa: A002
        super().__init__(scope, id)
        instance = facts.instance_type(props.instance_type)
        self.launch_template = self._launch_template(props, instance)
        assert self.launch_template.launch_template_id
        self.node_group = eks.Nodegroup(
            self,
            # No name of its own: a change that replaces the group makes the new one first.
            "Group",
            cluster=props.cluster,
            node_role=props.node_role,
            subnets=ec2.SubnetSelection(subnets=[props.subnet]),
            # The template names the instance type, the group does not: the CDK refuses this image for Trainium types.
            ami_type=eks.NodegroupAmiType.AL2023_X86_64_NEURON
            if instance.neuron_devices
            else eks.NodegroupAmiType.AL2023_X86_64_STANDARD,
            release_version=_release(props, instance),
            launch_template_spec=eks.LaunchTemplateSpec(
                id=self.launch_template.launch_template_id, version=self.launch_template.latest_version_number
            ),
            capacity_type=_CAPACITY_TYPES[props.capacity_type],
            min_size=props.min_count,
            max_size=props.max_count,
            labels={NODE_GROUP_LABEL: props.name},
            taints=[_taint(props.name, instance)],
            tags=node_resource_tags(instance, efa=props.efa),
            enable_node_auto_repair=props.auto_repair,
            max_unavailable_percentage=100,
            # Pods that a disruption budget protects stop an update.
            force_update=False,
        )
        follow_version(self.node_group, props.kubernetes_version)
        resource = self.node_group.node.default_child
        assert isinstance(resource, eks.CfnNodegroup)
        # Escape hatch: the L2 node group knows no update strategy.
        resource.add_property_override("UpdateConfig.UpdateStrategy", "MINIMAL")

    def _launch_template(self, props: NodeGroupProps, instance: facts.InstanceType) -> ec2.LaunchTemplate:
        template = ec2.LaunchTemplate(
            self,
            "LaunchTemplate",
            instance_type=ec2.InstanceType(instance.name),
            user_data=node_user_data(instance, efa=props.efa),
            block_devices=[
                ec2.BlockDevice(
                    device_name="/dev/xvda",
                    volume=ec2.BlockDeviceVolume.ebs(
                        props.root_volume_gib,
                        volume_type=ec2.EbsDeviceVolumeType.GP3,
                        encrypted=True,
                        delete_on_termination=True,
                    ),
                )
            ],
            placement_group=self._placement_group(props),
            require_imdsv2=True,
            # Pods are one hop further: they cannot take the nodes' role. Agents on the node's own network can ask.
            http_put_response_hop_limit=1,
        )
        resource = template.node.default_child
        assert isinstance(resource, ec2.CfnLaunchTemplate)
        groups = (props.cluster.cluster_security_group_id, props.lustre_client_group_id)
        # Escape hatch: the L2 launch template has no network cards.
        resource.add_property_override(
            "LaunchTemplateData.NetworkInterfaces",
            network_interfaces(instance, efa=props.efa, security_group_ids=groups),
        )
        reserve(template, props.capacity_reservation_id, capacity_block=props.capacity_type == "capacity_block")
        for key, value in props.tags.items():
            cdk.Tags.of(template).add(key, value)
        return template

    def _placement_group(self, props: NodeGroupProps) -> ec2.IPlacementGroup | None:
        """Return where nodes are close to each other, for those that talk to each other.

        In a reservation its own instances say where: in a group that it was not made with, EC2 finds no capacity or not
        all of it (eksctl-io/eksctl#7949, terraform-aws-modules/terraform-aws-eks#3730).
        """
        if props.placement_group is not None:
            return ec2.PlacementGroup.from_placement_group_name(self, "ReservedPlacementGroup", props.placement_group)
        if not props.efa or props.capacity_reservation_id is not None:
            return None
        return ec2.PlacementGroup(self, "PlacementGroup", strategy=ec2.PlacementGroupStrategy.CLUSTER)


def _release(props: NodeGroupProps, instance: facts.InstanceType) -> str:
    """Return the release of the nodes' image: without Neuron devices the newest, else one whose driver fits."""
    version = facts.kubernetes_version(props.kubernetes_version)
    release = version.ami_release_for(props.neuron_runtime) if instance.neuron_devices else version.newest_ami_release
    if release is None:
        message = (
            f"no image of Kubernetes {version.name} has a Neuron driver for runtime library {props.neuron_runtime}"
        )
        raise ValueError(message)
    return release


def _taint(name: str, instance: facts.InstanceType) -> eks.TaintSpec:
    key, value = (NEURON_TAINT, "true") if instance.neuron_devices else (NODE_GROUP_LABEL, name)
    return eks.TaintSpec(key=key, value=value, effect=eks.TaintEffect.NO_SCHEDULE)
