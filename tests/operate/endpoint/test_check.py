"""`slipway endpoint check` against a server: all well, and each finding by itself."""

import socket
import subprocess
import sys

import pytest
from aiohttp import web

from slipway import facts
from slipway.operate.endpoint.check.access import closed_paths
from tests.operate.endpoint.conftest import Serve
from tests.operate.endpoint.reading import check, endpoint
from tests.operate.endpoint.stand_in import KEY, MODEL, Handler, answering, never

GENERATION = ["chat completion", "completion", "streaming", "error answers"]


def test_an_open_endpoint_that_works(serve: Serve) -> None:
    found = check(serve().url)
    assert found.exit_code == 0
    assert found.failed == []
    assert found.skipped == ["certificate", "redirect", "without key", "wrong key"]
    assert found.found("models") == MODEL
    assert "'Hello!', 7+2 tokens" in found.found("chat completion")
    assert "12 chunks, 24 tokens, finish reason stop" in found.found("streaming")
    assert "422" in found.found("error answers")
    assert "by design" in found.found("health")


@pytest.mark.parametrize("guards_all", [False, True])
def test_a_guarded_endpoint_that_works(serve: Serve, guards_all: bool) -> None:
    found = check(serve(key=KEY, guards_all=guards_all).url, key=KEY)
    assert found.exit_code == 0
    assert found.result("without key") == found.result("wrong key") == "ok"
    assert ("models are listed" in found.found("without key")) is not guards_all


def test_the_key_is_never_printed(serve: Serve) -> None:
    stand_in = serve(key=KEY)
    assert KEY not in check(stand_in.url, key=KEY).output
    assert KEY not in endpoint("check", "--url", stand_in.url, environment={"OPENAI_API_KEY": KEY}).output


def test_lines_for_people_say_what_to_do(serve: Serve) -> None:
    stand_in = serve()
    stand_in.replaced["/metrics"] = answering(200, "tgi_queue_size 0")
    result = endpoint("check", "--url", stand_in.url)
    assert result.exit_code == 1
    lines = result.output.splitlines()
    assert sum(line.startswith(("OK ", "FAILED ", "skipped ")) for line in lines) == 13
    assert any(line.startswith("FAILED  other paths") for line in lines)
    assert any(line.strip().startswith("-> only /v1/chat/completions") for line in lines)


def test_an_unknown_kind_of_key_that_nobody_asks_for_is_a_finding(serve: Serve) -> None:
    found = check(serve().url, key=KEY)
    assert found.failed == ["without key", "wrong key"]
    assert found.found("without key") == "it answers without a key"


def test_none_is_no_key(serve: Serve) -> None:
    assert check(serve().url, key="none").exit_code == 0


@pytest.mark.parametrize("key", ["", "another"])
def test_a_missing_or_wrong_key(serve: Serve, key: str) -> None:
    found = check(serve(key=KEY, guards_all=True).url, key=key)
    assert "models" in found.failed
    assert "401: it wants a key, or another one (a key is needed)" in found.found("models")
    assert set(GENERATION) <= set(found.skipped)


def test_every_other_path_of_the_engines_is_asked(serve: Serve) -> None:
    stand_in = serve()
    check(stand_in.url)
    asked = set(stand_in.seen)
    assert closed_paths(None) <= asked
    assert {engine.health_path for engine in facts.inference_engines().values()} <= asked
    assert {"/metrics", "/docs", "/invocations", "/info", "/generate"} <= asked


@pytest.mark.parametrize(
    ("path", "status"), [("/metrics", 200), ("/docs", 302), ("/invocations", 405), ("/info", 503), ("/generate", 422)]
)
def test_another_path_that_can_be_reached(serve: Serve, path: str, status: int) -> None:
    stand_in = serve()
    stand_in.replaced[path] = answering(status)
    found = check(stand_in.url)
    assert found.failed == ["other paths"]
    assert found.found("other paths") == f"can be reached: {stand_in.url.removesuffix('/v1')}{path} ({status})"


