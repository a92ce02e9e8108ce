"""The ECS cluster of an endpoint's models."""

from dataclasses import dataclass

from aws_cdk import aws_ec2 as ec2
from aws_cdk import aws_ecs as ecs
from aws_cdk import aws_logs as logs
from constructs import Construct

from neuron_constructs.log_groups import stack_log_group


@dataclass(frozen=True, kw_only=True)
class InferenceClusterProps:
    """Properties of an `InferenceCluster`."""

    name: str
    """Name of the ECS cluster, one of its own in account and region; it names a log group too."""

    vpc: ec2.IVpc
    """The VPC."""

    log_retention: logs.RetentionDays
    """How long the log of Container Insights is kept."""


class InferenceCluster(Construct):
    """A cluster whose Container Insights write to a log group of the stack.

    CloudWatch makes that group by itself when it is missing, outside of any stack and without retention. Its name holds
    the cluster's, which is why the cluster is named and the group is there first.
    """

    cluster: ecs.Cluster

    def __init__(self, scope: Construct, id: str, props: InferenceClusterProps) -> None:  # noqa: A002
        super().__init__(scope, id)
        log_group = stack_log_group(
            self,
            "InsightsLogs",
            retention=props.log_retention,
            name=f"/aws/ecs/containerinsights/{props.name}/performance",
        )
        self.cluster = ecs.Cluster(
            self,
            "Cluster",
            cluster_name=props.name,
            vpc=props.vpc,
            container_insights_v2=ecs.ContainerInsights.ENHANCED,
        )
        self.cluster.node.add_dependency(log_group)
