"""What an inference host may do in the account."""

import aws_cdk as cdk
from aws_cdk import aws_autoscaling as autoscaling
from aws_cdk import aws_iam as iam
from aws_cdk import aws_logs as logs
from constructs import Construct

from neuron_constructs.acknowledgements import acknowledge, skip_checkov
from neuron_constructs.inference.host_user_data import HostScripts
from neuron_constructs.session_manager import session_statement

_PULL_ONLY = "AmazonEC2ContainerRegistryPullOnly"


def host_role(scope: Construct, model_reader_policy: iam.IManagedPolicy, *, pulls_images: bool) -> iam.Role:
    """Return the role; the models are read by the host and not by the task.

    The CDK adds what the ECS agent needs when the hosts join the cluster.

    Args:
        scope: the hosts.
        model_reader_policy: managed policy that allows reading the model bucket.
        pulls_images: whether the host itself, and not only the agent for a task, pulls from Amazon ECR.
    """
    pull_only = [iam.ManagedPolicy.from_aws_managed_policy_name(_PULL_ONLY)] if pulls_images else []
    role = iam.Role(
        scope,
        "Role",
        assumed_by=iam.ServicePrincipal("ec2.amazonaws.com"),
        managed_policies=[model_reader_policy, *pull_only],
    )
    if pulls_images:
        acknowledge(
            role,
            {
                f"AwsSolutions-IAM4[Policy::arn:<AWS::Partition>:iam::aws:policy/{_PULL_ONLY}]": (
                    "It reads images and nothing else; the image's repository may be in any account."
                )
            },
        )
    return role


class HostPermissions(Construct):
    """Session Manager, and what a host's scripts call: they answer the lifecycle hook, report a failure, send metrics.

    A policy of its own, attached to the role: as a part of the role it would depend on the group, which depends on the
    launch template, which depends on the role.
    """

    def __init__(
        self,
        scope: Construct,
        id: str,  # noqa: A002
        *,
        role: iam.Role,
        group: autoscaling.AutoScalingGroup,
        log_group: logs.LogGroup,
        metrics_namespace: str,
        scripts: HostScripts,
    ) -> None:
        """Attach the policy.

        Args:
            scope: parent construct.
            id: construct id.
            role: the hosts' role.
            group: their Auto Scaling group.
            log_group: where a failed host writes its reason.
            metrics_namespace: CloudWatch namespace of their metrics.
            scripts: what they fetch first.
        """
        super().__init__(scope, id)
        # In the place of the asterisk ARNs have an id that no one can know beforehand.
        groups = f"arn:{cdk.Aws.PARTITION}:autoscaling:{cdk.Aws.REGION}:{cdk.Aws.ACCOUNT_ID}:autoScalingGroup:*"
        policy = iam.ManagedPolicy(
            self,
            "Policy",
            description="Inference hosts: answer their Auto Scaling group, report failures, send metrics",
            roles=[role],
            statements=[
                session_statement(),
                iam.PolicyStatement(
                    actions=["autoscaling:CompleteLifecycleAction", "autoscaling:SetInstanceHealth"],
                    resources=[f"{groups}:autoScalingGroupName/{group.auto_scaling_group_name}"],
                ),
                iam.PolicyStatement(
                    actions=["autoscaling:DescribeAutoScalingInstances", "autoscaling:DescribeAutoScalingGroups"],
                    resources=["*"],
                ),
                iam.PolicyStatement(
                    actions=["logs:CreateLogStream", "logs:PutLogEvents"],
                    resources=[log_group.log_group_arn],
                ),
                iam.PolicyStatement(
                    actions=["cloudwatch:PutMetricData"],
                    resources=["*"],
                    conditions={"StringEquals": {"cloudwatch:namespace": metrics_namespace}},
                ),
                iam.PolicyStatement(actions=["s3:GetObject"], resources=[scripts.object_arn]),
            ],
        )
        logical_id = cdk.Stack.of(self).get_logical_id(group.node.default_child)  # type: ignore[arg-type]
        acknowledge(
            policy,
            {
                "AwsSolutions-IAM5[Resource::*]": (
                    "Sessions and describing groups know no resource, nor do metrics, which are bound to a namespace."
                ),
                (
                    "AwsSolutions-IAM5[Resource::arn:<AWS::Partition>:autoscaling:<AWS::Region>:<AWS::AccountId>:"
                    f"autoScalingGroup:*:autoScalingGroupName/<{logical_id}>]"
                ): "An id that AWS chooses; the group is named behind it.",
            },
        )
        skip_checkov(
            policy.node.default_child,
            {"CKV_AWS_111": "Only sessions and metrics know no resource; metrics are bound to a namespace."},
        )
