"""A served model: what it answers and how fast, its tasks and hosts, its candidate, what its tokens cost."""

from collections.abc import Iterator
from dataclasses import dataclass

from aws_cdk import aws_cloudwatch as cloudwatch

from neuron_constructs.inference.engine_metrics import EngineMetrics, MetricName
from neuron_constructs.inference.model_route import ModelRoute
from neuron_constructs.inference.model_service import ModelService
from neuron_constructs.operations.metrics import FIVE_MINUTES, Source
from neuron_constructs.operations.watch import Alarm, Graph, WatchedPart, error_alarms

_SLOW_SECONDS = 60
_SLOW_FIRST_TOKEN_SECONDS = 30

_HOSTS = {
    "HostFailures": (
        "HostsFailed",
        "Hosts of this model could not be set up, or lost the model, and are replaced. The log group of the hosts has "
        "the step and the reason (docs/endpoint.md). When new hosts fail too, no task will start.",
    ),
    "HardwareErrors": (
        "NeuronHardwareErrors",
        "Executions on NeuronCores ended in hardware errors: answers fail or are wrong. The node problem detector "
        "replaces a host whose error stays; if errors go on, terminate the instance and tell AWS Support its id.",
    ),
    "UncorrectableEccEvents": (
        "NeuronMemoryErrors",
        "Memory of a Neuron device had errors that cannot be corrected. The node problem detector replaces the host; "
        "if it does not, terminate the instance and tell AWS Support its id.",
    ),
}
"""Metric of the hosts -> name of the alarm, what it means."""


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

    most_tasks: int
    """Most tasks that may answer; with these running a queue can only be waited for."""

    most_waiting: float
    """Requests that may wait in a task without it being trouble."""

    measures_first_token: bool
    """Whether its engine measures the time to the first token."""

    host_usd_per_hour: float | None
    """What a host costs in an hour; none where Slipway knows no price."""


@dataclass(frozen=True)
class _Sources:
    """Where the metrics of a model come from."""

    targets: Source
    tasks: Source
    hosts: Source
    group: Source
    engine: EngineMetrics

    def engine_metric(self, name: MetricName, statistic: str, label: str | None = None) -> cloudwatch.Metric:
        """Return an engine's metric in periods that fit the others."""
        return self.engine.metric(name, statistic).with_(period=FIVE_MINUTES, label=label)


def watch_served_model(load_balancer: Source, model: WatchedModel) -> WatchedPart:
    """Return what is watched of a model.

    Args:
        load_balancer: metrics of the endpoint's load balancer.
        model: the model.
    """
    sources = _sources(load_balancer, model)
    return WatchedPart(
        title=f"Model {model.name}",
        alarms=[
            *_alarms(sources, model),
            *_candidate_alarms(load_balancer, model),
            *_host_alarms(sources, model),
        ],
        graphs=[
            *_answer_graphs(sources, model),
            *_capacity_graphs(sources, model),
            *_candidate_graphs(load_balancer, model),
        ],
    )


def _sources(load_balancer: Source, model: WatchedModel) -> _Sources:
    service = model.service.service
    names = {"ClusterName": service.cluster.cluster_name, "ServiceName": service.service_name}
    return _Sources(
        targets=_targets(load_balancer, model.route.target_group.target_group_full_name),
        tasks=Source("ECS/ContainerInsights", names),
        hosts=Source(model.service.metrics.metrics_namespace, names),
        group=Source(
            "AWS/AutoScaling", {"AutoScalingGroupName": model.service.hosts.auto_scaling_group.auto_scaling_group_name}
        ),
        engine=model.service.metrics,
    )


def _targets(load_balancer: Source, target_group: str) -> Source:
    return Source(load_balancer.namespace, {**load_balancer.dimensions, "TargetGroup": target_group})


def _math(expression: str, label: str, **metrics: cloudwatch.IMetric) -> cloudwatch.MathExpression:
    return cloudwatch.MathExpression(
        expression=expression, label=label, period=FIVE_MINUTES, using_metrics=dict(metrics)
    )


def _not_zero(expression: str) -> str:
    """Return what may stand below a fraction."""
    return f"IF({expression} > 0, {expression}, 1)"


