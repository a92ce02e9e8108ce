"""What nodes of all groups share: their role, and how their version follows the cluster's."""

from aws_cdk import aws_eks_v2 as eks
from aws_cdk import aws_iam as iam
from constructs import Construct

from neuron_constructs.acknowledgements import acknowledge
from neuron_constructs.session_manager import session_policy

_POLICIES = {
    "AmazonEKSWorkerNodePolicy": "EKS demands it of nodes and keeps it in step with the kubelet.",
    "AmazonEC2ContainerRegistryPullOnly": "It reads images and nothing else; add-ons' images are in AWS's accounts.",
}


def node_role(scope: Construct) -> iam.Role:
    """Return the role of nodes: join the cluster, pull images, Session Manager.

    Session Manager lets an administrator reach the private API through a core node. Pods get nothing of this role: the
    metadata service is out of their reach (`hop_limit` 1), and what they may do is a pod's own role.

    Args:
        scope: the cluster.
    """
    role = iam.Role(
        scope,
        "NodeRole",
        description="Nodes of the Kubernetes cluster",
        assumed_by=iam.ServicePrincipal("ec2.amazonaws.com"),
        managed_policies=[
            *(iam.ManagedPolicy.from_aws_managed_policy_name(name) for name in _POLICIES),
            session_policy(scope, "SessionManagerPolicy"),
        ],
    )
    acknowledge(
        role,
        {
            f"AwsSolutions-IAM4[Policy::arn:<AWS::Partition>:iam::aws:policy/{name}]": reason
            for name, reason in _POLICIES.items()
        },
    )
    return role


def follow_version(group: eks.Nodegroup, version: str) -> None:
    """Name the Kubernetes version of a node group in its template, so that an upgrade moves image and version together.

    Without it EKS keeps the group's version and refuses the newer image: "Requested release version ... is not valid
    for kubernetes version ..." (eksctl-io/eksctl#7976). An update of version or image cannot change anything else of
    the group but its launch template (AWS::EKS::Nodegroup in the CloudFormation reference).

    Args:
        group: the node group.
        version: the cluster's version; EKS accepts no other.
    """
    resource = group.node.default_child
    assert isinstance(resource, eks.CfnNodegroup)
    # Escape hatch: the L2 node group has no version.
    resource.version = version
