"""Load balancing: target groups and listeners fit the tasks behind them."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from fnmatch import fnmatchcase
from typing import Any, NamedTuple

from slipway import facts
from slipway.facts.inference import InferenceEngine
from slipway.review.changes.references import references
from slipway.review.changes.resources import Resource
from slipway.review.wiring.registry import Finding, about, rule
from slipway.review.wiring.resources import Resources, literal, mapping, rows, texts
from slipway.review.wiring.tasks import TASK, containers_of

SERVICE = "AWS::ECS::Service"
_TARGETS = "AWS::ElasticLoadBalancingV2::TargetGroup"
_RULE = "AWS::ElasticLoadBalancingV2::ListenerRule"


class _Served(NamedTuple):
    """A container behind a load balancer."""

    service: Resource
    task: Resource
    container: Mapping[str, Any]
    targets: Resource

    @property
    def engine(self) -> InferenceEngine | None:
        """Its engine, if Slipway knows the image."""
        image = str(self.container.get("Image"))
        engines = facts.inference_engines().values()
        return next((each for each in engines if each.image == image), None)


def _served(resources: Resources) -> Iterator[_Served]:
    for service in resources.of_type(SERVICE):
        task = resources.resource(service.at("TaskDefinition"), TASK)
        for balancer in rows(service.at("LoadBalancers")):
            targets = resources.resource(balancer.get("TargetGroupArn"), _TARGETS)
            for container in containers_of(task):
                if task and targets and container.get("Name") == balancer.get("ContainerName"):
                    yield _Served(service, task, container, targets)


@rule(
    reason="ECS refuses the service: tasks with network mode `awsvpc` need the target type `ip`.",
    fix="Write `TargetType: ip` for tasks with network mode `awsvpc`, and `instance` for other tasks.",
    source='Amazon ECS developer guide, "Use an Application Load Balancer for Amazon ECS"',
)
def targets_are_of_the_tasks_kind(resources: Resources) -> Iterator[Finding]:
    """The target type of a target group matches the network mode of its tasks."""
    for each in _served(resources):
        wanted = "ip" if each.task.at("NetworkMode") == "awsvpc" else "instance"
        if literal(each.targets.at("TargetType") or "instance") not in (wanted, None):
            yield about(each.targets, "TargetType", f"tasks of {each.service.logical_id} need {wanted}")


@rule(
    reason="No task becomes healthy: ECS replaces them until it rolls the deployment back.",
    fix="Write the engine's health path.",
    source="slipway/facts/data/inference_engines.yaml, which has the source of each engine",
)
def health_check_asks_what_the_engine_answers(resources: Resources) -> Iterator[Finding]:
    """The health check of a known engine requests a path that the engine answers."""
    for each in _served(resources):
        path = literal(each.targets.at("HealthCheckPath") or "/")
        if each.engine and path and path not in (each.engine.health_path, *each.engine.inference_paths):
            yield about(each.targets, "HealthCheckPath", f"{each.engine.name} does not answer {path}")


@rule(
    severity="warning",
    reason="Clients get the listener's default answer, often 404, instead of the engine's.",
    fix="Write a path that the engine serves.",
    source="slipway/facts/data/inference_engines.yaml, which has the source of each engine",
)
def path_is_one_of_the_engine(resources: Resources) -> Iterator[Finding]:
    """Every path that a listener forwards to a known engine is one that the engine serves."""
    for each in _served(resources):
        for forwarding in resources.of_type(_RULE) if each.engine else ():
            if all(key != each.targets.key for key, _ in references(forwarding.at("Actions"))):
                continue
            for index, condition in enumerate(rows(forwarding.at("Conditions"))):
                for pattern in texts(mapping(condition.get("PathPatternConfig")).get("Values")):
                    if each.engine and not _serves(each.engine, pattern):
                        yield about(forwarding, f"Conditions.{index}", f"the engine does not serve {pattern}")


def _serves(engine: InferenceEngine, pattern: str) -> bool:
    paths = (*engine.inference_paths, *engine.other_paths, engine.health_path)
    # A listener can remove a prefix from the path before it forwards the request.
    return any(fnmatchcase(path, pattern) or pattern.endswith(path) for path in paths if path != "/")


@rule(
    reason="AWS refuses the target group, or a failing container counts as healthy.",
    fix="Write a timeout below the interval, and codes of success (2xx or 3xx) into the matcher.",
    source='Elastic Load Balancing user guide, "Health checks for Application Load Balancer target groups"',
)
def health_check_is_possible(resources: Resources) -> Iterator[Finding]:
    """A health check's timeout is shorter than its interval, and no error code counts as healthy."""
    for targets in resources.of_type(_TARGETS):
        interval, timeout = (targets.at(f"HealthCheck{part}Seconds") for part in ("Interval", "Timeout"))
        if isinstance(interval, int) and isinstance(timeout, int) and timeout >= interval:
            yield about(targets, "HealthCheckTimeoutSeconds", f"{timeout} s is not below the interval of {interval} s")
        codes = str(targets.at("Matcher.HttpCode") or "200")
        if any(code.strip()[:1] not in ("2", "3") for part in codes.split(",") for code in part.split("-")):
            yield about(targets, "Matcher.HttpCode", f"{codes} counts errors as healthy")


