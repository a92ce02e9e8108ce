"""A served model in trouble: answers, queue, tasks, hosts, its candidate, and what to do."""

from collections.abc import Iterator

from neuron_constructs.operations.served_model import ModelMetrics, WatchedModel, calculation
from neuron_constructs.operations.watch import Alarm, error_alarms

_SLOW_SECONDS = 60
_SLOW_FIRST_TOKEN_SECONDS = 30

_HOSTS = {
    "HostFailures": (
        "HostsFailed",
        "Hosts of this model could not be set up, or lost the model, and are replaced. The log group of the hosts has "
        "the step and the reason (`slipway docs endpoint`). When new hosts fail too, no task will start.",
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

_FILES_CHANGED = (
    "Somebody created, deleted or tagged an object below the prefix of the served version or of the candidate. Slipway "
    "never does. Hosts that copy the model refuse the change when they start; a model that is mounted may be served "
    "with it. Find out who it was (`slipway docs endpoint`), then roll another version out."
)


def model_alarms(metrics: ModelMetrics, model: WatchedModel) -> list[Alarm]:
    """Return when a model is in trouble.

    Args:
        metrics: where its metrics come from.
        model: the model.
    """
    hosts = {metric: (f"{model.slug}{name}", means) for metric, (name, means) in _HOSTS.items()}
    return [
        *_answer_alarms(metrics, model),
        *_capacity_alarms(metrics, model),
        *error_alarms(metrics.hosts, hosts),
        *error_alarms(metrics.changes, {"Invocations": (f"{model.slug}FilesChanged", _FILES_CHANGED)}),
    ]


def _answer_alarms(metrics: ModelMetrics, model: WatchedModel) -> Iterator[Alarm]:
    targets = metrics.targets
    yield Alarm(
        name=f"{model.slug}Errors",
        metric=targets.metric("HTTPCode_Target_5XX_Count", "Sum"),
        fires="above",
        threshold=10,
        periods=2,
        means="The engine answers with errors. Look at its log group; roll back if they came with a version.",
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
            metric=metrics.engine_metric("TimeToFirstToken", "p90"),
            fires="above",
            threshold=_SLOW_FIRST_TOKEN_SECONDS,
            periods=3,
            means=f"One request in ten waits over {_SLOW_FIRST_TOKEN_SECONDS} s for its first token: requests queue, "
            "or prompts are long. Raise max_count or min_count of the model's scaling.",
        )
    if metrics.candidate_targets:
        yield Alarm(
            name=f"{model.slug}CandidateErrors",
            metric=metrics.candidate_targets.metric("HTTPCode_Target_5XX_Count", "Sum"),
            fires="above",
            threshold=5,
            periods=1,
            means="The candidate answers with errors. Take it back (`slipway roll-out --abort`), then look at its log "
            "group.",
        )


def _capacity_alarms(metrics: ModelMetrics, model: WatchedModel) -> Iterator[Alarm]:
    targets, tasks = metrics.targets, metrics.tasks
    wanted, running = tasks.metric("DesiredTaskCount", "Average"), tasks.metric("RunningTaskCount", "Average")
    healthy = targets.metric("HealthyHostCount", "Maximum")
    yield Alarm(
        name=f"{model.slug}UnhealthyTasks",
        metric=targets.metric("UnHealthyHostCount", "Maximum"),
        fires="above",
        threshold=0,
        periods=6,
        means="For half an hour a task fails its health check. A host's start and the model's load take less: look at "
        "the engine's log group.",
    )
    yield Alarm(
        name=f"{model.slug}Down",
        metric=calculation("IF(wanted > 0, FILL(healthy, 0), 1)", "healthy tasks", wanted=wanted, healthy=healthy),
        fires="below",
        threshold=1,
        # Less would ring each morning when a schedule wakes the model.
        periods=6,
        means="For half an hour tasks are wanted and none is healthy: every request gets 503. Look at the service's "
        "events, the engine's log group and the log group of the hosts.",
    )
    yield Alarm(
        name=f"{model.slug}QueueStays",
        metric=calculation(
            f"IF(running >= {model.most_tasks}, queue, 0)",
            "requests that wait in a task",
            running=running,
            queue=metrics.engine_metric("QueueSize", "Average"),
        ),
        fires="above",
        threshold=model.most_waiting,
        periods=6,
        means="For half an hour requests wait although all tasks that may run do. Raise max_count of the model's "
        "scaling, or compile it for a larger batch.",
    )
    yield Alarm(
        name=f"{model.slug}MissingTasks",
        metric=calculation("wanted - running", "missing tasks", wanted=wanted, running=running),
        fires="above",
        threshold=0,
        periods=6,
        means="For half an hour fewer tasks run than are wanted: no capacity for the instance type, hosts that fail "
        "(see their alarm), or tasks that end at their start (see the engine's log group).",
    )
    yield Alarm(
        name=f"{model.slug}MetricsSilent",
        metric=calculation(
            "IF(healthy > 0, FILL(scrapes, 0), 1)",
            "readings of the engines' metrics",
            healthy=healthy,
            scrapes=metrics.engine_metric("Scrapes", "Sum"),
        ),
        fires="below",
        threshold=1,
        periods=3,
        means="Tasks are healthy and their engines' metrics do not come: nothing scales on the queue. The log "
        "streams `metrics/` in the engine's log group say why.",
    )
