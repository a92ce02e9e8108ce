"""The functions with which the CDK installs charts and manifests: their logs, and what scanners say about them."""

from aws_cdk import aws_eks_v2 as eks
from aws_cdk import aws_lambda as lambda_
from aws_cdk import aws_logs as logs

from neuron_constructs.log_groups import stack_log_group


def own_kubectl_functions(cluster: eks.Cluster, *, retention: logs.RetentionDays) -> None:
    """Give the functions log groups that are there before them and go after them.

    The CDK's own groups are kept for ever, and go before the last manifest does: Lambda would make them anew.

    Args:
        cluster: a cluster with a kubectl provider.
        retention: how long the logs are kept while the stack stands.
    """
    for function in cluster.node.find_child("KubectlProvider").node.find_all():
        if isinstance(function, lambda_.Function):
            function.node.try_remove_child("LogGroup")
            resource = function.node.default_child
            assert isinstance(resource, lambda_.CfnFunction)
            group = stack_log_group(function, "Logs", retention=retention)
            # Escape hatch: the provider has no log group property.
            resource.add_property_override("LoggingConfig.LogGroup", group.log_group_name)