@rule(
    severity="warning",
    reason="ECS can neither start a new task nor stop an old one: an update never ends.",
    fix="Write a `MaximumPercent` above 100, or a `MinimumHealthyPercent` below 100.",
    source='Amazon ECS developer guide, "Amazon ECS service definition parameters", deploymentConfiguration',
)
def deployment_can_go_on(resources: Resources) -> Iterator[Finding]:
    """During an update a service may run more or fewer tasks than its desired count."""
    for service in resources.of_type(SERVICE):
        most, least = (
            service.at(f"DeploymentConfiguration.{name}") for name in ("MaximumPercent", "MinimumHealthyPercent")
        )
        if isinstance(most, int) and isinstance(least, int) and most <= 100 <= least:
            yield about(service, "DeploymentConfiguration", f"it runs {least} to {most} percent of its tasks")


@rule(
    severity="warning",
    reason="Answers that are being generated are cut off when a task ends.",
    fix="Write at least the seconds that the engine needs to finish its requests.",
    source="slipway/facts/data/inference_engines.yaml; Elastic Load Balancing user guide, deregistration delay",
)
def targets_drain_as_long_as_the_engine(resources: Resources) -> Iterator[Finding]:
    """The deregistration delay is at least a known engine's time to finish requests, or the `StopTimeout`."""
    for each in _served(resources):
        attributes = {str(row.get("Key")): row.get("Value") for row in rows(each.targets.at("TargetGroupAttributes"))}
        delay = str(attributes.get("deregistration_delay.timeout_seconds", 300))
        seconds = each.engine.drain_seconds if each.engine else each.container.get("StopTimeout")
        if isinstance(seconds, int) and delay.isdecimal() and int(delay) < seconds:
            name = each.engine.name if each.engine else each.container.get("Name")
            yield about(each.targets, "TargetGroupAttributes", f"{delay} s are less than the {seconds} s of {name}")


@rule(
    reason="Elastic Load Balancing refuses the second rule.",
    fix="Give each rule of a listener its own priority.",
    source='Elastic Load Balancing user guide, "Listener rules for your Application Load Balancer"',
)
def listener_rules_have_their_own_priority(resources: Resources) -> Iterator[Finding]:
    """No two rules of a listener have the same priority."""
    seen: dict[tuple[str, str], Resource] = {}
    for one in resources.of_type(_RULE):
        key = str(one.at("ListenerArn")), str(one.at("Priority"))
        if key in seen:
            yield about(one, "Priority", f"{seen[key].logical_id} also has {key[1]}")
        seen[key] = one


@rule(
    severity="warning",
    reason="Requests of one kind go to other tasks than the rest: to some that do not run, or do not expect them.",
    fix="Write the same weights in all rules of the listener.",
    source='Elastic Load Balancing user guide, "Action types for listener rules", weighted target groups',
)
def listener_rules_weigh_targets_alike(resources: Resources) -> Iterator[Finding]:
    """Rules of a listener that forward to the same target groups give them the same weights."""
    seen: dict[tuple[str, frozenset[str]], tuple[Resource, dict[str, str]]] = {}
    for one in resources.of_type(_RULE):
        for action in rows(one.at("Actions")):
            groups = rows(mapping(action.get("ForwardConfig")).get("TargetGroups"))
            weights = {str(group.get("TargetGroupArn")): str(group.get("Weight")) for group in groups}
            first, expected = seen.setdefault((str(one.at("ListenerArn")), frozenset(weights)), (one, weights))
            if weights != expected:
                yield about(one, "Actions", f"its weights are not those of {first.logical_id}")
