"""The watched endpoint: what alarms say of numbers, and which metrics they look at."""

import re
from collections.abc import Callable, Mapping
from typing import Any, get_args

import aws_cdk as cdk
import pytest
from aws_cdk import aws_elasticloadbalancingv2 as elbv2

from assets.cluster.neuron_metrics import UNITS as HOST_METRICS
from neuron_constructs.inference.engine_metrics import METRICS_NAMESPACE, MetricName
from slipway import facts
from tests.assembly import Assembly
from tests.unit.test_operations_stack import alarms, dashboard

_FUNCTIONS: Mapping[str, Callable[..., float]] = {
    "IF": lambda condition, then, otherwise: then if condition else otherwise,
    "FILL": lambda value, fill: fill if value is None else value,
    "PERIOD": lambda _: 300.0,
}


def calculated(alarm: Any, **values: float | None) -> float:
    """What CloudWatch's metric math makes of values of the metrics that an alarm's expression names."""
    (expression,) = [query["Expression"] for query in alarm["Metrics"] if "Expression" in query]
    assert {query["Id"] for query in alarm["Metrics"] if "MetricStat" in query} == set(values)
    result: float = eval(expression, {"__builtins__": {}, **_FUNCTIONS}, values)
    return result


def rings(alarm: Any, **values: float | None) -> bool:
    """Whether a period with these values is one in which an alarm rings."""
    value = calculated(alarm, **values)
    threshold: float = alarm["Threshold"]
    above = {"GreaterThanThreshold": True, "LessThanThreshold": False}[alarm["ComparisonOperator"]]
    return value > threshold if above else value < threshold


def watched(assembly: Assembly) -> list[Any]:
    """Every metric that an alarm looks at."""
    queries = [query for alarm in alarms(assembly).values() for query in alarm.get("Metrics", [])]
    single = [alarm for alarm in alarms(assembly).values() if "MetricName" in alarm]
    return [*single, *(query["MetricStat"]["Metric"] for query in queries if "MetricStat" in query)]


def test_a_model_is_down_when_tasks_are_wanted_and_none_is_healthy(public: Assembly) -> None:
    alarm = alarms(public)["Tanuki8bDown"]

    assert rings(alarm, wanted=2, healthy=0)
    assert rings(alarm, wanted=2, healthy=None)
    assert not rings(alarm, wanted=2, healthy=1)
    assert not rings(alarm, wanted=0, healthy=None), "a night without tasks is none of trouble"


def test_a_queue_is_trouble_only_when_no_more_tasks_may_run(public: Assembly) -> None:
    alarm = alarms(public)["Tanuki8bQueueStays"]
    most = public.environment.inference.models[0].scaling.task_limit  # type: ignore[union-attr]

    assert rings(alarm, running=most, queue=alarm["Threshold"] + 1)
    assert not rings(alarm, running=most - 1, queue=100)
    assert not rings(alarm, running=most, queue=alarm["Threshold"])
    assert alarm["EvaluationPeriods"] * 300 == 1800


def test_metrics_that_do_not_come_from_healthy_tasks_are_told(public: Assembly) -> None:
    alarm = alarms(public)["Tanuki8bMetricsSilent"]

    assert rings(alarm, healthy=1, scrapes=None)
    assert not rings(alarm, healthy=1, scrapes=60)
    assert not rings(alarm, healthy=0, scrapes=None), "a loading engine has none"


def test_missing_tasks_are_told_after_half_an_hour(public: Assembly) -> None:
    alarm = alarms(public)["Tanuki8bMissingTasks"]

    assert rings(alarm, wanted=2, running=1)
    assert not rings(alarm, wanted=2, running=2)
    assert alarm["EvaluationPeriods"] * 300 == 1800


