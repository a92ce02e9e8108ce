"""The operations stack: budget, alarms and dashboard over the whole environment."""

from collections.abc import Sequence

import aws_cdk as cdk
from aws_cdk import aws_cloudwatch as cloudwatch
from constructs import Construct

from neuron_constructs.operations.budget import Budget
from neuron_constructs.operations.notifications import Notifications
from neuron_constructs.operations.watch import Alarm, Graph, Watch
from slipway.spec.environment import Environment
from stacks.environment_stack import ENVIRONMENT_TAG, EnvironmentStack
from stacks.inference import InferenceStack

_GIB = 1024**3
_MINUTE = cdk.Duration.minutes(1)
_FIVE_MINUTES = cdk.Duration.minutes(5)


class OperationsStack(EnvironmentStack):
    """Topic, budget, alarms, dashboard.

    Lifetime: it may be destroyed and rebuilt at any time; it only watches. It costs cents: alarms and a dashboard.
    """

    def __init__(
        self,
        scope: Construct,
        environment: Environment,
        *,
        nat_gateway_ids: Sequence[str],
        file_system_id: str,
        inference: InferenceStack | None,
    ) -> None:
        """Create the stack.

        Args:
            scope: the app.
            environment: the environment file.
            nat_gateway_ids: the network's NAT gateways.
            file_system_id: the FSx for Lustre file system.
            inference: the inference stack, if the environment has one.
        """
        super().__init__(scope, "operations", environment, description="Slipway: budget, alarms, dashboard")
        self._environment = environment
        operations = environment.operations
        notifications = Notifications(self, "Notifications", account=self.account, email=operations.alarm_email)
        if operations.monthly_budget_usd:
            Budget(
                self,
                "Budget",
                monthly_usd=operations.monthly_budget_usd,
                tag_key=ENVIRONMENT_TAG,
                tag_value=environment.name,
                topic=notifications.topic,
                topic_policy=notifications,
            )
        Watch(
            self,
            "Watch",
            alarms=[
                _silent_head_node(environment.training.cluster_name),
                self._full_file_system(file_system_id),
                *(_exhausted_nat_gateway(number, id_) for number, id_ in enumerate(nat_gateway_ids, start=1)),
                *(_endpoint_alarms(inference) if inference else ()),
            ],
            graphs=[
                *_file_system_graphs(file_system_id),
                Graph(title="NAT: bytes out", metrics=[_nat(id_, "BytesOutToDestination") for id_ in nat_gateway_ids]),
                *(_endpoint_graphs(inference) if inference else ()),
            ],
            topic=notifications.topic,
        )
        cdk.CfnOutput(
            self, "NotificationTopic", value=notifications.topic.topic_arn, description="Subscribe to alarms here"
        )

    def _full_file_system(self, file_system_id: str) -> Alarm:
        tenth = self._environment.storage.lustre.capacity_gib * _GIB / 10
        return Alarm(
            name="FileSystemNearlyFull",
            metric=_free_capacity(file_system_id),
            fires="below",
            threshold=tenth,
            periods=15,
            means="/fsx has less than a tenth of its capacity left. Delete old checkpoints (they are in the bucket), "
            "or raise storage.lustre.capacity_gib; it can only grow.",
        )


def _silent_head_node(cluster_name: str) -> Alarm:
    """Alarm when ParallelCluster's own daemon has not logged a heartbeat for ten minutes.

    ParallelCluster makes an alarm of that kind too, but it tells nobody, and one of ours on top of it would keep
    CloudWatch from deleting it: the cluster's deletion would fail. The query finds the head node by its cluster.
    """
    schema = '"ParallelCluster", ClusterName, InstanceId'
    return Alarm(
        name="HeadNodeSilent",
        metric=cloudwatch.MathExpression(
            expression=(f"SELECT SUM(ClustermgtdHeartbeat) FROM SCHEMA({schema}) WHERE ClusterName = '{cluster_name}'"),
            label="heartbeats of the head node",
            period=_MINUTE,
        ),
        fires="below",
        threshold=1,
        periods=10,
        silence_is_trouble=True,
        means="The head node's clustermgtd is silent: no node is started or stopped. Log in with Session Manager and "
        "look at /var/log/parallelcluster/clustermgtd; is the root volume full?",
    )


def _free_capacity(file_system_id: str) -> cloudwatch.Metric:
    """Free bytes of /fsx: every minute one sample for each disk. A longer period would add up the minutes."""
    return _file_system(file_system_id, "FreeDataStorageCapacity").with_(period=_MINUTE)


def _file_system(file_system_id: str, name: str) -> cloudwatch.Metric:
    """A metric of FSx for Lustre; the sum over its disks is the file system's."""
    return cloudwatch.Metric(
        namespace="AWS/FSx",
        metric_name=name,
        dimensions_map={"FileSystemId": file_system_id},
        statistic="Sum",
        period=_FIVE_MINUTES,
    )


