"""Which service assumes the role of a resource, and which permissions it needs."""

from __future__ import annotations

from typing import NamedTuple

_ASSUME = ("sts:AssumeRole",)
_POD = ("sts:AssumeRole", "sts:TagSession")


class RoleUse(NamedTuple):
    """A property that names a role.

    Attributes:
        type: CloudFormation type of the resource that names the role.
        path: dotted path of the property; `*` is each item of a list.
        service: service principal that assumes the role.
        actions: what the trust policy must allow the service.
    """

    type: str
    path: str
    service: str
    actions: tuple[str, ...] = _ASSUME


ROLE_USES = (
    RoleUse("AWS::AutoScaling::LifecycleHook", "RoleARN", "autoscaling.amazonaws.com"),
    RoleUse("AWS::Backup::BackupSelection", "BackupSelection.IamRoleArn", "backup.amazonaws.com"),
    RoleUse("AWS::Budgets::BudgetsAction", "ExecutionRoleArn", "budgets.amazonaws.com"),
    RoleUse("AWS::CodeBuild::Project", "ServiceRole", "codebuild.amazonaws.com"),
    RoleUse("AWS::EC2::FlowLog", "DeliverLogsPermissionArn", "vpc-flow-logs.amazonaws.com"),
    RoleUse("AWS::ECS::TaskDefinition", "ExecutionRoleArn", "ecs-tasks.amazonaws.com"),
    RoleUse("AWS::ECS::TaskDefinition", "TaskRoleArn", "ecs-tasks.amazonaws.com"),
    RoleUse("AWS::EKS::Addon", "PodIdentityAssociations.*.RoleArn", "pods.eks.amazonaws.com", _POD),
    RoleUse("AWS::EKS::Cluster", "RoleArn", "eks.amazonaws.com"),
    RoleUse("AWS::EKS::FargateProfile", "PodExecutionRoleArn", "eks-fargate-pods.amazonaws.com"),
    RoleUse("AWS::EKS::Nodegroup", "NodeRole", "ec2.amazonaws.com"),
    RoleUse("AWS::EKS::PodIdentityAssociation", "RoleArn", "pods.eks.amazonaws.com", _POD),
    RoleUse("AWS::Events::Rule", "Targets.*.RoleArn", "events.amazonaws.com"),
    RoleUse("AWS::IAM::InstanceProfile", "Roles.*", "ec2.amazonaws.com"),
    RoleUse("AWS::Lambda::Function", "Role", "lambda.amazonaws.com"),
    RoleUse("AWS::RDS::DBInstance", "MonitoringRoleArn", "monitoring.rds.amazonaws.com"),
    RoleUse("AWS::Scheduler::Schedule", "Target.RoleArn", "scheduler.amazonaws.com"),
    RoleUse("AWS::StepFunctions::StateMachine", "RoleArn", "states.amazonaws.com"),
)
"""Source: each service's user guide, "service role" (2026-11-29)."""


class ManagedPolicyNeed(NamedTuple):
    """A permission that a service needs from its role.

    Attributes:
        type: CloudFormation type of the resource that names the role.
        path: dotted path of the property with the role.
        one_of: AWS managed policies that allow it.
        action: an action by which a customer policy with the same permissions is recognized.
        when: path of a property that makes it necessary; empty if it always is.
    """

    type: str
    path: str
    one_of: tuple[str, ...]
    action: str
    when: str = ""


MANAGED_POLICIES = (
    ManagedPolicyNeed(
        "AWS::EKS::Cluster", "RoleArn", ("AmazonEKSClusterPolicy",), "elasticloadbalancing:CreateLoadBalancer"
    ),
    ManagedPolicyNeed(
        "AWS::EKS::Nodegroup",
        "NodeRole",
        ("AmazonEKSWorkerNodePolicy", "AmazonEKSWorkerNodeMinimalPolicy"),
        "eks:DescribeCluster",
    ),
    ManagedPolicyNeed(
        "AWS::EKS::Nodegroup",
        "NodeRole",
        ("AmazonEC2ContainerRegistryPullOnly", "AmazonEC2ContainerRegistryReadOnly"),
        "ecr:BatchGetImage",
    ),
    ManagedPolicyNeed(
        "AWS::Lambda::Function",
        "Role",
        ("AWSLambdaVPCAccessExecutionRole",),
        "ec2:CreateNetworkInterface",
        when="VpcConfig",
    ),
)
