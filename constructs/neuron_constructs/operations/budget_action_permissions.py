"""What the function that stops an environment may do: to the parts it is given, and to nothing else."""

from collections.abc import Iterator
from dataclasses import dataclass

import aws_cdk as cdk
from aws_cdk import aws_iam as iam
from aws_cdk import aws_logs as logs
from aws_cdk import aws_sns as sns
from constructs import Construct

from neuron_constructs.acknowledgements import acknowledge
from neuron_constructs.cluster.node_bounds import PAUSED_TAG as TAG

_FLEET_ITEM = "COMPUTE_FLEET"
_NAMED_BY_EKS = "EKS names node groups and their Auto Scaling groups; the cluster's name is in the ARN or in its tag."
_NAMED_BY_PROVIDER = "ParallelCluster names the cluster's stack and roles; the cluster's name is in both ARNs."
_NO_RESOURCE = (
    "Application Auto Scaling names its targets with ids of its own, and describing knows no resource. Changing one "
    "needs the right to change the service, too."
)


@dataclass(frozen=True, kw_only=True)
class StoppedParts:
    """Names of what is stopped, as `slipway_pause.environment.Targets` reads them."""

    slurm_clusters: tuple[str, ...] = ()
    """ParallelCluster's clusters: their compute fleets are stopped."""

    kubernetes_clusters: tuple[str, ...] = ()
    """EKS clusters: their node groups of jobs are brought to zero nodes."""

    services: tuple[str, ...] = ()
    """ECS services as `cluster/service`: they are brought to zero tasks."""


def permissions(
    scope: Construct,
    id: str,  # noqa: A002
    parts: StoppedParts,
    role: iam.IRole,
    *,
    log_group: logs.ILogGroup,
    topic: sns.ITopic,
) -> iam.ManagedPolicy:
    """Return the policy of the function, attached to its role.

    Args:
        scope: parent construct.
        id: construct id.
        parts: what it stops.
        role: the function's role.
        log_group: where it logs.
        topic: where it says what it did.
    """
    policy = iam.ManagedPolicy(scope, id, description="Slipway: stop an environment at its budget", roles=[role])
    policy.add_statements(
        iam.PolicyStatement(actions=["logs:CreateLogStream", "logs:PutLogEvents"], resources=[log_group.log_group_arn]),
        iam.PolicyStatement(actions=["sns:Publish"], resources=[topic.topic_arn]),
    )
    stack = cdk.Stack.of(scope)
    for found in (_fleets(stack, parts), _services(stack, parts), _node_groups(stack, parts)):
        policy.add_statements(*found)
    _accept_wildcards(policy, stack, parts)
    return policy


def _fleets(stack: cdk.Stack, parts: StoppedParts) -> Iterator[iam.PolicyStatement]:
    tables = [_arn(stack, "dynamodb", "table", f"parallelcluster-{name}") for name in parts.slurm_clusters]
    if not tables:
        return
    yield iam.PolicyStatement(actions=["dynamodb:DescribeTable", "dynamodb:ListTagsOfResource"], resources=tables)
    yield iam.PolicyStatement(
        actions=["dynamodb:GetItem", "dynamodb:UpdateItem"],
        resources=tables,
        conditions={"ForAllValues:StringEquals": {"dynamodb:LeadingKeys": [_FLEET_ITEM]}},
    )
    yield _tagging("dynamodb", tables)
    clusters = parts.slurm_clusters
    yield iam.PolicyStatement(
        actions=["cloudformation:DescribeStackResource"],
        resources=[_arn(stack, "cloudformation", "stack", f"{name}/*") for name in clusters],
    )
    roles = [_roles(stack, name) for name in clusters]
    yield iam.PolicyStatement(actions=["iam:ListRoleTags"], resources=roles)
    yield iam.PolicyStatement(
        actions=["iam:TagRole"], resources=roles, conditions={"ForAllValues:StringEquals": {"aws:TagKeys": [TAG]}}
    )