def _alarms(sources: _Sources, model: WatchedModel) -> Iterator[Alarm]:
    targets, tasks = sources.targets, sources.tasks
    wanted, running = tasks.metric("DesiredTaskCount", "Average"), tasks.metric("RunningTaskCount", "Average")
    healthy = targets.metric("HealthyHostCount", "Maximum")
    yield Alarm(
        name=f"{model.slug}Errors",
        metric=targets.metric("HTTPCode_Target_5XX_Count", "Sum"),
        fires="above",
        threshold=10,
        periods=2,
        means="The engine answers with errors. Look at its log group; roll back if they came with a version.",
    )
    yield Alarm(
        name=f"{model.slug}UnhealthyTasks",
        metric=targets.metric("UnHealthyHostCount", "Maximum"),
        fires="above",
        threshold=0,
        periods=3,
        means="A task fails its health check. Loading a model takes minutes; longer means it does not fit.",
    )
    yield Alarm(
        name=f"{model.slug}Down",
        metric=_math("IF(wanted > 0, FILL(healthy, 0), 1)", "healthy tasks", wanted=wanted, healthy=healthy),
        fires="below",
        threshold=1,
        periods=3,
        means="Tasks are wanted and none is healthy: every request gets 503. Look at the service's events, the "
        "engine's log group and the log group of the hosts.",
    )
    yield Alarm(
        name=f"{model.slug}SlowAnswers",
        metric=targets.metric("TargetResponseTime", "p90"),
        fires="above",
        threshold=_SLOW_SECONDS,
        periods=3,
        means="One request in ten waits over a minute for the first byte of its answer: requests queue, or prompts "
        "are long. Raise max_count or min_count of the model's scaling.",
    )
    if model.measures_first_token:
        yield Alarm(
            name=f"{model.slug}SlowFirstToken",
            metric=sources.engine_metric("TimeToFirstToken", "p90"),
            fires="above",
            threshold=_SLOW_FIRST_TOKEN_SECONDS,
            periods=3,
            means=f"One request in ten waits over {_SLOW_FIRST_TOKEN_SECONDS} s for its first token: requests queue, "
            "or prompts are long. Raise max_count or min_count of the model's scaling.",
        )
    yield Alarm(
        name=f"{model.slug}QueueStays",
        metric=_math(
            f"IF(running >= {model.most_tasks}, queue, 0)",
            "requests that wait in a task",
            running=running,
            queue=sources.engine_metric("QueueSize", "Average"),
        ),
        fires="above",
        threshold=model.most_waiting,
        periods=6,
        means="For half an hour requests wait although all tasks that may run do. Raise max_count of the model's "
        "scaling, or compile it for a larger batch.",
    )
    yield Alarm(
        name=f"{model.slug}MissingTasks",
        metric=_math("wanted - running", "missing tasks", wanted=wanted, running=running),
        fires="above",
        threshold=0,
        periods=6,
        means="For half an hour fewer tasks run than are wanted: no capacity for the instance type, hosts that fail "
        "(see their alarm), or tasks that end at their start (see the engine's log group).",
    )
    yield Alarm(
        name=f"{model.slug}MetricsSilent",
        metric=_math(
            "IF(healthy > 0, FILL(scrapes, 0), 1)",
            "readings of the engines' metrics",
            healthy=healthy,
            scrapes=sources.engine_metric("Scrapes", "Sum"),
        ),
        fires="below",
        threshold=1,
        periods=3,
        means="Tasks are healthy and their engines' metrics do not come: nothing scales on the queue. The log "
        "streams `metrics/` in the engine's log group say why.",
    )


def _candidate_alarms(load_balancer: Source, model: WatchedModel) -> Iterator[Alarm]:
    if model.route.candidate_target_group is None:
        return
    candidate = _targets(load_balancer, model.route.candidate_target_group.target_group_full_name)
    yield Alarm(
        name=f"{model.slug}CandidateErrors",
        metric=candidate.metric("HTTPCode_Target_5XX_Count", "Sum"),
        fires="above",
        threshold=5,
        periods=1,
        means="The candidate answers with errors. Take it back (`slipway roll-out --abort`), then look at its log "
        "group.",
    )


def _host_alarms(sources: _Sources, model: WatchedModel) -> list[Alarm]:
    meanings = {metric: (f"{model.slug}{name}", means) for metric, (name, means) in _HOSTS.items()}
    return error_alarms(sources.hosts, meanings)


