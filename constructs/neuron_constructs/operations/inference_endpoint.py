"""The inference endpoint: answers that fail or come late, tasks that are missing."""

from aws_cdk import aws_cloudwatch as cloudwatch

from neuron_constructs.inference.endpoint import Endpoint
from neuron_constructs.inference.model_service import ModelService
from neuron_constructs.operations.metrics import FIVE_MINUTES, Source
from neuron_constructs.operations.watch import Alarm, Graph, WatchedPart


def watch_inference_endpoint(endpoint: Endpoint, model_service: ModelService) -> WatchedPart:
    """Return what is watched of an endpoint.

    Args:
        endpoint: the load balancer.
        model_service: the service behind it.
    """
    # The L2's own metrics cut the load balancer's name out of the listener's ARN with Fn::Split, which takes no
    # reference to another stack.
    load_balancer = Source("AWS/ApplicationELB", {"LoadBalancer": endpoint.load_balancer.load_balancer_full_name})
    targets = Source(
        load_balancer.namespace,
        {**load_balancer.dimensions, "TargetGroup": endpoint.target_group.target_group_full_name},
    )
    missing_tasks = _missing_tasks(model_service)
    return WatchedPart(
        title="Inference endpoint",
        alarms=_alarms(load_balancer, targets, missing_tasks),
        graphs=[
            Graph(title="Endpoint: requests", metrics=[load_balancer.metric("RequestCount", "Sum")]),
            Graph(
                title="Endpoint: seconds to answer, median and p90",
                metrics=[targets.metric("TargetResponseTime", "p50"), targets.metric("TargetResponseTime", "p90")],
            ),
            Graph(title="Endpoint: tasks missing", metrics=[missing_tasks]),
        ],
    )


def _alarms(load_balancer: Source, targets: Source, missing_tasks: cloudwatch.IMetric) -> list[Alarm]:
    return [
        Alarm(
            name="EndpointErrors",
            metric=targets.metric("HTTPCode_Target_5XX_Count", "Sum"),
            fires="above",
            threshold=10,
            periods=2,
            means="The engine answers with errors. Look at its log group.",
        ),
        Alarm(
            name="EndpointUnreachable",
            metric=load_balancer.metric("HTTPCode_ELB_5XX_Count", "Sum"),
            fires="above",
            threshold=10,
            periods=2,
            means="The load balancer finds no engine to ask: no model is served, or its tasks are unhealthy.",
        ),
        Alarm(
            name="UnhealthyTasks",
            metric=targets.metric("UnHealthyHostCount", "Maximum"),
            fires="above",
            threshold=0,
            periods=3,
            means="A task fails its health check. Loading a model takes minutes; longer means it does not fit.",
        ),
        Alarm(
            name="SlowAnswers",
            metric=targets.metric("TargetResponseTime", "p90"),
            fires="above",
            threshold=60,
            periods=3,
            means="One answer in ten takes over a minute: requests queue. Raise inference.desired_count.",
        ),
        Alarm(
            name="MissingTasks",
            metric=missing_tasks,
            fires="above",
            threshold=0,
            periods=6,
            means="For half an hour fewer tasks run than are wanted: no capacity for the instance type, or a host "
            "whose set-up failed (its /var/log/cloud-init-output.log names the step; it costs until it is terminated).",
        ),
    ]


def _missing_tasks(model_service: ModelService) -> cloudwatch.MathExpression:
    service = model_service.service
    source = Source(
        "ECS/ContainerInsights",
        {"ClusterName": service.cluster.cluster_name, "ServiceName": service.service_name},
    )
    return cloudwatch.MathExpression(
        expression="wanted - running",
        label="missing tasks",
        period=FIVE_MINUTES,
        using_metrics={
            "wanted": source.metric("DesiredTaskCount", "Average"),
            "running": source.metric("RunningTaskCount", "Average"),
        },
    )
