"""Changes of the files that are served: nothing that Slipway does after a roll-out makes one."""

from collections.abc import Sequence
from typing import cast

import aws_cdk as cdk
from aws_cdk import aws_events as events
from aws_cdk import aws_iam as iam
from aws_cdk import aws_logs as logs
from aws_cdk import aws_s3 as s3
from constructs import Construct

from neuron_constructs.log_groups import stack_log_group

_CHANGES = ["Object Created", "Object Deleted", "Object Tags Added", "Object Tags Deleted", "Object ACL Updated"]
"""Types of events (Amazon S3 user guide, "Using EventBridge"). A restored or moved object has the content it had."""


def changes_log(scope: Construct, id: str, *, retention: logs.RetentionDays) -> logs.LogGroup:  # noqa: A002
    """Return the log group of the changes, which rules of the account may write to.

    Args:
        scope: parent construct.
        id: construct id.
        retention: how long events are kept while the stack stands.
    """
    stack = cdk.Stack.of(scope)
    # AWS says that the name of such a group begins so (AWS Knowledge Center, "log group as a target of a rule").
    name = f"/aws/events/{stack.stack_name}"
    group = stack_log_group(scope, id, retention=retention, name=name)
    writers = [iam.ServicePrincipal("events.amazonaws.com"), iam.ServicePrincipal("delivery.logs.amazonaws.com")]
    # CloudFormation shortens the stack's name in that of a rule.
    rules = stack.format_arn(service="events", resource="rule", resource_name="*")
    streams = f"{_log_arn(stack, name)}:*"
    # A policy of the group itself: an account can have ten of the other kind (CloudWatch Logs, `PutResourcePolicy`).
    # The statements are those of the Amazon EventBridge user guide, "CloudWatch Logs permissions".
    cast("logs.CfnLogGroup", group.node.default_child).resource_policy_document = iam.PolicyDocument(
        statements=[
            iam.PolicyStatement(actions=["logs:CreateLogStream"], principals=writers, resources=[streams]),
            iam.PolicyStatement(
                actions=["logs:PutLogEvents"],
                principals=writers,
                resources=[streams],
                conditions={"ArnLike": {"aws:SourceArn": rules}},
            ),
        ]
    )
    return group


def changes_rule(
    scope: Construct,
    id: str,  # noqa: A002
    *,
    bucket: s3.IBucket,
    prefixes: Sequence[str],
    log: logs.ILogGroup,
) -> events.CfnRule:
    """Return a rule that writes each change of an object below the prefixes to a log.

    Args:
        scope: parent construct.
        id: construct id.
        bucket: the bucket, which sends its events to Amazon EventBridge.
        prefixes: folders, without a slash at the end; parameters of the stack too.
        log: a log group of `changes_log` in the same stack.
    """
    return events.CfnRule(
        scope,
        id,
        description="Changes of files that are served",
        event_pattern={
            "source": ["aws.s3"],
            "detail-type": _CHANGES,
            "detail": {
                "bucket": {"name": [bucket.bucket_name]},
                "object": {"key": [{"prefix": cdk.Fn.join("", [prefix, "/"])} for prefix in prefixes]},
            },
        },
        # The L2's target would bring a custom resource for the policy of the group.
        targets=[events.CfnRule.TargetProperty(id="Log", arn=_log_arn(log.stack, log.log_group_name))],
    )


def _log_arn(stack: cdk.Stack, name: str) -> str:
    """Return the ARN of a group as targets want it; the group's own attribute ends in `:*`."""
    return stack.format_arn(
        service="logs", resource="log-group", resource_name=name, arn_format=cdk.ArnFormat.COLON_RESOURCE_NAME
    )
