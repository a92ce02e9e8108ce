"""Log groups for the Lambda functions that CDK adds behind our back, so that nothing stays when a stack goes."""

import aws_cdk as cdk
from aws_cdk import aws_logs as logs

from neuron_constructs.log_groups import stack_log_group


def own_custom_resource_logs(stack: cdk.Stack, *, retention: logs.RetentionDays) -> None:
    """Give every CDK-provided custom-resource function of a stack a log group that is deleted with the stack.

    Lambda would otherwise create `/aws/lambda/<function>` on first use, without retention and outside of any stack
    (aws/aws-cdk#26534). Call it after the stack's constructs exist.

    Args:
        stack: the stack to complete.
        retention: how long the log is kept while the stack stands.
    """
    for provider in [child for child in stack.node.children if isinstance(child, cdk.CustomResourceProviderBase)]:
        handler = provider.node.find_child("Handler")
        assert isinstance(handler, cdk.CfnResource)
        group = stack_log_group(provider, "Logs", retention=retention)
        # Escape hatch: the provider framework has no log group property.
        handler.add_property_override("LoggingConfig", {"LogGroup": group.log_group_name})
