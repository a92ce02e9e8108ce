"""A served model on the dashboard: answers, tokens, times, tasks and hosts, its candidate, what its tokens cost."""

from collections.abc import Iterator

from neuron_constructs.operations.metrics import FIVE_MINUTES
from neuron_constructs.operations.served_model import ModelMetrics, WatchedModel, calculation
from neuron_constructs.operations.watch import Graph


def model_graphs(metrics: ModelMetrics, model: WatchedModel) -> list[Graph]:
    """Return what the dashboard shows of a model.

    Args:
        metrics: where its metrics come from.
        model: the model.
    """
    return [*_answer_graphs(metrics, model), *_capacity_graphs(metrics, model), *_candidate_graphs(metrics, model)]


def _answer_graphs(metrics: ModelMetrics, model: WatchedModel) -> Iterator[Graph]:
    name, targets = model.name, metrics.targets
    tokens = {
        "prompt": metrics.engine_metric("PromptTokens", "Sum"),
        "generated": metrics.engine_metric("GeneratedTokens", "Sum"),
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
        metrics=[
            calculation(f"{key}/PERIOD({key})", f"{key} tokens", **{key: metric}) for key, metric in tokens.items()
        ],
    )
    first_token = (
        [metrics.engine_metric("TimeToFirstToken", statistic) for statistic in ("p50", "p90")]
        if model.measures_first_token
        else []
    )
    yield Graph(
        title=f"{name}: seconds to the first token (engine) and byte (load balancer), median and p90",
        metrics=[*first_token, *(targets.metric("TargetResponseTime", statistic) for statistic in ("p50", "p90"))],
    )
    yield Graph(
        title=f"{name}: seconds to the whole answer, median and p90",
        metrics=[metrics.engine_metric("RequestDuration", statistic) for statistic in ("p50", "p90")],
    )


def _capacity_graphs(metrics: ModelMetrics, model: WatchedModel) -> Iterator[Graph]:
    name = model.name
    hosts = metrics.group.metric("GroupInServiceInstances", "Average")
    batch = [metrics.engine_metric("BatchUtilization", "Average")] if model.service.batch_size else []
    yield Graph(
        title=f"{name}: requests that wait and run in a task, batch in use (percent)",
        metrics=[
            metrics.engine_metric("QueueSize", "Average"),
            metrics.engine_metric("RunningRequests", "Average"),
            *batch,
        ],
    )
    yield Graph(
        title=f"{name}: tasks and hosts",
        metrics=[
            metrics.tasks.metric("DesiredTaskCount", "Average"),
            metrics.tasks.metric("RunningTaskCount", "Average"),
            metrics.targets.metric("HealthyHostCount", "Minimum"),
            hosts,
        ],
    )
    yield Graph(
        title=f"{name}: NeuronCores in use and memory of the fullest host's devices, percent",
        metrics=[
            metrics.hosts.metric("NeuronCoreUtilization", "Average"),
            metrics.hosts.metric("DeviceMemoryUtilization", "Maximum"),
        ],
    )
    if model.host_usd_per_hour is not None:
        yield Graph(
            title=f"{name}: USD per million tokens of prompts and answers, at the hosts' list price; 0 without any",
            metrics=[
                calculation(
                    f"(prompt + generated > 0) * hosts * {model.host_usd_per_hour} * PERIOD(hosts) / 3600 * 1000000 "
                    f"/ {_not_zero('prompt + generated')}",
                    "USD per million tokens",
                    hosts=hosts,
                    prompt=metrics.engine_metric("PromptTokens", "Sum"),
                    generated=metrics.engine_metric("GeneratedTokens", "Sum"),
                )
            ],
        )


def _candidate_graphs(metrics: ModelMetrics, model: WatchedModel) -> Iterator[Graph]:
    if model.candidate is None or metrics.candidate_targets is None:
        return
    served, candidate, engine = metrics.targets, metrics.candidate_targets, model.candidate.metrics
    yield Graph(
        title=f"{model.name}: the candidate's share of requests and of errors, percent",
        metrics=[
            # The names are those of the whole graph.
            calculation(
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


def _not_zero(expression: str) -> str:
    """Return what may stand below a fraction."""
    return f"IF({expression} > 0, {expression}, 1)"