@pytest.mark.parametrize("environment", ["default", "public", "machines", "rolledout", "apikey"])
def test_each_model_has_alarms_of_its_own(assemblies: Callable[[str], Assembly], environment: str) -> None:
    assembly = assemblies(environment)
    inference = assembly.environment.inference
    assert inference is not None
    kinds = {"Errors", "UnhealthyTasks", "Down", "SlowAnswers", "QueueStays", "MissingTasks", "MetricsSilent"}
    kinds |= {"HostsFailed", "NeuronHardwareErrors", "NeuronMemoryErrors", "FilesChanged"}

    for model in inference.models:
        own = {name.removeprefix(model.slug) for name in alarms(assembly) if name.startswith(model.slug)}
        measures = "time_to_first_token" in facts.inference_engine(model.engine).metrics
        further = {"SlowFirstToken": measures, "CandidateErrors": model.canary}
        assert own == kinds | {name for name, there in further.items() if there}
    assert {"EndpointUnreachable", "EndpointNodeProblems"} <= set(alarms(assembly))


def test_only_what_is_sent_is_watched(each_assembly: Assembly) -> None:
    sent = {*get_args(MetricName), *HOST_METRICS, "HostFailures"}
    own = [metric for metric in watched(each_assembly) if metric["Namespace"] == METRICS_NAMESPACE]

    named = [metric for metric in own if isinstance(metric["MetricName"], str)]
    assert {metric["MetricName"] for metric in named} <= sent
    assert all(
        {dimension["Name"] for dimension in metric["Dimensions"]} == {"ClusterName", "ServiceName"} for metric in named
    )


def test_a_million_tokens_have_a_price(public: Assembly) -> None:
    found = re.search(r'"expression":"(\(prompt [^"]*)"', dashboard(public))
    assert found is not None
    # Two hosts of inf2.8xlarge for five minutes, and half a million tokens.
    names = {"hosts": 2.0, "prompt": 400_000.0, "generated": 100_000.0}
    hourly = facts.on_demand_price(public.environment.inference.models[0].instance_type, public.environment.region)  # type: ignore[union-attr]
    assert hourly is not None
    assert hourly.usd is not None

    def price(**values: float) -> float:
        result: float = eval(found[1], {"__builtins__": {}, **_FUNCTIONS}, values)
        return result

    assert price(**names) == pytest.approx(2 * hourly.usd / 12 * 2)
    assert price(hosts=2, prompt=0, generated=0) == 0


def test_the_candidate_and_the_firewall_are_on_the_dashboard_where_they_are(
    assemblies: Callable[[str], Assembly],
) -> None:
    with_candidate, with_firewall = dashboard(assemblies("rolledout")), dashboard(assemblies("public"))

    assert "candidate's share" in with_candidate
    assert "candidate's share" not in with_firewall
    assert "BlockedRequests" in with_firewall
    assert "BlockedRequests" not in with_candidate


def test_the_load_balancers_metrics_are_those_that_the_cdk_knows(public: Assembly) -> None:
    stack = cdk.Stack(cdk.App(), "Test")
    balancer = elbv2.ApplicationLoadBalancer.from_application_load_balancer_attributes(
        stack,
        "Balancer",
        load_balancer_arn="arn:aws:elasticloadbalancing:us-west-2:111122223333:loadbalancer/app/one/2",
        security_group_id="sg-1",
    ).metrics
    targets = elbv2.ApplicationTargetGroup.from_target_group_attributes(
        stack,
        "Imported",
        target_group_arn="arn:aws:elasticloadbalancing:us-west-2:111122223333:targetgroup/one/2",
        load_balancer_arns="arn:aws:elasticloadbalancing:us-west-2:111122223333:loadbalancer/app/one/2",
    ).metrics
    known = [
        balancer.request_count(),
        balancer.active_connection_count(),
        targets.healthy_host_count(),
        targets.unhealthy_host_count(),
        targets.target_response_time(),
        *(balancer.http_code_elb(code) for code in elbv2.HttpCodeElb),
        *(targets.http_code_target(code) for code in elbv2.HttpCodeTarget),
    ]
    found = set(re.findall(r'\["AWS/ApplicationELB","([A-Za-z0-9_]+)"', dashboard(public)))

    assert len(found) > 8
    assert found <= {metric.metric_name for metric in known}
