"""Core nodes: plain instances for what the cluster itself runs."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import aws_cdk as cdk
from aws_cdk import aws_ec2 as ec2
from aws_cdk import aws_eks_v2 as eks
from aws_cdk import aws_iam as iam
from constructs import Construct

from neuron_constructs.kubernetes.names import NODE_GROUP_LABEL
from neuron_constructs.kubernetes.nodes import follow_version
from slipway import facts

CORE_NODE_GROUP = "core"
"""Value of the node group's label on core nodes, which have no taint."""

_ROOT_VOLUME_GIB = 100
"""The shell runs the training image, which is about twenty gigabytes."""


@dataclass(frozen=True, kw_only=True)
class CoreNodesProps:
    """Properties of `core_nodes`."""

    cluster: eks.ICluster
    """The cluster."""

    node_role: iam.IRole
    """Role of the nodes."""

    lustre_client_group_id: str
    """Id of the security group whose members may mount /fsx: the shell and TensorBoard do."""

    version: str
    """Kubernetes version, a row of the facts; it pins the release of the nodes' image."""

    subnets: Sequence[ec2.ISubnet]
    """Private subnets, one in each zone that offers the instance type: the loss of a zone leaves nodes."""

    instance_type: str
    """EC2 instance type, x86_64."""

    min_count: int
    """Nodes that always run."""

    max_count: int
    """Most nodes."""

    tags: Mapping[str, str]
    """Tags of instances and volumes."""


def core_nodes(scope: Construct, id: str, props: CoreNodesProps) -> eks.Nodegroup:  # noqa: A002
    """Return a managed node group of plain instances without taint, over all subnets.

    EKS itself gives its Auto Scaling group the tags by which the cluster autoscaler finds it.

    Args:
        scope: parent construct.
        id: construct id.
        props: what nodes, and how many.

    Raises:
        slipway.facts.UnknownFact: there is no row for the Kubernetes version.
    """
    nodes = Construct(scope, id)
    template = _launch_template(nodes, props)
    group = eks.Nodegroup(
        nodes,
        "Group",
        cluster=props.cluster,
        node_role=props.node_role,
        subnets=ec2.SubnetSelection(subnets=list(props.subnets)),
        ami_type=eks.NodegroupAmiType.AL2023_X86_64_STANDARD,
        release_version=facts.kubernetes_version(props.version).newest_ami_release,
        launch_template_spec=eks.LaunchTemplateSpec(id=_id(template), version=template.latest_version_number),
        min_size=props.min_count,
        max_size=props.max_count,
        labels={NODE_GROUP_LABEL: CORE_NODE_GROUP},
        enable_node_auto_repair=True,
    )
    follow_version(group, props.version)
    return group


def _launch_template(nodes: Construct, props: CoreNodesProps) -> ec2.LaunchTemplate:
    template = ec2.LaunchTemplate(
        nodes,
        "LaunchTemplate",
        # Here and not in the node group, where another type would replace the group and not roll through it.
        instance_type=ec2.InstanceType(props.instance_type),
        block_devices=[
            ec2.BlockDevice(
                device_name="/dev/xvda",
                volume=ec2.BlockDeviceVolume.ebs(
                    _ROOT_VOLUME_GIB, volume_type=ec2.EbsDeviceVolumeType.GP3, encrypted=True
                ),
            )
        ],
        require_imdsv2=True,
        # Pods are one hop further: they cannot take the nodes' role. Agents on the node's own network can ask.
        http_put_response_hop_limit=1,
    )
    resource = template.node.default_child
    assert isinstance(resource, ec2.CfnLaunchTemplate)
    # EKS adds the cluster's security group by itself only to templates that name none; the L2 template takes one.
    groups = [props.cluster.cluster_security_group_id, props.lustre_client_group_id]
    resource.add_property_override("LaunchTemplateData.SecurityGroupIds", groups)
    for key, value in props.tags.items():
        cdk.Tags.of(template).add(key, value)
    return template


def _id(template: ec2.LaunchTemplate) -> str:
    """Return the id, which the CDK's type says may be missing as it is for some imported templates."""
    assert template.launch_template_id
    return template.launch_template_id