def test_paths_below_a_prefix_are_asked_too(serve: Serve) -> None:
    stand_in = serve()
    for path in ("models", "chat/completions", "completions"):
        stand_in.replaced[f"/tanuki/v1/{path}"] = answering(503)
    check(stand_in.url.replace("/v1", "/tanuki/v1"))
    assert {"/metrics", "/tanuki/metrics", "/health", "/tanuki/health"} <= set(stand_in.seen)


def test_health_that_can_be_reached(serve: Serve) -> None:
    stand_in = serve()
    stand_in.replaced["/health"] = answering(200)
    assert check(stand_in.url).failed == ["health"]


PAGE = "<html><head><title>Corporate &amp; Proxy</title></head></html>"


@pytest.mark.parametrize(
    ("handler", "words"),
    [
        (answering(503, "<html><title>503 Service Temporarily Unavailable</title>", "text/html"), "no host is ready"),
        (answering(502), "no whole answer from the engine"),
        (answering(504), "waited too long"),
        (answering(429), "too many requests waiting"),
        (answering(404), "no such path or model"),
        (answering(418, PAGE, "text/html"), "not the API's (an HTML page (Corporate & Proxy))"),
        (answering(200, PAGE, "text/html"), "not the API's (an HTML page (Corporate & Proxy))"),
        (answering(200, '{"data": [{}]}', "application/json"), "not the API's"),
        (answering(200, '{"data": []}', "application/json"), "the list of models is empty"),
    ],
)
def test_models_that_cannot_be_listed(serve: Serve, handler: Handler, words: str) -> None:
    stand_in = serve()
    stand_in.replaced["/v1/models"] = handler
    found = check(stand_in.url)
    assert found.failed == ["models"]
    assert words in found.found("models")
    assert set(GENERATION) <= set(found.skipped)


def test_a_model_that_is_not_there(serve: Serve) -> None:
    found = check(serve().url, "--model", "another")
    assert found.failed == ["models"]
    assert found.found("models") == f"another is not among the models: {MODEL}"


def test_an_endpoint_without_a_list_is_asked_for_the_model_that_is_named(serve: Serve) -> None:
    stand_in = serve()
    stand_in.replaced["/v1/models"] = answering(404)
    found = check(stand_in.url, "--model", MODEL)
    assert found.failed == ["models"]
    assert {body["model"] for body in stand_in.bodies} == {MODEL}
    assert found.result("streaming") == "ok"


def test_an_engine_that_does_not_answer_in_time(serve: Serve) -> None:
    stand_in = serve()
    stand_in.replaced["/v1/completions"] = never
    found = check(stand_in.url, "--timeout", "2")
    assert found.failed == ["completion"]
    assert found.found("completion") == "no byte for 2 s"


def test_completions_need_not_be_offered(serve: Serve) -> None:
    stand_in = serve()
    stand_in.replaced["/v1/completions"] = answering(404)
    found = check(stand_in.url)
    assert found.exit_code == 0
    assert found.found("completion") == "not offered (404)"


@pytest.mark.parametrize(
    ("attributes", "words"),
    [
        ({"is_buffered": True}, "all 12 chunks came at once"),
        ({"ending": ()}, "no [DONE]"),
        ({"ending": (), "finish_reason": None}, "without finish_reason"),
        ({"ending": ("data: {not json",)}, "not a chunk of a chat completion"),
        ({"ending": ('data: {"error": {"message": "device lost"}}',)}, "device lost"),
        ({"chunks": 0}, "without any text"),
    ],
)
def test_streams_that_are_none(serve: Serve, attributes: dict[str, object], words: str) -> None:
    found = check(serve(**attributes).url)
    assert found.failed == ["streaming"]
    assert words in found.found("streaming")


