"""Engines start with what the synthesized task definition gives them, and a mistake there does not go unseen."""

import asyncio
from collections.abc import Callable, Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

import openai
import pytest

from neuron_constructs.inference.engine_proxy import PROXY_PORT
from slipway import facts
from tests.assembly import Assembly
from tests.endpoint.engine_launchers import LAUNCHERS, LaunchError, ServerSettings, settings
from tests.endpoint.engine_task import ServedContainer, served_containers
from tests.endpoint.gateway_targets import State
from tests.endpoint.running_endpoint import SECRET_VALUE, running_endpoint
from tests.endpoint.served_models import EACH_MODEL, Case
from tests.endpoint.small_template import forward, rule, small_template
from tests.endpoint.stack_values import StackValues, with_version
from tests.endpoint.stand_in_engine import KEYS

Assemblies = Callable[[str], Assembly]

PATIENT = {"idle_timeout.timeout_seconds": "4000"}


def container_of(assemblies: Assemblies, case: Case) -> ServedContainer:
    template = assemblies(case.variant).template("inference")
    return served_containers(StackValues(template, with_version(template)))[case.service]


def started(case: Case, container: ServedContainer) -> ServerSettings:
    environment = {**container.environment, **dict.fromkeys(container.secrets, SECRET_VALUE)}
    return settings(LAUNCHERS[case.model.engine], container.entry_point, container.command, environment)


@EACH_MODEL
def test_servers_are_told_what_the_environment_file_says(assemblies: Assemblies, case: Case) -> None:
    container = container_of(assemblies, case)
    server = started(case, container)
    has_proxy = case.variant == "apikey"
    assert server.port == container.engine_port == case.engine.port
    assert container.port == (PROXY_PORT if has_proxy else server.port)
    limit = case.model.limits.max_batch_size or (case.model.compiled.batch_size if case.model.compiled else None)
    # Left out, every server takes it from the model; the stand-in has none and goes on with 4.
    assert server.batch_size == (limit or 4)
    assert container.secrets == ((KEYS,) if has_proxy else ())


@EACH_MODEL
def test_a_server_without_its_model_does_not_start(assemblies: Assemblies, case: Case) -> None:
    container = container_of(assemblies, case)
    without = {name: value for name, value in container.environment.items() if not value.startswith("/")}
    arguments = tuple(argument for argument in container.command if not argument.startswith("/"))
    with pytest.raises(LaunchError, match="no directory"):
        started(case, replace(container, environment=without, command=arguments))


@EACH_MODEL
def test_an_argument_that_the_server_does_not_know_stops_it(assemblies: Assemblies, case: Case) -> None:
    container = container_of(assemblies, case)
    with pytest.raises(LaunchError, match="unexpected arguments"):
        started(case, replace(container, command=(*container.command, "--max-batch=4")))


def test_a_server_on_another_port_is_never_healthy(tmp_path: Path) -> None:
    template = small_template([rule(10, ["/v1/models"], forward(one=1))], "one")
    environment = _container(template)["Environment"]
    next(pair for pair in environment if pair["Name"] == "PORT")["Value"] = "8081"
    with running_endpoint(template, tmp_path, tasks=False) as endpoint:
        task = endpoint.start_task("one", until_healthy=False)
        endpoint.wait_until(lambda: task.target.state is State.UNHEALTHY)
        with pytest.raises(openai.InternalServerError) as refused:
            endpoint.client("one").models.list()
        assert refused.value.status_code == 502
        assert task.process.returncode is None


def test_a_port_that_is_not_published_is_refused() -> None:
    template = small_template([rule(10, ["/v1/models"], forward(one=1))], "one")
    _container(template)["PortMappings"] = [{"ContainerPort": 81}]
    with pytest.raises(AssertionError, match="registered with port 80"):
        served_containers(StackValues(template))


def _container(template: Mapping[str, Any]) -> dict[str, Any]:
    (container,) = template["Resources"]["oneTask"]["Properties"]["ContainerDefinitions"]
    found: dict[str, Any] = container
    return found


@pytest.mark.parametrize("engine", sorted(facts.inference_engines()))
def test_requests_wait_when_the_batch_is_full(engine: str, tmp_path: Path) -> None:
    """The stand-ins queue as the servers do, and their metrics say so: what scaling and load tests look at."""
    row = facts.inference_engine(engine)
    template = small_template([rule(10, ["/v1/*"], forward(one=1))], "one", engine=engine, attributes=PATIENT)
    with running_endpoint(template, tmp_path) as endpoint:
        (task,) = endpoint.tasks

        def counts() -> tuple[float, float]:
            page = endpoint.ask_engine(task, "GET", row.metrics_path).body.decode()
            values = {line.split("{")[0].split(" ")[0]: float(line.rpartition(" ")[2]) for line in _samples(page)}
            return values[row.metrics["running_requests"]], values[row.metrics["queue_size"]]

        async def many() -> tuple[list[Any], tuple[float, float]]:
            client = endpoint.asynchronous_client("one")
            model = (await client.models.list()).data[0].id
            # Long enough that none is done before all are there.
            pace = {"stand_in": {"prefill_seconds": 150, "tokens": 1}}
            waiting = [
                asyncio.create_task(client.completions.create(model=model, prompt="x", extra_body=pace))
                for _ in range(10)
            ]
            while (seen := await asyncio.to_thread(counts)) != (4, 6):
                assert not any(each.done() for each in waiting), seen
                await asyncio.sleep(0.05)
            return await asyncio.gather(*waiting), seen

        answers, seen = asyncio.run(many())
        assert seen == (4, 6)
        assert [answer.choices[0].text for answer in answers] == ["the-0 "] * 10
        assert counts() == (0, 0)


def _samples(page: str) -> list[str]:
    return [line for line in page.splitlines() if line and not line.startswith("#")]


def test_tgi_refuses_what_would_wait_too_long(tmp_path: Path) -> None:
    limit = LAUNCHERS["tgi"].waiting_limit
    assert limit is not None
    template = small_template([rule(10, ["/v1/*"], forward(one=1))], "one", attributes=PATIENT)
    with running_endpoint(template, tmp_path) as endpoint:

        async def first_answer() -> None:
            client = endpoint.asynchronous_client("one")
            pace = {"stand_in": {"prefill_seconds": 3000}}
            asking = [
                asyncio.create_task(client.completions.create(model="any", prompt="x", extra_body=pace))
                for _ in range(limit + 1)
            ]
            (done,), running = await asyncio.wait(asking, return_when=asyncio.FIRST_COMPLETED)
            for each in running:
                each.cancel()
            await done

        with pytest.raises(openai.RateLimitError):
            asyncio.run(first_answer())
