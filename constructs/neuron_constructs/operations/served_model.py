"""A served model and where its metrics come from."""

from dataclasses import dataclass

from aws_cdk import aws_cloudwatch as cloudwatch
from aws_cdk import aws_events as events

from neuron_constructs.inference.engine_metrics import EngineMetrics, MetricName
from neuron_constructs.inference.model_route import ModelRoute
from neuron_constructs.inference.model_service import ModelService
from neuron_constructs.operations.metrics import FIVE_MINUTES, Source


@dataclass(frozen=True, kw_only=True)
class WatchedModel:
    """A model of an endpoint, and what its numbers are held against."""

    name: str
    """Its name, the heading on the dashboard."""

    slug: str
    """Its name in PascalCase, with which its alarms' names begin."""

    route: ModelRoute
    """Where its requests go."""

    service: ModelService
    """What answers them."""

    candidate: ModelService | None
    """A version on trial beside it."""

    changes: events.CfnRule
    """What finds each change of a file that is served."""

    most_tasks: int
    """Most tasks that may answer; with these running a queue can only be waited for."""

    most_waiting: float
    """Requests that may wait in a task without it being trouble."""

    measures_first_token: bool
    """Whether its engine measures the time to the first token."""

    host_usd_per_hour: float | None
    """What a host costs in an hour; none where Slipway knows no price."""


@dataclass(frozen=True, kw_only=True)
class ModelMetrics:
    """Where the metrics of a model come from."""

    targets: Source
    """Its target group at the load balancer."""

    candidate_targets: Source | None
    """The candidate's."""

    tasks: Source
    """Its tasks, from Container Insights."""

    hosts: Source
    """Its hosts: what they send themselves."""

    group: Source
    """The Auto Scaling group of its hosts."""

    changes: Source
    """Changes of the files that are served. `Invocations` counts what a rule sends to its target, failed ones included;
    with the dimension `RuleName` alone it is that of a rule on the default event bus (Amazon EventBridge user guide,
    "Monitoring Amazon EventBridge")."""

    engine: EngineMetrics
    """What its engines say of themselves."""

    def engine_metric(self, name: MetricName, statistic: str) -> cloudwatch.Metric:
        """Return an engine's metric in periods that fit the others."""
        return self.engine.metric(name, statistic).with_(period=FIVE_MINUTES)


def model_metrics(load_balancer: Source, model: WatchedModel) -> ModelMetrics:
    """Return where the metrics of a model come from.

    Args:
        load_balancer: metrics of the endpoint's load balancer.
        model: the model.
    """
    service, group = model.service.service, model.service.hosts.auto_scaling_group
    names = {"ClusterName": service.cluster.cluster_name, "ServiceName": service.service_name}
    candidate = model.route.candidate_target_group
    return ModelMetrics(
        targets=_targets(load_balancer, model.route.target_group.target_group_full_name),
        candidate_targets=_targets(load_balancer, candidate.target_group_full_name) if candidate else None,
        tasks=Source("ECS/ContainerInsights", names),
        hosts=Source(model.service.metrics.metrics_namespace, names),
        group=Source("AWS/AutoScaling", {"AutoScalingGroupName": group.auto_scaling_group_name}),
        changes=Source("AWS/Events", {"RuleName": model.changes.ref}),
        engine=model.service.metrics,
    )


def _targets(load_balancer: Source, target_group: str) -> Source:
    return Source(load_balancer.namespace, {**load_balancer.dimensions, "TargetGroup": target_group})


def calculation(expression: str, label: str, **metrics: cloudwatch.IMetric) -> cloudwatch.MathExpression:
    """Return a value that CloudWatch calculates of metrics.

    Args:
        expression: in CloudWatch's metric math.
        label: what it is.
        metrics: the metrics by their names in the expression; on a graph a name means one metric.
    """
    return cloudwatch.MathExpression(expression=expression, label=label, period=FIVE_MINUTES, using_metrics=metrics)
