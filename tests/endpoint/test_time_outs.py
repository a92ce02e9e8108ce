"""Slow starts, long prefills and stops end as the numbers in the template say.

Time runs faster here: a template's second is a fraction of a real one. Only outcomes and their order are compared.
"""

import threading
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import httpx2
import openai
import pytest

from tests.assembly import Assembly
from tests.endpoint.engine_launchers import LAUNCHERS, settings
from tests.endpoint.gateway_targets import State
from tests.endpoint.running_endpoint import RunningEndpoint, running_endpoint
from tests.endpoint.served_models import CASES, EACH_MODEL, Case
from tests.endpoint.stack_values import with_version

Assemblies = Callable[[str], Assembly]

ONE_OF_EACH_ENGINE = pytest.mark.parametrize(
    "case", {case.model.engine: case for case in CASES}.values(), ids=lambda case: case.model.engine
)
LOAD_BALANCERS_OWN_IDLE_SECONDS = 60


@contextmanager
def running(
    assemblies: Assemblies,
    case: Case,
    directory: Path,
    *,
    idle_takes: float = 2,
    changes: Mapping[str, str] | None = None,
) -> Iterator[RunningEndpoint]:
    """Run a case's endpoint without tasks.

    Args:
        assemblies: the assemblies of all environments.
        case: whose endpoint.
        directory: for logs.
        idle_takes: real seconds for the load balancer's idle time-out.
        changes: attributes of the load balancer that are to be other ones; empty ones are taken out.
    """
    template = dict(assemblies(case.variant).template("inference"))
    wanted = _idle_seconds(template)
    if changes:
        template = _with_attributes(template, changes)
    with running_endpoint(
        template, directory, parameters=with_version(template), scale=idle_takes / wanted, tasks=False
    ) as endpoint:
        yield endpoint


def _balancer(template: Mapping[str, Any]) -> Mapping[str, Any]:
    resources = template["Resources"].values()
    (found,) = (each for each in resources if each["Type"] == "AWS::ElasticLoadBalancingV2::LoadBalancer")
    return dict(found)


def _idle_seconds(template: Mapping[str, Any]) -> int:
    pairs = _balancer(template)["Properties"]["LoadBalancerAttributes"]
    return int({pair["Key"]: pair["Value"] for pair in pairs}["idle_timeout.timeout_seconds"])


def _with_attributes(template: Mapping[str, Any], changes: Mapping[str, str]) -> dict[str, Any]:
    balancer = _balancer(template)
    pairs = {pair["Key"]: pair["Value"] for pair in balancer["Properties"]["LoadBalancerAttributes"]}
    pairs |= changes
    attributes = [{"Key": key, "Value": value} for key, value in pairs.items() if value]
    changed = {**balancer, "Properties": {**balancer["Properties"], "LoadBalancerAttributes": attributes}}
    resources = {name: changed if each == balancer else each for name, each in template["Resources"].items()}
    return {**template, "Resources": resources}


def ask(endpoint: RunningEndpoint, case: Case, **pace: float) -> str:
    """Ask for a whole answer at a given pace, in the template's seconds."""
    answer = endpoint.client(case.name).completions.create(
        model=endpoint.model_id(case.name), prompt="x", extra_body={"stand_in": {"tokens": 2, **pace}}
    )
    return answer.choices[0].text


@ONE_OF_EACH_ENGINE
def test_an_engine_may_load_for_as_long_as_its_row_says(assemblies: Assemblies, tmp_path: Path, case: Case) -> None:
    """ECS would stop a task that fails its health checks after the grace period; until then clients get an error."""
    load_seconds = case.engine.load_minutes * 60
    with running(assemblies, case, tmp_path, idle_takes=1) as endpoint:
        assert endpoint.containers[case.service].grace_seconds >= load_seconds
        task = endpoint.start_task(case.service, load_seconds=load_seconds, until_healthy=False)
        with pytest.raises(openai.InternalServerError) as refused:
            ask(endpoint, case)
        assert refused.value.status_code in (502, 503)
        endpoint.wait_until_healthy(task)
        assert ask(endpoint, case) == "the-0 quick-1 "


@ONE_OF_EACH_ENGINE
def test_a_long_prefill_passes(assemblies: Assemblies, tmp_path: Path, case: Case) -> None:
    """It sends no byte for longer than a load balancer waits by itself."""
    with running(assemblies, case, tmp_path, idle_takes=4) as endpoint:
        endpoint.start_task(case.service)
        seconds = 2 * LOAD_BALANCERS_OWN_IDLE_SECONDS
        assert ask(endpoint, case, prefill_seconds=seconds) == "the-0 quick-1 "
        stream = endpoint.client(case.name).completions.create(
            model=endpoint.model_id(case.name),
            prompt="x",
            stream=True,
            extra_body={"stand_in": {"tokens": 2, "seconds_per_token": seconds}},
        )
        assert "".join(chunk.choices[0].text for chunk in stream) == "the-0 quick-1 "


