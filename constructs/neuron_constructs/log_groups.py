"""CloudWatch log groups that go with their stack."""

import aws_cdk as cdk
from aws_cdk import aws_logs as logs
from constructs import Construct

from neuron_constructs.acknowledgements import acknowledge, skip_checkov

_OWN_KEYS_SUFFICE = (
    "CloudWatch Logs encrypts every group with keys of its own; these logs hold no prompts and no training data."
)


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
    group = logs.LogGroup(scope, id, log_group_name=name, retention=retention, removal_policy=cdk.RemovalPolicy.DESTROY)
    acknowledge(group, {"NIST.800.53.R5-CloudWatchLogGroupEncrypted": _OWN_KEYS_SUFFICE})
    skip_checkov(group.node.default_child, {"CKV_AWS_158": _OWN_KEYS_SUFFICE})
    return group


def list_log_groups_command(prefix: str, *, region: str) -> str:
    """Return the command that lists the log groups whose names begin with a prefix, for the outputs of stacks."""
    return f"aws logs describe-log-groups --region {region} --log-group-name-prefix {prefix}"
