"""The Lambda functions that CDK adds behind our back: their logs, and what scanners say about them."""

import aws_cdk as cdk
from aws_cdk import aws_logs as logs
from constructs import IConstruct

from neuron_constructs.acknowledgements import allow_redundant_depends_on, skip_checkov
from neuron_constructs.log_groups import stack_log_group

_DEPLOY_TIME_ONLY = "The CDK's own function; it runs only while CloudFormation works on this stack"
_CHECKOV_SKIPS = {
    "CKV_AWS_115": f"{_DEPLOY_TIME_ONLY}, once at a time.",
    "CKV_AWS_116": f"{_DEPLOY_TIME_ONLY}, which waits for its answer and reports its failure.",
    "CKV_AWS_117": f"{_DEPLOY_TIME_ONLY}; in a VPC its network interfaces would hold up the VPC's deletion.",
}


def own_provided_functions(stack: cdk.Stack, *, retention: logs.RetentionDays) -> None:
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
        accept_provided_function(handler)


def accept_provided_function(function: IConstruct | None, **further_reasons: str) -> None:
    """Note on a CDK-provided function why checkov's and cfn-lint's findings about its shape are accepted.

    Args:
        function: the L1 function.
        further_reasons: checkov check id -> reason, beyond what holds for all of them.
    """
    skip_checkov(function, {**_CHECKOV_SKIPS, **further_reasons})
    allow_redundant_depends_on(function)
