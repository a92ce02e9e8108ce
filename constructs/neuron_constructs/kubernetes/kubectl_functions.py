"""The functions with which the CDK installs charts and manifests: their logs and roles, and what scanners say."""

import aws_cdk as cdk
from aws_cdk import aws_eks_v2 as eks
from aws_cdk import aws_iam as iam
from aws_cdk import aws_lambda as lambda_
from aws_cdk import aws_logs as logs

from neuron_constructs.acknowledgements import acknowledge, allow_redundant_depends_on, skip_checkov
from neuron_constructs.log_groups import stack_log_group

_AWS_POLICIES = "AwsSolutions-IAM4[Policy::arn:<AWS::Partition>:iam::aws:policy/"
_OF_THE_CDK = "The CDK's own function for charts and manifests; it runs only while CloudFormation works on this stack"
_ONCE_AT_A_TIME = f"{_OF_THE_CDK}, once at a time."
_ANSWER_IS_AWAITED = f"{_OF_THE_CDK}, which waits for its answer and reports its failure."
_PULLS_CHARTS = f"{_OF_THE_CDK}. It reads charts and nothing else; they are in other accounts' registries."
_ITS_OWN_ROLE = f"{_OF_THE_CDK}, and so are its role and what that may do: log, and be in the VPC of the cluster's API."


def own_kubectl_functions(cluster: eks.Cluster, *, retention: logs.RetentionDays) -> None:
    """Give the functions log groups that are there before them and go after them, and accept their shape.

    The CDK's own groups are kept for ever, and go before the last manifest does: Lambda would make them anew.

    Their roles stay until the cluster is gone. Lambda deletes a function's network interfaces minutes after the
    function, with the rights of its role (AWS Knowledge Center, "lambda-eni-find-delete"; aws/aws-cdk#34400): without
    it they stay, and hold their security group, the subnets and the VPC (go-to-k/delstack#637).

    Args:
        cluster: a cluster with a kubectl provider.
        retention: how long the logs are kept while the stack stands.
    """
    provider = cluster.node.find_child("KubectlProvider")
    functions = [child for child in provider.node.find_all() if isinstance(child, lambda_.Function)]
    for function in functions:
        function.node.try_remove_child("LogGroup")
        resource = function.node.default_child
        assert isinstance(resource, lambda_.CfnFunction)
        group = stack_log_group(function, "Logs", retention=retention)
        # Escape hatch: the provider has no log group property.
        resource.add_property_override("LoggingConfig.LogGroup", group.log_group_name)
        _accept(function, resource)
        _keep_role(cluster, function)
    handler = next(function for function in functions if function.node.id == "Handler")
    _accept_handler(handler)
    _accept_framework(next(function for function in functions if function is not handler), handler)


def _keep_role(cluster: eks.Cluster, function: lambda_.Function) -> None:
    assert function.role
    resource, role = cluster.node.default_child, function.role.node.default_child
    assert isinstance(resource, cdk.CfnResource)
    assert isinstance(role, cdk.CfnResource)
    # The role alone: its policy names the cluster.
    resource.add_dependency(role)


def _accept(function: lambda_.Function, resource: lambda_.CfnFunction) -> None:
    acknowledge(
        function,
        {
            "NIST.800.53.R5-LambdaConcurrency": _ONCE_AT_A_TIME,
            "NIST.800.53.R5-LambdaDLQ": _ANSWER_IS_AWAITED,
        },
    )
    skip_checkov(
        resource,
        {
            "CKV_AWS_115": _ONCE_AT_A_TIME,
            "CKV_AWS_116": _ANSWER_IS_AWAITED,
            "CKV_AWS_173": "Its one variable is no secret: which STS to ask, or which function to call.",
        },
    )
    allow_redundant_depends_on(resource)
    role = function.role
    assert isinstance(role, iam.Role)
    acknowledge(
        role,
        {
            f"{_AWS_POLICIES}service-role/AWSLambdaBasicExecutionRole]": _ITS_OWN_ROLE,
            f"{_AWS_POLICIES}service-role/AWSLambdaVPCAccessExecutionRole]": _ITS_OWN_ROLE,
            "NIST.800.53.R5-IAMNoInlinePolicy": _ITS_OWN_ROLE,
        },
    )


def _accept_handler(handler: lambda_.Function) -> None:
    """Accept what only the function with kubectl and Helm has: it pulls charts."""
    acknowledge(
        handler,
        {"AwsSolutions-L1": "The CDK chooses the runtime with its release; a newer release brings a newer one."},
    )
    assert isinstance(handler.role, iam.Role)
    in_public = cdk.Stack.of(handler).get_logical_id(handler.node.find_child("HasEcrPublic"))  # type: ignore[arg-type]
    public_policy = (
        f'{{"Fn::If":["{in_public}",{{"Fn::Join":["",["arn:",{{"Ref":"AWS::Partition"}},'
        '":iam::aws:policy/AmazonElasticContainerRegistryPublicReadOnly"]]},{"Ref":"AWS::NoValue"}]}'
    )
    acknowledge(
        handler.role,
        {
            f"{_AWS_POLICIES}AmazonEC2ContainerRegistryReadOnly]": _PULLS_CHARTS,
            f"AwsSolutions-IAM4[Policy::{public_policy}]": _PULLS_CHARTS,
        },
    )


def _accept_framework(framework: lambda_.Function, handler: lambda_.Function) -> None:
    """Accept what only the function has that CloudFormation calls: it calls the other one in all its versions."""
    logical_id = cdk.Stack.of(handler).get_logical_id(handler.node.default_child)  # type: ignore[arg-type]
    assert isinstance(framework.role, iam.Role)
    acknowledge(framework.role, {f"AwsSolutions-IAM5[Resource::<{logical_id}.Arn>:*]": _ITS_OWN_ROLE})
