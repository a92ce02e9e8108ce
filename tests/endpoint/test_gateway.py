"""The gateway passes requests on, waits, drains and fails as Application Load Balancers are documented to do."""

import contextlib
import socket
import threading
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

import httpx2
import openai
import pytest

from slipway import facts
from tests.endpoint.gateway_targets import State, Target
from tests.endpoint.running_endpoint import RunningEndpoint, running_endpoint
from tests.endpoint.small_template import forward, rule, small_template

PATHS = ["/v1/chat/completions", "/v1/completions", "/v1/models"]


@pytest.fixture(scope="module")
def endpoint(tmp_path_factory: pytest.TempPathFactory) -> Iterator[RunningEndpoint]:
    """Two services that share the requests, and one that is never started."""
    rules = [
        rule(10, PATHS, forward(one=3, two=1)),
        rule(20, ["/none/*"], forward(one=0, two=0)),
        rule(30, ["/missing/*"], forward(missing=1)),
    ]
    template = small_template(rules, "one", "two", "missing", attributes={"idle_timeout.timeout_seconds": "300"})
    with running_endpoint(template, tmp_path_factory.mktemp("endpoint"), tasks=False) as running:
        for service in ("one", "two"):
            running.start_task(service)
        yield running


def test_requests_are_shared_by_weight(endpoint: RunningEndpoint) -> None:
    before = len(endpoint.access_log)
    client = endpoint.client("one")
    for _ in range(60):
        client.models.list()
    # A request is logged when it is over for the gateway, which may be after its client has the answer.
    endpoint.wait_until(lambda: len(endpoint.access_log) >= before + 60)
    served = Counter(access.target_group for access in endpoint.access_log[before:])
    assert sum(served.values()) == 60
    assert served["oneTargets"] > served["twoTargets"] > 0
    assert len(endpoint.reached("two")) >= served["twoTargets"]


def test_without_weight_or_target_the_answer_is_503(endpoint: RunningEndpoint) -> None:
    assert endpoint.ask("GET", "/none/v1/models", listener_port=80).status == 503
    assert endpoint.ask("GET", "/missing/v1/models", listener_port=80).status == 503


def test_requests_arrive_as_they_were_sent(endpoint: RunningEndpoint) -> None:
    answer = endpoint.ask(
        "GET", "/v1/models?a=%2F..%2f&b=c%20d", listener_port=80, headers={"Authorization": "Bearer x"}
    )
    assert answer.status == 200
    targets = [request["target"] for service in ("one", "two") for request in endpoint.reached(service)]
    assert "/v1/models?a=%2F..%2f&b=c%20d" in targets


def test_a_target_that_closes_is_a_bad_gateway(endpoint: RunningEndpoint) -> None:
    """It accepts a request and hangs up; no health check has passed, so it is asked only because no other is there."""
    with socket.create_server(("127.0.0.1", 0)) as server, _hanging_up(server), _registered(endpoint, server):
        assert endpoint.ask("GET", "/missing/v1/models", listener_port=80).status == 502


def test_nothing_listens(endpoint: RunningEndpoint) -> None:
    with socket.socket() as closed:
        closed.bind(("127.0.0.1", 0))
        with _registered(endpoint, closed):
            assert endpoint.ask("GET", "/missing/v1/models", listener_port=80).status == 502


def test_an_engine_that_starts_gets_requests_once_it_is_healthy(tmp_path: Path) -> None:
    template = small_template([rule(10, PATHS, forward(one=1))], "one")
    with running_endpoint(template, tmp_path, tasks=False) as endpoint:
        first = endpoint.start_task("one")
        second = endpoint.start_task("one", load_seconds=60, until_healthy=False)
        client = endpoint.client("one")
        for _ in range(5):
            client.models.list()
        endpoint.wait_until_healthy(second)
        for _ in range(5):
            client.models.list()
        asked = [[request["target"] for request in task.requests()].count("/v1/models") for task in (first, second)]
        assert second.requests()[0]["target"] == "/health"
        assert sum(asked) == 10
        assert asked[0] >= 5
        assert asked[1] >= 2


def test_a_draining_target_finishes_and_gets_nothing_new(tmp_path: Path) -> None:
    template = small_template([rule(10, PATHS, forward(one=1))], "one")
    with running_endpoint(template, tmp_path) as endpoint:
        client = endpoint.client("one")
        (task,) = endpoint.tasks
        stream = client.completions.create(
            model="some",
            prompt="go on",
            stream=True,
            extra_body={"stand_in": {"tokens": 20, "seconds_per_token": 3}},
        )
        words = [next(stream).choices[0].text]
        stopping = threading.Thread(target=endpoint.stop_task, args=(task,))
        stopping.start()
        endpoint.wait_until(lambda: task.target.state is State.DRAINING)
        with pytest.raises(openai.InternalServerError) as refused:
            client.models.list()
        words += [chunk.choices[0].text for chunk in stream]
        stopping.join()
        assert refused.value.status_code == 503
        assert len([word for word in words if word]) == 20
        assert task.events == ["deregistered", "SIGTERM", "ended"]


@pytest.mark.parametrize("engine", sorted(facts.inference_engines()))
def test_what_is_left_after_the_delay_is_the_engines_to_finish(engine: str, tmp_path: Path) -> None:
    """Where the load balancer leaves connections alone; TGI drains at SIGTERM, vLLM before 0.18 does not."""
    template = small_template([rule(10, PATHS, forward(one=1))], "one", engine=engine, deregistration_seconds=10)
    with running_endpoint(template, tmp_path, scale=0.03) as endpoint:
        (task,) = endpoint.tasks
        client = endpoint.client("one")
        stream = client.completions.create(
            model=client.models.list().data[0].id,
            prompt="go on",
            stream=True,
            extra_body={"stand_in": {"tokens": 10, "seconds_per_token": 4}},
        )
        words = [next(stream).choices[0].text]
        stopping = threading.Thread(target=endpoint.stop_task, args=(task,), kwargs={"closes_connections": False})
        stopping.start()
        if facts.inference_engine(engine).drain_seconds:
            words += [chunk.choices[0].text for chunk in stream]
            assert len([word for word in words if word]) == 10
        else:
            with pytest.raises((openai.APIConnectionError, httpx2.TransportError)):
                list(stream)
        stopping.join()
        assert task.events[:2] == ["deregistered", "SIGTERM"]


@contextlib.contextmanager
def _hanging_up(server: socket.socket) -> Iterator[None]:
    def hang_up() -> None:
        with contextlib.suppress(OSError):
            while True:
                connection, _ = server.accept()
                connection.recv(1)
                connection.close()

    thread = threading.Thread(target=hang_up, daemon=True)
    thread.start()
    yield
    server.shutdown(socket.SHUT_RDWR)
    thread.join()


@contextlib.contextmanager
def _registered(endpoint: RunningEndpoint, server: socket.socket) -> Iterator[None]:
    group = endpoint.gateway.groups["missingTargets"]
    target = Target(*server.getsockname())

    async def register() -> None:
        group.register(target)

    endpoint.run(register())
    yield
    endpoint.run(group.deregister(target, closes_connections=True))
