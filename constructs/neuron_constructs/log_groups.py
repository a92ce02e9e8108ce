"""CloudWatch log groups that go with their stack, and the key that encrypts them."""

import aws_cdk as cdk
import jsii
from aws_cdk import aws_iam as iam
from aws_cdk import aws_kms as kms
from aws_cdk import aws_logs as logs
from constructs import Construct, IConstruct


class LogKey(Construct):
    """A key of the account for the log groups of an environment, rotated each year, deleted with its stack.

    Only CloudWatch Logs uses it, for log groups of this account and Region (CloudWatch Logs user guide, "Encrypt log
    data in CloudWatch Logs using AWS KMS"). Log groups that outlive the key become unreadable when its deletion is
    scheduled.
    """

    key: kms.Key

    def __init__(self, scope: Construct, id: str) -> None:  # noqa: A002 (the CDK's word)
        super().__init__(scope, id)
        self.key = kms.Key(
            self,
            "Resource",
            description="Log groups of the environment",
            enable_key_rotation=True,
            removal_policy=cdk.RemovalPolicy.DESTROY,
            pending_window=cdk.Duration.days(7),
        )
        stack = cdk.Stack.of(self)
        self.key.add_to_resource_policy(
            iam.PolicyStatement(
                actions=["kms:Encrypt*", "kms:Decrypt*", "kms:ReEncrypt*", "kms:GenerateDataKey*", "kms:Describe*"],
                principals=[iam.ServicePrincipal(f"logs.{stack.region}.amazonaws.com")],
                resources=["*"],
                conditions={
                    "ArnLike": {
                        "kms:EncryptionContext:aws:logs:arn": stack.format_arn(
                            service="logs",
                            resource="log-group",
                            resource_name="*",
                            arn_format=cdk.ArnFormat.COLON_RESOURCE_NAME,
                        )
                    }
                },
            )
        )


@jsii.implements(cdk.IAspect)
class EncryptLogGroups:
    """Encrypts every log group below a construct with a key, those that the CDK adds included."""

    def __init__(self, key_arn: str) -> None:
        self._key_arn = key_arn

    def visit(self, node: IConstruct) -> None:
        """Set the key of a log group."""
        if isinstance(node, logs.CfnLogGroup):
            node.kms_key_id = self._key_arn


def stack_log_group(
    scope: Construct,
    id: str,  # noqa: A002
    *,
    retention: logs.RetentionDays,
    name: str | None = None,
) -> logs.LogGroup:
    """Return a log group that is deleted with its stack; the CDK's own default would keep it for ever.

    Args:
        scope: parent construct.
        id: construct id.
        retention: how long events are kept while the stack stands.
        name: name of the group, only where a service of AWS writes to a group of that name whether it is there or not.
    """
    return logs.LogGroup(scope, id, log_group_name=name, retention=retention, removal_policy=cdk.RemovalPolicy.DESTROY)


def log_group_arns(stack: cdk.Stack, name: str) -> list[str]:
    """Return the ARNs by which policies name a log group and its streams; the name may have `?` and `*`."""
    group = stack.format_arn(
        service="logs", resource="log-group", resource_name=name, arn_format=cdk.ArnFormat.COLON_RESOURCE_NAME
    )
    return [group, f"{group}:*"]


def list_log_groups_command(prefix: str, *, region: str) -> str:
    """Return the command that lists the log groups whose names begin with a prefix, for the outputs of stacks."""
    return f"aws logs describe-log-groups --region {region} --log-group-name-prefix {prefix}"
