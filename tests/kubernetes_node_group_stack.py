"""Node groups alone in a stack with a cluster: what the template says of each."""

from collections.abc import Mapping
from typing import Any, NamedTuple

import aws_cdk as cdk
from aws_cdk import aws_ec2 as ec2
from aws_cdk import aws_eks_v2 as eks
from aws_cdk import aws_iam as iam

from neuron_constructs.kubernetes.node_group import NodeGroup, NodeGroupProps
from tests.assembly import cdk_context

TAGS = {"slipway:environment": "test", "team": "research"}
"""Tags of all of them."""


class Built(NamedTuple):
    """A node group in a template."""

    group: Mapping[str, Any]
    """Properties of the AWS::EKS::Nodegroup."""

    template: Mapping[str, Any]
    """`LaunchTemplateData` of its launch template."""

    placement_group: Mapping[str, Any] | None
    """Properties of its placement group."""


def node_groups(cases: Mapping[str, Mapping[str, Any]]) -> Mapping[str, Built]:
    """Build node groups in one stack.

    Args:
        cases: by name, properties that differ from those of a plain group of trn1.2xlarge.
    """
    app = cdk.App(context=cdk_context())
    stack = cdk.Stack(app, "Test", env=cdk.Environment(region="us-west-2"))
    vpc = ec2.Vpc(stack, "Vpc", max_azs=2)
    common = {
        "cluster": eks.Cluster(
            stack,
            "Cluster",
            version=eks.KubernetesVersion.V1_35,
            vpc=vpc,
            default_capacity_type=eks.DefaultCapacityType.NODEGROUP,
            default_capacity=0,
        ),
        "node_role": iam.Role(stack, "Role", assumed_by=iam.ServicePrincipal("ec2.amazonaws.com")),
        "lustre_client_group_id": "sg-0123456789abcdef0",
        "subnet": vpc.private_subnets[0],
        "instance_type": "trn1.2xlarge",
        "kubernetes_version": "1.35",
        "neuron_runtime": "2.30.51.0",
        "min_count": 0,
        "max_count": 2,
        "capacity_type": "on_demand",
        "capacity_reservation_id": None,
        "placement_group": None,
        "efa": False,
        "root_volume_gib": 200,
        "auto_repair": True,
        "tags": TAGS,
    }
    groups = {
        name: NodeGroup(stack, f"Group-{name}", NodeGroupProps(**{**common, "name": name, **case}))
        for name, case in cases.items()
    }
    resources = app.synth().get_stack_by_name("Test").template["Resources"]
    return {name: _built(stack, group, resources) for name, group in groups.items()}


def _built(stack: cdk.Stack, group: NodeGroup, resources: Mapping[str, Any]) -> Built:
    def properties(construct: Any) -> Mapping[str, Any]:
        found: Mapping[str, Any] = resources[stack.get_logical_id(construct.node.default_child)]["Properties"]
        return found

    placement_group = group.node.try_find_child("PlacementGroup")
    return Built(
        group=properties(group.node_group),
        template=properties(group.launch_template)["LaunchTemplateData"],
        placement_group=properties(placement_group) if placement_group else None,
    )