def _services(stack: cdk.Stack, parts: StoppedParts) -> Iterator[iam.PolicyStatement]:
    services = [_arn(stack, "ecs", "service", name) for name in parts.services]
    if not services:
        return
    yield iam.PolicyStatement(actions=["ecs:DescribeServices", "ecs:UpdateService"], resources=services)
    yield _tagging("ecs", services)
    yield iam.PolicyStatement(actions=["application-autoscaling:DescribeScalableTargets"], resources=["*"])
    yield iam.PolicyStatement(
        actions=["application-autoscaling:RegisterScalableTarget"],
        resources=[_arn(stack, "application-autoscaling", "scalable-target", "*")],
        conditions={"StringEquals": {"application-autoscaling:service-namespace": "ecs"}},
    )


def _node_groups(stack: cdk.Stack, parts: StoppedParts) -> Iterator[iam.PolicyStatement]:
    names = list(parts.kubernetes_clusters)
    clusters = [_arn(stack, "eks", "cluster", name) for name in names]
    if not clusters:
        return
    yield iam.PolicyStatement(actions=["eks:DescribeCluster", "eks:ListNodegroups"], resources=clusters)
    yield _tagging("eks", clusters, suffix="/*")
    yield iam.PolicyStatement(
        actions=["eks:DescribeNodegroup", "eks:UpdateNodegroupConfig"],
        resources=[_arn(stack, "eks", "nodegroup", f"{name}/*") for name in names],
    )
    yield iam.PolicyStatement(
        actions=["autoscaling:SuspendProcesses"],
        resources=[_auto_scaling_groups(stack)],
        # EKS tags the groups that it makes.
        conditions={"StringEquals": {"autoscaling:ResourceTag/eks:cluster-name": names}},
    )


def _tagging(service: str, resources: list[str], *, suffix: str = "") -> iam.PolicyStatement:
    """Allow the one tag, and no other: permissions may hang on those. Removing it is for those who resume."""
    return iam.PolicyStatement(
        actions=[f"{service}:TagResource"],
        resources=resources,
        conditions={"ForAllValues:StringLike": {"aws:TagKeys": [f"{TAG}{suffix}"]}},
    )


def _arn(stack: cdk.Stack, service: str, kind: str, name: str) -> str:
    return stack.format_arn(service=service, resource=kind, resource_name=name)


def _roles(stack: cdk.Stack, cluster: str) -> str:
    return stack.format_arn(service="iam", region="", resource="role", resource_name=f"parallelcluster/{cluster}/*")


def _auto_scaling_groups(stack: cdk.Stack) -> str:
    return stack.format_arn(
        service="autoscaling", resource="autoScalingGroup:*:autoScalingGroupName", resource_name="eks-*"
    )


def _accept_wildcards(policy: iam.ManagedPolicy, stack: cdk.Stack, parts: StoppedParts) -> None:
    reasons: dict[str, str] = {}
    if parts.services:
        reasons["*"] = _NO_RESOURCE
        reasons[_written(stack, "application-autoscaling", "scalable-target/*")] = _NO_RESOURCE
    for name in parts.slurm_clusters:
        reasons[_written(stack, "cloudformation", f"stack/{name}/*")] = _NAMED_BY_PROVIDER
        reasons[f"arn:{stack.partition}:iam::<AWS::AccountId>:role/parallelcluster/{name}/*"] = _NAMED_BY_PROVIDER
    for name in parts.kubernetes_clusters:
        reasons[_written(stack, "eks", f"nodegroup/{name}/*")] = _NAMED_BY_EKS
        reasons[_written(stack, "autoscaling", "autoScalingGroup:*:autoScalingGroupName/eks-*")] = _NAMED_BY_EKS
    acknowledge(policy, {f"AwsSolutions-IAM5[Resource::{arn}]": reason for arn, reason in reasons.items()})


def _written(stack: cdk.Stack, service: str, resource: str) -> str:
    """Write an ARN the way cdk-nag does in its findings, in a stack whose Region is known and whose account is not."""
    return f"arn:{stack.partition}:{service}:{stack.region}:<AWS::AccountId>:{resource}"