def test_an_answer_that_is_not_streamed(serve: Serve) -> None:
    async def whole(request: web.Request) -> web.StreamResponse:
        body = await request.json()
        if isinstance(body["messages"], str):
            return web.Response(status=400, text="no")
        return web.json_response(stand_in._whole())

    stand_in = serve()
    stand_in.replaced["/v1/chat/completions"] = whole
    found = check(stand_in.url)
    assert found.failed == ["streaming"]
    assert "text/event-stream" in found.found("streaming")


def test_a_connection_that_breaks_within_the_stream(serve: Serve) -> None:
    async def broken(request: web.Request) -> web.StreamResponse:
        if not (await request.json()).get("stream"):
            return web.Response(status=422)
        response = web.StreamResponse(headers={"Content-Type": "text/event-stream"})
        await response.prepare(request)
        await response.write(b'data: {"choices": [{"delta": {"content": "one"}}]}\n\n')
        assert request.transport is not None
        request.transport.abort()
        return response

    stand_in = serve()
    stand_in.replaced["/v1/chat/completions"] = broken
    found = check(stand_in.url)
    assert "streaming" in found.failed
    assert "engine" in str(found.checks["streaming"]["advice"])


@pytest.mark.parametrize(
    ("handler", "words"),
    [
        (answering(200, "{}"), "answered with 200, not 4xx"),
        (answering(500), "answered with 500, not 4xx"),
        (answering(403, PAGE, "text/html"), "403 and an HTML page"),
    ],
)
def test_wrong_requests_that_are_not_refused_as_such(serve: Serve, handler: Handler, words: str) -> None:
    stand_in = serve()
    stand_in.replaced["/v1/chat/completions"] = handler
    assert words in check(stand_in.url).found("error answers")


def test_nothing_listens() -> None:
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        found = check(f"http://127.0.0.1:{free.getsockname()[1]}/v1")
    assert found.failed == ["connection"]
    assert "Connection refused" in found.found("connection")
    assert len(found.skipped) == 11


def test_a_name_that_leads_nowhere() -> None:
    found = check("https://endpoint.invalid/v1")
    assert found.failed == ["name"]
    assert len(found.skipped) == 12


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        ([], "-e ENVIRONMENT, or --url"),
        (["-e", "default", "--url", "http://127.0.0.1/v1"], "one of them"),
        (["--url", "127.0.0.1:80"], "not a base URL"),
        (["--url", "https://"], "not a base URL"),
        (["--url", "https://a:99999/v1"], "not a URL"),
        (["--url", "https://me:secret@host/v1"], "OPENAI_API_KEY"),
        (["--url", "https://host/v1?key=x"], "query"),
        (["--url", "https://host/v1", "--connect-to", "8443"], "HOST:PORT"),
        (["--url", "https://host/v1", "--ca-file", __file__], "no certificates"),
        (["-e", "no-such-environment"], "no-such-environment"),
    ],
)
def test_nothing_can_be_asked(arguments: list[str], words: str) -> None:
    result = endpoint("check", *arguments)
    assert result.exit_code == 2
    assert words in " ".join(result.output.split())
    assert "Traceback" not in result.output
    assert "secret" not in result.output


def test_a_proxy_of_the_environment_is_gone_through(serve: Serve, monkeypatch: pytest.MonkeyPatch) -> None:
    proxy = serve()
    monkeypatch.setenv("HTTP_PROXY", proxy.url.removesuffix("/v1"))
    monkeypatch.setenv("http_proxy", proxy.url.removesuffix("/v1"))
    found = check("http://endpoint.invalid/v1")
    assert found.exit_code == 0
    assert found.skipped[:2] == ["name", "connection"]
    assert "/v1/chat/completions" in proxy.seen


def test_other_commands_do_not_wait_for_what_these_import() -> None:
    script = "import sys, slipway.cli; print(sorted({'httpx2', 'boto3', 'asyncio', 'openai'} & set(sys.modules)))"
    found = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True)
    assert found.stdout == "[]\n"