def test_with_the_load_balancers_own_time_out_it_would_not(assemblies: Assemblies, tmp_path: Path) -> None:
    """So the tests do notice when the attribute is missing."""
    case, changes = CASES[0], {"idle_timeout.timeout_seconds": ""}
    with running(assemblies, case, tmp_path, changes=changes) as endpoint:
        endpoint.start_task(case.service)
        assert endpoint.gateway.idle_timeout_seconds == LOAD_BALANCERS_OWN_IDLE_SECONDS
        with pytest.raises(openai.InternalServerError) as late:
            ask(endpoint, case, prefill_seconds=5 * LOAD_BALANCERS_OWN_IDLE_SECONDS)
        assert late.value.status_code == 504


def test_a_prefill_longer_than_the_time_out_is_an_error(assemblies: Assemblies, tmp_path: Path) -> None:
    case = CASES[0]
    with running(assemblies, case, tmp_path, idle_takes=1) as endpoint:
        endpoint.start_task(case.service)
        with pytest.raises(openai.InternalServerError) as late:
            ask(endpoint, case, prefill_seconds=4 * endpoint.gateway.idle_timeout_seconds)
        assert late.value.status_code == 504
        stream = endpoint.client(case.name).completions.create(
            model=endpoint.model_id(case.name),
            prompt="x",
            stream=True,
            extra_body={"stand_in": {"seconds_per_token": 4 * endpoint.gateway.idle_timeout_seconds}},
        )
        with pytest.raises((openai.APIConnectionError, httpx2.TransportError)):
            list(stream)


@ONE_OF_EACH_ENGINE
def test_a_stop_lets_running_streams_end(assemblies: Assemblies, tmp_path: Path, case: Case) -> None:
    """Whatever the engine does at SIGTERM: the delay of the target group comes before it."""
    with running(assemblies, case, tmp_path, idle_takes=4) as endpoint:
        first, second = endpoint.start_task(case.service), endpoint.start_task(case.service)
        delay = endpoint.gateway.groups[first.container.target_group].deregistration_seconds
        stream = endpoint.client(case.name).completions.create(
            model=endpoint.model_id(case.name),
            prompt="x",
            stream=True,
            extra_body={"stand_in": {"tokens": 10, "seconds_per_token": delay / 60}},
        )
        words = [next(stream).choices[0].text]
        (stopped,) = (task for task in (first, second) if task.target.requests)
        (other,) = {first, second} - {stopped}
        stopping = threading.Thread(target=endpoint.stop_task, args=(stopped,))
        stopping.start()
        endpoint.wait_until(lambda: stopped.target.state is State.DRAINING)
        before = len(other.requests())
        for _ in range(3):
            assert ask(endpoint, case) == "the-0 quick-1 "
        words += [chunk.choices[0].text for chunk in stream]
        stopping.join()
        assert len([word for word in words if word]) == 10
        assert [request["target"] for request in other.requests()[before:]].count("/v1/completions") == 3
        assert stopped.events[:2] == ["deregistered", "SIGTERM"]
        assert stopped.events[-1] == "ended"


def test_a_stream_that_outlives_the_stop_is_an_error_for_its_client(assemblies: Assemblies, tmp_path: Path) -> None:
    """It must not look like a short answer."""
    case = CASES[0]
    with running(assemblies, case, tmp_path, idle_takes=1) as endpoint:
        task = endpoint.start_task(case.service)
        delay = endpoint.gateway.groups[task.container.target_group].deregistration_seconds
        stream = endpoint.client(case.name).completions.create(
            model=endpoint.model_id(case.name),
            prompt="x",
            stream=True,
            extra_body={"stand_in": {"tokens": 100, "seconds_per_token": delay / 10}},
        )
        next(stream)
        stopping = threading.Thread(target=endpoint.stop_task, args=(task,))
        stopping.start()
        with pytest.raises((openai.APIConnectionError, httpx2.TransportError)):
            list(stream)
        stopping.join()


@EACH_MODEL
def test_times_fit_each_other(assemblies: Assemblies, tmp_path: Path, case: Case) -> None:
    with running(assemblies, case, tmp_path) as endpoint:
        container, idle = endpoint.containers[case.service], endpoint.gateway.idle_timeout_seconds
        launcher = LAUNCHERS[case.model.engine]
        started = settings(launcher, container.entry_point, container.command, container.environment)
    # A server that closes an idle connection first gets the next request of the load balancer into the closed one.
    assert started.keep_alive_seconds is None or started.keep_alive_seconds > idle
    # SIGKILL comes after the server has had its time.
    assert container.stop_timeout_seconds > case.engine.drain_seconds