def _file_system_graphs(file_system_id: str) -> list[Graph]:
    return [
        Graph(title="/fsx: free bytes", metrics=[_free_capacity(file_system_id)]),
        Graph(
            title="/fsx: bytes read and written",
            metrics=[_file_system(file_system_id, "DataReadBytes"), _file_system(file_system_id, "DataWriteBytes")],
        ),
    ]


def _nat(gateway_id: str, name: str) -> cloudwatch.Metric:
    return cloudwatch.Metric(
        namespace="AWS/NATGateway",
        metric_name=name,
        dimensions_map={"NatGatewayId": gateway_id},
        statistic="Sum",
        period=_FIVE_MINUTES,
    )


def _exhausted_nat_gateway(number: int, gateway_id: str) -> Alarm:
    return Alarm(
        name=f"NatGateway{number}Exhausted",
        metric=_nat(gateway_id, "ErrorPortAllocation"),
        fires="above",
        threshold=0,
        periods=1,
        means="Nodes open more connections to one address than a NAT gateway has ports. Raise network.nat_gateways.",
    )


def _endpoint_alarms(inference: InferenceStack) -> list[Alarm]:
    return [
        Alarm(
            name="EndpointErrors",
            metric=_endpoint(inference, "HTTPCode_Target_5XX_Count", "Sum", of_targets=True),
            fires="above",
            threshold=10,
            periods=2,
            means="The engine answers with errors. Look at its log group.",
        ),
        Alarm(
            name="EndpointUnreachable",
            metric=_endpoint(inference, "HTTPCode_ELB_5XX_Count", "Sum"),
            fires="above",
            threshold=10,
            periods=2,
            means="The load balancer finds no engine to ask: no model is served, or its tasks are unhealthy.",
        ),
        Alarm(
            name="UnhealthyTasks",
            metric=_endpoint(inference, "UnHealthyHostCount", "Maximum", of_targets=True),
            fires="above",
            threshold=0,
            periods=3,
            means="A task fails its health check. Loading a model takes minutes; longer means it does not fit.",
        ),
        Alarm(
            name="SlowAnswers",
            metric=_endpoint(inference, "TargetResponseTime", "p90", of_targets=True),
            fires="above",
            threshold=60,
            periods=3,
            means="One answer in ten takes over a minute: requests queue. Raise inference.desired_count.",
        ),
        Alarm(
            name="MissingTasks",
            metric=_missing_tasks(inference),
            fires="above",
            threshold=0,
            periods=6,
            means="For half an hour fewer tasks run than are wanted: no capacity for the instance type, or a host "
            "whose set-up failed (its /var/log/cloud-init-output.log names the step; it costs until it is terminated).",
        ),
    ]


def _missing_tasks(inference: InferenceStack) -> cloudwatch.MathExpression:
    service = inference.model_service.service
    dimensions = {"ClusterName": service.cluster.cluster_name, "ServiceName": service.service_name}

    def count(name: str) -> cloudwatch.Metric:
        return cloudwatch.Metric(
            namespace="ECS/ContainerInsights",
            metric_name=name,
            dimensions_map=dimensions,
            statistic="Average",
            period=_FIVE_MINUTES,
        )

    return cloudwatch.MathExpression(
        expression="wanted - running",
        label="missing tasks",
        period=_FIVE_MINUTES,
        using_metrics={"wanted": count("DesiredTaskCount"), "running": count("RunningTaskCount")},
    )


def _endpoint_graphs(inference: InferenceStack) -> list[Graph]:
    return [
        Graph(title="Endpoint: requests", metrics=[_endpoint(inference, "RequestCount", "Sum")]),
        Graph(
            title="Endpoint: seconds to answer, median and p90",
            metrics=[_endpoint(inference, "TargetResponseTime", share, of_targets=True) for share in ("p50", "p90")],
        ),
        Graph(title="Endpoint: tasks missing", metrics=[_missing_tasks(inference)]),
    ]


def _endpoint(inference: InferenceStack, name: str, statistic: str, *, of_targets: bool = False) -> cloudwatch.Metric:
    """A metric of the load balancer, or of its targets.

    The L2's own metrics cut the load balancer's name out of the listener's ARN with Fn::Split, which takes no reference
    to another stack.
    """
    dimensions = {"LoadBalancer": inference.endpoint.load_balancer.load_balancer_full_name}
    if of_targets:
        dimensions["TargetGroup"] = inference.endpoint.target_group.target_group_full_name
    return cloudwatch.Metric(
        namespace="AWS/ApplicationELB",
        metric_name=name,
        dimensions_map=dimensions,
        statistic=statistic,
        period=_FIVE_MINUTES,
    )
