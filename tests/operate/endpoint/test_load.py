"""`slipway endpoint load` against a server with known delays. What is asserted are counts and orders, never speeds."""

import asyncio
import csv
import io
import json
import os
import signal
import subprocess
import sys
import time
from typing import Any

import pytest
from aiohttp import web

from slipway.operate.endpoint.load.run import LoadTest
from slipway.operate.endpoint.streaming import StreamedAnswer
from tests.operate.endpoint.conftest import Serve
from tests.operate.endpoint.reading import endpoint
from tests.operate.endpoint.stand_in import KEY, MODEL, StandIn, answering, never


def load(stand_in: StandIn, *arguments: object, key: str = "") -> tuple[int, dict[str, Any]]:
    result = endpoint("load", "--url", stand_in.url, "--json", *arguments, environment={"OPENAI_API_KEY": key})
    assert result.exit_code in (0, 1), result.output
    return result.exit_code, json.loads(result.stdout)


def test_levels_requests_and_tokens_are_counted(serve: Serve) -> None:
    stand_in = serve(key=KEY)
    exit_code, found = load(stand_in, "--concurrency", "1,2,5", "--requests", "4", "--max-tokens", "24", key=KEY)
    assert exit_code == 0
    assert [level["concurrency"] for level in found["levels"]] == [1, 2, 5]
    assert [level["requests"] for level in found["levels"]] == [4, 4, 5]
    assert [level["generated_tokens"] for level in found["levels"]] == [96, 96, 120]
    assert [level["prompt_tokens"] for level in found["levels"]] == [44, 44, 55]
    assert {level["counted_by"] for level in found["levels"]} == {"usage"}
    assert all(level["errors"] == 0 and level["errors_by_kind"] == {} for level in found["levels"])
    assert (found["model"], found["stopped"]) == (MODEL, None)
    assert len(stand_in.bodies) == 1 + 13
    assert all(body["max_tokens"] == 24 and body["stream"] for body in stand_in.bodies)
    assert all(body["stream_options"] == {"include_usage": True} for body in stand_in.bodies)


def test_the_numbers_fit_together(serve: Serve) -> None:
    _, found = load(serve(), "--concurrency", "1,3", "--requests", "6")
    for level in found["levels"]:
        for quantity in ("time_to_first_token", "token_latency"):
            p50, p90, p99 = (level[f"{quantity}_{share}"] for share in ("p50", "p90", "p99"))
            assert 0 < p50 <= p90 <= p99 <= level["seconds"]
        assert level["tokens_per_second"] == pytest.approx(level["generated_tokens"] / level["seconds"])
        assert level["requests_per_second"] == pytest.approx(6 / level["seconds"])


def test_prompts_have_the_wanted_length_and_none_begins_like_another(serve: Serve) -> None:
    stand_in = serve()
    load(stand_in, "--concurrency", "2", "--requests", "5", "--prompt-tokens", "200")
    prompts = [body["messages"][0]["content"] for body in stand_in.bodies]
    assert len({prompt.split(":")[0] for prompt in prompts}) == 6
    assert all(len(prompt.split()) == 200 - 32 + 12 for prompt in prompts)


def test_as_many_ask_at_a_time_as_wanted(serve: Serve) -> None:
    most: list[int] = []
    stand_in = serve()

    async def count(request: web.Request) -> web.StreamResponse:
        most.append(stand_in.at_once + 1)
        return await stand_in._chat(request)

    stand_in.replaced["/v1/chat/completions"] = count
    load(stand_in, "--concurrency", "1,4", "--requests", "12")
    assert max(most[:13]) == 1
    assert max(most) <= 4


def test_chunks_are_counted_where_the_engine_says_no_usage(serve: Serve) -> None:
    _, found = load(serve(says_usage=False), "--concurrency", "1", "--requests", "3")
    [level] = found["levels"]
    assert (level["generated_tokens"], level["counted_by"], level["prompt_tokens"]) == (36, "chunks", None)


def test_errors_at_high_concurrency_end_it(serve: Serve) -> None:
    stand_in = serve(most_at_once=2, chunk_seconds=0.02, chunks=4)
    exit_code, found = load(stand_in, "--concurrency", "1,2,8,16", "--requests", "4")
    assert exit_code == 1
    assert [level["concurrency"] for level in found["levels"]] == [1, 2, 8]
    assert [level["errors"] for level in found["levels"][:2]] == [0, 0]
    last = found["levels"][2]
    assert last["errors_by_kind"] == {"429": last["errors"]}
    assert 1 <= last["errors"] <= 6
    assert "with 8 at a time" in found["stopped"]


def test_an_endpoint_that_refuses_everything_is_not_hammered(serve: Serve) -> None:
    stand_in = serve()

    async def refusing(request: web.Request) -> web.StreamResponse:
        if len(stand_in.bodies) == 0:
            return await stand_in._chat(request)
        return web.Response(status=503)

    stand_in.replaced["/v1/chat/completions"] = refusing
    exit_code, found = load(stand_in, "--concurrency", "2", "--seconds", "300")
    assert exit_code == 1
    assert 10 <= found["levels"][0]["requests"] <= 12
    assert found["levels"][0]["generated_tokens"] == 0
    assert found["levels"][0]["time_to_first_token_p50"] is None


