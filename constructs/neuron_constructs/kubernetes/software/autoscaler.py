"""The cluster autoscaler: it starts nodes for pods that wait for one, and stops nodes that nobody uses."""

from typing import Any

import aws_cdk as cdk
from aws_cdk import aws_eks_v2 as eks
from aws_cdk import aws_iam as iam
from constructs import Construct

from neuron_constructs.acknowledgements import acknowledge
from neuron_constructs.kubernetes.pod_identity import pod_role

AUTOSCALER = "cluster-autoscaler"
"""Name of the release, of its service account and of its row in the facts."""

AUTOSCALER_NAMESPACE = "kube-system"
"""Its namespace: only there a pod may have the priority that keeps it running on full nodes."""

_DESCRIBE_ACTIONS = (
    "autoscaling:DescribeAutoScalingGroups",
    "autoscaling:DescribeAutoScalingInstances",
    "autoscaling:DescribeScalingActivities",
    "ec2:DescribeImages",
    "ec2:DescribeInstanceTypes",
    "ec2:DescribeLaunchTemplateVersions",
    "ec2:GetInstanceTypesFromInstanceRequirements",
)


def autoscaler_role(scope: Construct, cluster: eks.ICluster) -> iam.Role:
    """Return the role of the autoscaler's pod.

    Actions as in kubernetes/autoscaler @55c37cd5, cluster-autoscaler/cloudprovider/aws/README.md, without launch
    configurations, which managed node groups do not have. It changes only groups that EKS has marked as the cluster's.

    Args:
        scope: parent construct.
        cluster: the cluster.
    """
    # In the place of the asterisks ARNs have an id that no one can know beforehand, and node groups any name.
    partition, place = cdk.Aws.PARTITION, f"{cdk.Aws.REGION}:{cdk.Aws.ACCOUNT_ID}"
    groups = f"arn:{partition}:autoscaling:{place}:autoScalingGroup:*:autoScalingGroupName/*"
    node_groups = f"arn:{partition}:eks:{place}:nodegroup/{cluster.cluster_name}/*/*"
    policy = iam.ManagedPolicy(
        scope,
        "AutoscalerPolicy",
        description="What the cluster autoscaler reads, and the nodes it starts and stops",
        statements=[
            iam.PolicyStatement(actions=list(_DESCRIBE_ACTIONS), resources=["*"]),
            iam.PolicyStatement(actions=["eks:DescribeNodegroup"], resources=[node_groups]),
            iam.PolicyStatement(
                actions=["autoscaling:SetDesiredCapacity", "autoscaling:TerminateInstanceInAutoScalingGroup"],
                resources=[groups],
                conditions={"StringEquals": {"aws:ResourceTag/eks:cluster-name": cluster.cluster_name}},
            ),
        ],
    )
    _acknowledge(policy, cluster)
    return pod_role(
        scope,
        "AutoscalerRole",
        cluster=cluster,
        namespace=AUTOSCALER_NAMESPACE,
        service_account=AUTOSCALER,
        policies=[policy],
    )


def _acknowledge(policy: iam.ManagedPolicy, cluster: eks.ICluster) -> None:
    resource = cluster.node.default_child
    assert isinstance(resource, cdk.CfnResource)
    name = cdk.Stack.of(resource).get_logical_id(resource)
    place = "<AWS::Region>:<AWS::AccountId>"
    groups = f"arn:<AWS::Partition>:autoscaling:{place}:autoScalingGroup:*:autoScalingGroupName/*"
    node_groups = f"arn:<AWS::Partition>:eks:{place}:nodegroup/<{name}>/*/*"
    acknowledge(
        policy,
        {
            "AwsSolutions-IAM5[Resource::*]": "These actions only describe, and know no resource.",
            f"AwsSolutions-IAM5[Resource::{node_groups}]": "Any node group of this cluster.",
            f"AwsSolutions-IAM5[Resource::{groups}]": "Only this cluster's groups: EKS marks them.",
        },
    )


def autoscaler_values(cluster_name: str, region: str, image_tag: str) -> dict[str, Any]:
    """Return the values of the chart.

    A node goes when for five minutes nothing on it needs it. Pods that say `safe-to-evict: "false"` (those of jobs and
    the shell) keep their node, as does every pod with local files, each for as long as it runs.

    Args:
        cluster_name: name of the EKS cluster, by which EKS tags the groups of its nodes.
        region: AWS Region.
        image_tag: tag of its image; the chart's own is of one Kubernetes version.
    """
    return {
        "cloudProvider": "aws",
        "awsRegion": region,
        "image": {"tag": image_tag},
        "autoDiscovery": {"clusterName": cluster_name},
        "fullnameOverride": AUTOSCALER,
        "rbac": {"serviceAccount": {"name": AUTOSCALER}},
        "extraArgs": {
            # A node is ready some seconds before its plugin tells of its devices. Whoever looks in between starts one
            # more (kubernetes/autoscaler#2232): look seldom, and let it go soon.
            "scan-interval": "30s",
            "scale-down-unneeded-time": "5m",
            "skip-nodes-with-local-storage": True,
            # No pod of a run comes to a node that is about to go.
            "cordon-node-before-terminating": True,
        },
        "resources": {"requests": {"cpu": "100m", "memory": "512Mi"}, "limits": {"memory": "512Mi"}},
        "securityContext": {
            "runAsNonRoot": True,
            "runAsUser": 65534,
            "runAsGroup": 65534,
            "seccompProfile": {"type": "RuntimeDefault"},
        },
        "containerSecurityContext": {
            "allowPrivilegeEscalation": False,
            "readOnlyRootFilesystem": True,
            "capabilities": {"drop": ["ALL"]},
        },
    }
