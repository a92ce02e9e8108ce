"""Which service takes on the role that a resource names, and what it needs."""

from __future__ import annotations

from typing import NamedTuple

_ASSUME = ("sts:AssumeRole",)
_POD = ("sts:AssumeRole", "sts:TagSession")


class RoleUse(NamedTuple):
    """A property with a role.

    Attributes:
        type: CloudFormation type of the resource that names the role.
        path: dotted path of the property; `*` is each item of a list.
        service: who takes it on.
        actions: what its trust policy must allow the service.
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
"""The user guide of each service, "IAM role" or "service role" (2026-11-29)."""


class ManagedPolicyNeed(NamedTuple):
    """What the role of a service must allow.

    Attributes:
        type: CloudFormation type of the resource that names the role.
        path: dotted path of the property with the role.
        one_of: policies of AWS that allow it.
        action: an action that stands for them in a policy of one's own.
        when: path of a property without which it is not needed; empty for always.
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