@pytest.mark.parametrize(
    ("attributes", "kind"),
    [
        ({"ending": ("data: nonsense",)}, "broken stream"),
        ({"ending": (), "finish_reason": None}, "stream cut off"),
    ],
)
def test_kinds_of_errors(serve: Serve, attributes: dict[str, Any], kind: str) -> None:
    stand_in = serve()

    async def later(request: web.Request) -> web.StreamResponse:
        if stand_in.bodies:
            vars(stand_in).update(attributes)
        return await stand_in._chat(request)

    stand_in.replaced["/v1/chat/completions"] = later
    _, found = load(stand_in, "--concurrency", "1", "--requests", "3")
    assert found["levels"][0]["errors_by_kind"] == {kind: 3}


def test_time_outs_are_errors(serve: Serve) -> None:
    stand_in = serve()

    async def hanging(request: web.Request) -> web.StreamResponse:
        return await (never(request) if stand_in.bodies else stand_in._chat(request))

    stand_in.replaced["/v1/chat/completions"] = hanging
    _, found = load(stand_in, "--concurrency", "3", "--requests", "3", "--timeout", "1.5")
    assert found["levels"][0]["errors_by_kind"] == {"timeout": 3}


def test_levels_can_go_by_time(serve: Serve) -> None:
    _, found = load(serve(), "--concurrency", "1,2", "--seconds", "1")
    assert all(level["seconds"] >= 1 and level["requests"] >= 1 for level in found["levels"])


def test_a_table_for_people(serve: Serve) -> None:
    result = endpoint("load", "--url", serve().url, "--concurrency", "1,2", "--requests", "2")
    assert result.exit_code == 0
    assert "…" not in result.stdout
    assert all(heading in result.stdout for heading in ("tokens/s", "first token, s", "p50/p90/p99"))
    assert "tokens: counted by the engine (usage)" in result.stdout
    assert "prompts: 11 tokens on average, 256 were wanted" in result.stdout
    assert "1 at a time: 2 requests in" in result.stderr
    assert "2 at a time: 2 requests in" in result.stderr


def test_comma_separated_values(serve: Serve) -> None:
    result = endpoint("load", "--url", serve().url, "--concurrency", "1,2", "--requests", "2", "--csv")
    rows = list(csv.DictReader(io.StringIO(result.stdout)))
    assert [row["concurrency"] for row in rows] == ["1", "2"]
    assert [row["generated_tokens"] for row in rows] == ["48", "48"]
    assert all(float(row["time_to_first_token_p99"]) > 0 for row in rows)


def test_a_generator_that_is_too_slow_says_so(serve: Serve, monkeypatch: pytest.MonkeyPatch) -> None:
    asked = LoadTest.ask

    async def blocking(*arguments: Any) -> StreamedAnswer:
        await asyncio.sleep(0.1)
        time.sleep(0.3)
        return await asked(*arguments)

    monkeypatch.setattr(LoadTest, "ask", blocking)
    result = endpoint("load", "--url", serve().url, "--concurrency", "1", "--requests", "2")
    assert "It is the bottleneck" in result.stdout
    _, found = load(serve(), "--concurrency", "1", "--requests", "2")
    assert found["levels"][0]["generator_is_bottleneck"] is True


# A shell starts its background jobs with SIGINT ignored, and so do CI systems; a terminal does not.
AS_IN_A_TERMINAL = (
    "import runpy, signal; signal.signal(signal.SIGINT, signal.default_int_handler); "
    "runpy.run_module('slipway', run_name='__main__', alter_sys=True)"
)


def test_ctrl_c_prints_what_there_is(serve: Serve) -> None:
    stand_in = serve()
    by_time = ["--concurrency", "2", "--seconds", "600"]
    running = subprocess.Popen(
        [sys.executable, "-c", AS_IN_A_TERMINAL, "endpoint", "load", "--json", "--url", stand_in.url, *by_time],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        env={**os.environ, "PYTHONUNBUFFERED": "1"},
        text=True,
    )
    try:
        for _ in range(600):
            if len(stand_in.bodies) > 8:
                break
            time.sleep(0.1)
        running.send_signal(signal.SIGINT)
        stdout, stderr = running.communicate(timeout=120)
    finally:
        running.kill()
    assert running.returncode == 130, stderr
    [level] = json.loads(stdout)["levels"]
    assert level["requests"] >= 5
    assert "interrupted" in json.loads(stdout)["stopped"]
    assert "Traceback" not in stderr


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        ([], "-e ENVIRONMENT, or --url"),
        (["--url", "http://127.0.0.1:9/v1"], "Nothing was measured"),
        (["--url", "http://127.0.0.1:9/v1", "--concurrency", "4,2"], "rising numbers"),
        (["--url", "http://127.0.0.1:9/v1", "--concurrency", "two"], "rising numbers"),
        (["--url", "http://127.0.0.1:9/v1", "--concurrency", "0,1"], "rising numbers"),
        (["--url", "http://127.0.0.1:9/v1", "--json", "--csv"], "either --json or --csv"),
    ],
)
def test_nothing_can_be_measured(arguments: list[str], words: str) -> None:
    result = endpoint("load", *arguments)
    assert result.exit_code == 2
    assert words in result.output
    assert "Traceback" not in result.output


def test_an_endpoint_without_a_host_is_not_measured(serve: Serve) -> None:
    stand_in = serve()
    stand_in.replaced["/v1/models"] = answering(503)
    result = endpoint("load", "--url", stand_in.url)
    assert result.exit_code == 2
    assert "no host is ready" in result.output
    assert stand_in.bodies == []
