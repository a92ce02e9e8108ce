"""What an engine answers beside its OpenAI paths cannot be reached through the endpoint, however it is spelled."""

from collections.abc import Callable, Iterator
from contextlib import closing
from pathlib import Path

from tests.endpoint.raw_requests import asked
from tests.endpoint.running_endpoint import RunningEndpoint, running_endpoint
from tests.endpoint.served_models import EACH_MODEL, Case
from tests.endpoint.small_template import forward, rule, small_template

Endpoints = Callable[[str], RunningEndpoint]

# Routes of servers of the same families that a row might not name, and what attackers try first.
_FURTHER = (
    "/openapi.json",
    "/redoc",
    "/v1/embeddings",
    "/v1/responses",
    "/v1/load_lora_adapter",
    "/v1/chat/completions/render",
    "/server_info",
    "/sleep",
    "/pause",
    "/collective_rpc",
    "/.env",
    "/*",
)


def _spellings(path: str) -> Iterator[str]:
    """Other spellings of a closed path, some of which begin like an open one."""
    name = path.lstrip("/")
    yield path
    yield path.upper()
    yield f"/{path}"
    yield f"{path}/"
    yield f"{path}?a=/v1/models"
    yield f"{path};/v1/models"
    yield f"{path}%00/v1/models"
    yield f"/v1/../{name}"
    yield f"/v1/%2e%2e/{name}"
    yield f"/v1/%252e%252e/{name}"
    yield f"/v1/..%2f{name}"
    yield f"/v1/..%5c{name}"
    yield f"/v1/chat/completions/../../../{name}"
    yield f"/v1/models/..;/{name}"
    yield f"/v1/models%2f..%2f..%2f{name}"
    yield f"/v1/models#/../../{name}"


def _spellings_of_open_paths(path: str) -> Iterator[str]:
    yield f"/{path}"
    yield f"{path}/"
    yield path.upper()
    yield path.replace("/v1/", "/v1//")
    yield path.replace("/v1/", "/v1/./")
    yield path.replace("/v1/", "/v1%2f")
    yield path.replace("v1", "%761")
    yield f"{path}/../models"


def _closed(case: Case) -> Iterator[str]:
    engine = case.engine
    others = [path.replace("{", "").replace("}", "") for path in engine.other_paths]
    for path in others:
        yield from (path, f"{path}/", f"/{path.lstrip('/')}?x=1")
    yield from _FURTHER
    yield engine.health_path
    for path in (engine.metrics_path, "/invocations"):
        yield from _spellings(path)
    for path in engine.inference_paths:
        yield from _spellings_of_open_paths(path)


def _host(endpoint: RunningEndpoint, case: Case) -> dict[str, str]:
    return {"Host": endpoint.host(case.name)}


def _port(endpoint: RunningEndpoint) -> int:
    return 443 if 443 in endpoint.gateway.ports else 80


@EACH_MODEL
def test_closed_paths_never_reach_the_engine(endpoints: Endpoints, case: Case) -> None:
    endpoint, prefix = endpoints(case.variant), case.model.route.path or ""
    reached = len(endpoint.reached(case.service))
    allowed = {"Authorization": f"Bearer {endpoint.credential}"}
    targets = dict.fromkeys(target for path in _closed(case) for target in (path, prefix + path))
    with closing(endpoint.connection(_port(endpoint))) as connection:
        statuses = {
            (method, target, "Authorization" in credential): asked(
                connection, method, target, {**_host(endpoint, case), **credential}
            ).status
            for target in targets
            for method, credential in (("GET", allowed), ("POST", allowed), ("GET", {}))
        }
    assert {request: status for request, status in statuses.items() if status not in (401, 404)} == {}
    assert len(endpoint.reached(case.service)) == reached


def test_a_rule_that_is_too_wide_would_show(tmp_path: Path) -> None:
    """The tests above do notice a wildcard: the stand-ins read paths as the most lenient server would."""
    template = small_template([rule(10, ["/v1/*"], forward(one=1))], "one")
    targets = ("/v1/../metrics", "/v1/%2e%2e/metrics", "/v1/..%2fmetrics", "/v1/models/../../metrics")
    with running_endpoint(template, tmp_path) as endpoint:
        for target in targets:
            assert endpoint.ask("GET", target, listener_port=80).status == 200
        assert {request["path"] for request in endpoint.reached("one")} == {"/metrics"}
        assert [request["target"] for request in endpoint.reached("one")] == list(targets)


@EACH_MODEL
def test_open_paths_have_one_method_each(endpoints: Endpoints, case: Case) -> None:
    endpoint, prefix = endpoints(case.variant), case.model.route.path or ""
    headers = {**_host(endpoint, case), "Authorization": f"Bearer {endpoint.credential}"}
    reached = len(endpoint.reached(case.service))
    for path in case.engine.inference_paths:
        own = "GET" if path == "/v1/models" else "POST"
        for method in {"GET", "POST", "PUT", "DELETE", "HEAD", "OPTIONS", "PATCH", "TRACE"} - {own}:
            answer = endpoint.ask(method, prefix + path, listener_port=_port(endpoint), headers=headers)
            assert answer.status in (401, 404), (method, path, answer)
    assert len(endpoint.reached(case.service)) == reached


@EACH_MODEL
def test_health_checks_do_reach_the_engine(endpoints: Endpoints, case: Case) -> None:
    """The engine does answer what clients may not ask: that nothing arrived is the load balancer's work."""
    endpoint = endpoints(case.variant)
    (task,) = [task for task in endpoint.tasks if task.container.service == case.service]
    assert case.engine.health_path in {request["target"] for request in task.requests()}
    assert endpoint.ask_engine(task, "GET", case.engine.metrics_path).status == 200
    for path in case.engine.other_paths:
        plain = path.replace("{", "").replace("}", "")
        assert endpoint.ask_engine(task, "GET", plain).status == 200, path


@EACH_MODEL
def test_a_models_host_and_path_are_its_own(endpoints: Endpoints, case: Case) -> None:
    """A request for a host or path that no model has is not found, unless a model takes the rest."""
    endpoint, route = endpoints(case.variant), case.model.route
    headers = {"Host": endpoint.host(case.name), "Authorization": f"Bearer {endpoint.credential}"}
    reached = len(endpoint.reached(case.service))
    for target in ("/other/v1/models", f"{route.path or ''}/other/v1/models", f"{route.path or '/'}x/v1/models"):
        assert endpoint.ask("GET", target, listener_port=_port(endpoint), headers=headers).status == 404, target
    if route.host:
        headers["Host"] = f"other.{route.host}"
        assert endpoint.ask("GET", "/v1/models", listener_port=_port(endpoint), headers=headers).status == 404
    assert len(endpoint.reached(case.service)) == reached
