"""How many tasks a service has: Application Auto Scaling by a metric, and by the clock."""

from collections.abc import Sequence
from dataclasses import dataclass

import aws_cdk as cdk
from aws_cdk import aws_applicationautoscaling as appscaling
from aws_cdk import aws_cloudwatch as cloudwatch
from aws_cdk import aws_ecs as ecs
from aws_cdk import aws_elasticloadbalancingv2 as elbv2
from constructs import Construct

from neuron_constructs.acknowledgements import allow_redundant_depends_on

_FULL_PERCENT = 100
"""No task's batch is fuller than that: a policy that tracks it never adds a task."""


@dataclass(frozen=True, kw_only=True)
class RequestsPerTarget:
    """Requests that the load balancer gives each task in a minute, whatever they cost."""

    target_group: elbv2.ApplicationTargetGroup
    """Where the tasks are registered."""


@dataclass(frozen=True, kw_only=True)
class CapacitySchedule:
    """Other bounds from a time on."""

    name: str
    """Name of the schedule: lower-case letters, digits and hyphens."""

    cron: str
    """When: minute, hour, day of month, month, day of week, year, as in AWS's cron expressions."""

    time_zone: str
    """Name of the time zone in the IANA database."""

    min_count: int
    """Fewest tasks from then on."""

    max_count: int
    """Most tasks from then on."""


@dataclass(frozen=True, kw_only=True)
class ServiceScalingProps:
    """Properties of a `ServiceScaling`."""

    service: ecs.Ec2Service
    """The service."""

    min_count: int
    """Fewest tasks."""

    max_count: int
    """Most tasks."""

    metric: cloudwatch.IMetric | RequestsPerTarget
    """What is kept at `target`. A metric must be one value for the service that falls when tasks are added: of waiting
    requests the average over tasks, not their sum."""

    target: float
    """What the metric is kept at."""

    scale_out_cooldown_seconds: int
    """Seconds before more tasks are asked for again."""

    scale_in_cooldown_seconds: int
    """Seconds before fewer tasks are asked for again."""

    schedules: Sequence[CapacitySchedule]
    """Other bounds at other times."""

    is_chosen: cdk.CfnCondition | None
    """Condition under which there is a model to serve; before that nothing scales, or a bound would start a task. None
    means always."""

    busy: cloudwatch.IMetric | None = None
    """Percent of the batch in use, the average over tasks. A queue is empty until the batch is full, so by the queue
    alone tasks that are all needed would be taken away, and come back minutes later. With this metric a task goes only
    when the others can hold its requests."""


class ServiceScaling(Construct):
    """Target tracking on a metric, and schedules.

    Target tracking adds tasks after three minutes above the target, and takes them away after fifteen minutes below
    90 % of it; without data it does neither. Where there are two policies, one suffices to add tasks, and both are
    needed to take one away (Application Auto Scaling User Guide, "Target tracking scaling policies"). Nothing wakes a
    service from zero tasks but a schedule: no task is there that could measure a request.
    """

    def __init__(self, scope: Construct, id: str, props: ServiceScalingProps) -> None:  # noqa: A002
        super().__init__(scope, id)
        tasks = props.service.auto_scale_task_count(min_capacity=props.min_count, max_capacity=props.max_count)
        if props.max_count > props.min_count or any(each.max_count > each.min_count for each in props.schedules):
            _track(tasks, props)
        for schedule in props.schedules:
            tasks.scale_on_schedule(
                f"Schedule-{schedule.name}",
                schedule=appscaling.Schedule.expression(f"cron({schedule.cron})"),
                time_zone=cdk.TimeZone.of(schedule.time_zone),
                min_capacity=schedule.min_count,
                max_capacity=schedule.max_count,
            )
        for resource in tasks.node.find_all():
            if isinstance(resource, cdk.CfnResource):
                # They stand below the service, and with it wait for what it waits for.
                allow_redundant_depends_on(resource)
                if props.is_chosen:
                    resource.cfn_options.condition = props.is_chosen


def _track(tasks: ecs.ScalableTaskCount, props: ServiceScalingProps) -> None:
    scale_out = cdk.Duration.seconds(props.scale_out_cooldown_seconds)
    scale_in = cdk.Duration.seconds(props.scale_in_cooldown_seconds)
    tracked: list[tuple[str, cloudwatch.IMetric, float]] = []
    if isinstance(props.metric, RequestsPerTarget):
        tasks.scale_on_request_count(
            "Load",
            target_group=props.metric.target_group,
            requests_per_target=props.target,
            scale_out_cooldown=scale_out,
            scale_in_cooldown=scale_in,
        )
    else:
        tracked.append(("Load", props.metric, props.target))
    if props.busy:
        tracked.append(("Busy", props.busy, _FULL_PERCENT))
    for id, metric, target in tracked:  # noqa: A001
        tasks.scale_to_track_custom_metric(
            id, metric=metric, target_value=target, scale_out_cooldown=scale_out, scale_in_cooldown=scale_in
        )