def _answer_graphs(sources: _Sources, model: WatchedModel) -> Iterator[Graph]:
    name, targets = model.name, sources.targets
    tokens = {
        "prompt": sources.engine_metric("PromptTokens", "Sum"),
        "generated": sources.engine_metric("GeneratedTokens", "Sum"),
    }
    yield Graph(
        title=f"{name}: answers by class",
        metrics=[
            targets.metric("RequestCount", "Sum"),
            *(targets.metric(f"HTTPCode_Target_{kind}_Count", "Sum") for kind in ("2XX", "4XX", "5XX")),
        ],
    )
    yield Graph(
        title=f"{name}: tokens per second",
        metrics=[_math(f"{key}/PERIOD({key})", f"{key} tokens", **{key: metric}) for key, metric in tokens.items()],
    )
    first_token = (
        [sources.engine_metric("TimeToFirstToken", statistic) for statistic in ("p50", "p90")]
        if model.measures_first_token
        else []
    )
    yield Graph(
        title=f"{name}: seconds to the first token (engine) and byte (load balancer), median and p90",
        metrics=[*first_token, *(targets.metric("TargetResponseTime", statistic) for statistic in ("p50", "p90"))],
    )
    yield Graph(
        title=f"{name}: seconds to the whole answer, median and p90",
        metrics=[sources.engine_metric("RequestDuration", statistic) for statistic in ("p50", "p90")],
    )


def _capacity_graphs(sources: _Sources, model: WatchedModel) -> Iterator[Graph]:
    name = model.name
    hosts = sources.group.metric("GroupInServiceInstances", "Average")
    batch = [sources.engine_metric("BatchUtilization", "Average")] if model.service.batch_size else []
    yield Graph(
        title=f"{name}: requests that wait and run in a task, batch in use (percent)",
        metrics=[
            sources.engine_metric("QueueSize", "Average"),
            sources.engine_metric("RunningRequests", "Average"),
            *batch,
        ],
    )
    yield Graph(
        title=f"{name}: tasks and hosts",
        metrics=[
            sources.tasks.metric("DesiredTaskCount", "Average"),
            sources.tasks.metric("RunningTaskCount", "Average"),
            sources.targets.metric("HealthyHostCount", "Minimum"),
            hosts,
        ],
    )
    yield Graph(
        title=f"{name}: NeuronCores in use and memory of the fullest host's devices, percent",
        metrics=[
            sources.hosts.metric("NeuronCoreUtilization", "Average"),
            sources.hosts.metric("DeviceMemoryUtilization", "Maximum"),
        ],
    )
    if model.host_usd_per_hour is not None:
        yield Graph(
            title=f"{name}: USD per million tokens of prompts and answers, at the hosts' list price; 0 without any",
            metrics=[
                _math(
                    f"(prompt + generated > 0) * hosts * {model.host_usd_per_hour} * PERIOD(hosts) / 3600 * 1000000 "
                    f"/ {_not_zero('prompt + generated')}",
                    "USD per million tokens",
                    hosts=hosts,
                    prompt=sources.engine_metric("PromptTokens", "Sum"),
                    generated=sources.engine_metric("GeneratedTokens", "Sum"),
                )
            ],
        )


def _candidate_graphs(load_balancer: Source, model: WatchedModel) -> Iterator[Graph]:
    if model.candidate is None or model.route.candidate_target_group is None:
        return
    served = _targets(load_balancer, model.route.target_group.target_group_full_name)
    candidate = _targets(load_balancer, model.route.candidate_target_group.target_group_full_name)
    engine = model.candidate.metrics
    yield Graph(
        title=f"{model.name}: the candidate's share of requests and of errors, percent",
        metrics=[
            # The names are those of the whole graph.
            _math(
                f"100 * FILL({label}_of_candidate, 0) / "
                + _not_zero(f"FILL({label}, 0) + FILL({label}_of_candidate, 0)"),
                label,
                **{label: served.metric(metric, "Sum"), f"{label}_of_candidate": candidate.metric(metric, "Sum")},
            )
            for label, metric in (("requests", "RequestCount"), ("errors", "HTTPCode_Target_5XX_Count"))
        ],
    )
    yield Graph(
        title=f"{model.name}: the candidate's seconds to the whole answer, median and p90",
        metrics=[engine.metric("RequestDuration", each).with_(period=FIVE_MINUTES) for each in ("p50", "p90")],
    )
