"""A server with the routes and manners of an inference engine, and nothing to infer with.

`python -m tests.endpoint.stand_in_engine --engine tgi ... -- ARGUMENTS` stands for the container: variables and
arguments are those of the task definition. With SLIPWAY_API_KEYS it stands for the proxy in front of it as well: TLS,
and a key for every path but the health check's. It generates words, as fast or slow as a request asks for:
`extra_body={"stand_in": {"prefill_seconds": 300, "tokens": 20, "seconds_per_token": 1}}`, in the template's seconds.
"""

import argparse
import asyncio
import contextlib
import json
import os
import posixpath
import re
import signal
import socket
import ssl
import sys
import urllib.parse
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import trustme
from aiohttp import web

from slipway import facts
from tests.endpoint.engine_launchers import LAUNCHERS, Launcher, LaunchError, ServerSettings, settings
from tests.endpoint.engine_metrics_text import metrics_text

KEYS = "SLIPWAY_API_KEYS"
_WORDS = ("the", "quick", "brown", "fox", "jumps", "over", "a", "lazy", "dog")
_LIST, _CHAT, _COMPLETION = "/v1/models", "/v1/chat/completions", "/v1/completions"


class StandInEngine:
    """One server."""

    def __init__(
        self,
        engine: facts.InferenceEngine,
        launcher: Launcher,
        started_with: ServerSettings,
        *,
        scale: float,
        log: Path,
    ) -> None:
        self.engine, self.launcher, self.settings = engine, launcher, started_with
        self.scale, self._log = scale, log
        self._keys = frozenset(filter(None, os.environ.get(KEYS, "").split(",")))
        self._batch = asyncio.Semaphore(started_with.batch_size)
        self.counts = dict.fromkeys(
            ("queue_size", "running_requests", "prompt_tokens", "generated_tokens", "requests_succeeded"), 0
        )
        self.done = asyncio.Event()
        self._others = [re.compile(re.sub(r"\\\{\w+\\\}", "[^/]+", re.escape(path))) for path in engine.other_paths]

    async def handle(self, request: web.BaseRequest) -> web.StreamResponse:
        """Answer one request, and note that it came here."""
        path = _effective_path(request.raw_path)
        known = path in (*self.engine.inference_paths, self.engine.health_path, self.engine.metrics_path)
        known = known or any(other.fullmatch(path) for other in self._others)
        if self._keys and not self._has_key(path, request.headers.get("Authorization", "")):
            return self._error(401, "Unauthorized", "invalid_request_error")
        headers = sorted(name.lower() for name in request.headers)
        seen = {"method": request.method, "target": request.raw_path, "path": path, "known": known, "headers": headers}
        with self._log.open("a") as log:
            log.write(json.dumps(seen) + "\n")
        if not known:
            return self._error(404, "Not Found", "NotFoundError")
        if path in (_CHAT, _COMPLETION):
            if request.method != "POST":
                return self._error(405, "Method Not Allowed", "MethodNotAllowed")
            return await self._generate(path, json.loads(await request.content.read()), request)
        return self._page(path)

    def _page(self, path: str) -> web.Response:
        if path == self.engine.metrics_path:
            return web.Response(text=metrics_text(self.engine, self.counts), content_type="text/plain")
        if path == _LIST:
            return web.json_response({"object": "list", "data": [self._model()]})
        return web.json_response({"path": path})

    def _has_key(self, path: str, authorization: str) -> bool:
        return path == self.engine.health_path or authorization in {f"Bearer {key}" for key in self._keys}

    def tls(self) -> ssl.SSLContext | None:
        """The proxy's certificate, which nobody verifies; none without keys."""
        if not self._keys:
            return None
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        trustme.CA().issue_cert("slipway-engine").configure_cert(context)
        return context

    def _model(self) -> Mapping[str, Any]:
        return {"id": self.settings.model_id, "object": "model", "created": 0, "owned_by": self.engine.name}

    @staticmethod
    def _error(status: int, message: str, kind: str) -> web.Response:
        error = {"message": message, "type": kind, "param": None, "code": status}
        return web.json_response({"error": error}, status=status)

    async def _generate(self, path: str, body: Mapping[str, Any], request: web.BaseRequest) -> web.StreamResponse:
        if path == _CHAT and not isinstance(body.get("messages"), list):
            return self._error(self.launcher.malformed_status, "messages: not a list", "BadRequestError")
        if not (body.get("messages") if path == _CHAT else body.get("prompt")):
            return self._error(self.launcher.invalid_status, "there is nothing to answer", "BadRequestError")
        if self.launcher.checks_model and body.get("model") != self.settings.model_id:
            return self._error(404, f"The model `{body.get('model')}` does not exist.", "NotFoundError")
        limit = self.launcher.waiting_limit
        if limit is not None and self.counts["queue_size"] + self.counts["running_requests"] >= limit:
            return self._error(429, "Model is overloaded", "overloaded")
        wanted = {"prefill_seconds": 0, "tokens": body.get("max_tokens") or 16, "seconds_per_token": 0}
        wanted |= body.get("stand_in", {})
        prompt = json.dumps(body.get("messages") or body.get("prompt"))
        async with self._place_in_batch():
            await asyncio.sleep(wanted["prefill_seconds"] * self.scale)
            words = self._words(int(wanted["tokens"]), wanted["seconds_per_token"] * self.scale)
            usage = _usage(len(prompt.split()), int(wanted["tokens"]))
            self.counts["prompt_tokens"] += usage["prompt_tokens"]
            if body.get("stream"):
                return await self._stream(path, body, usage, words, request)
            text = "".join([word async for word in words])
            self.counts["requests_succeeded"] += 1
            return web.json_response(self._answer(path, text, usage=usage, streamed=False))

    @asynccontextmanager
    async def _place_in_batch(self) -> AsyncIterator[None]:
        self.counts["queue_size"] += 1
        try:
            await self._batch.acquire()
        finally:
            self.counts["queue_size"] -= 1
        self.counts["running_requests"] += 1
        try:
            yield
        finally:
            self.counts["running_requests"] -= 1
            self._batch.release()

    async def _words(self, count: int, seconds: float) -> AsyncIterator[str]:
        for number in range(count):
            await asyncio.sleep(seconds)
            self.counts["generated_tokens"] += 1
            yield f"{_WORDS[number % len(_WORDS)]}-{number} "

    async def _stream(
        self,
        path: str,
        body: Mapping[str, Any],
        usage: Mapping[str, int],
        words: AsyncIterator[str],
        request: web.BaseRequest,
    ) -> web.StreamResponse:
        response = web.StreamResponse(headers={"Content-Type": "text/event-stream", "Cache-Control": "no-cache"})
        await response.prepare(request)

        async def send(event: str) -> None:
            await response.write(f"data: {event}\n\n".encode())

        async for word in words:
            await send(json.dumps(self._answer(path, word, usage=None, streamed=True)))
        await send(json.dumps(self._answer(path, "", usage=None, streamed=True, finish_reason="length")))
        if (body.get("stream_options") or {}).get("include_usage"):
            await send(json.dumps({**self._answer(path, "", usage=usage, streamed=True), "choices": []}))
        await send("[DONE]")
        await response.write_eof()
        self.counts["requests_succeeded"] += 1
        return response

    def _answer(
        self,
        path: str,
        text: str,
        *,
        usage: Mapping[str, int] | None,
        streamed: bool,
        finish_reason: str | None = None,
    ) -> dict[str, Any]:
        reason = finish_reason if streamed else "length"
        choice: dict[str, Any] = {"index": 0, "finish_reason": reason}
        if path == _CHAT:
            choice["delta" if streamed else "message"] = {"role": "assistant", "content": text}
            kind = "chat.completion.chunk" if streamed else "chat.completion"
        else:
            choice["text"], kind = text, "text_completion"
        answer = {"id": "stand-in", "object": kind, "created": 0, "model": self.settings.model_id, "choices": [choice]}
        return {**answer, "usage": usage} if usage else answer


def _usage(prompt_tokens: int, generated_tokens: int) -> dict[str, int]:
    return {
        "prompt_tokens": prompt_tokens,
        "completion_tokens": generated_tokens,
        "total_tokens": prompt_tokens + generated_tokens,
    }


def _effective_path(target: str) -> str:
    """Return the path as the most lenient server would read it: decoded, slashes and dots resolved."""
    path = urllib.parse.unquote(urllib.parse.unquote(target.partition("?")[0])).replace("\\", "/")
    resolved = "/" + posixpath.normpath(path).lstrip("/")
    return "/" if resolved == "/." else resolved


async def _serve(server: StandInEngine, listener: socket.socket, load_seconds: float) -> None:
    """Load, then open the port; at SIGTERM finish running requests for as long as the engine does."""
    loop = asyncio.get_running_loop()
    loop.add_signal_handler(signal.SIGTERM, server.done.set)
    with contextlib.suppress(TimeoutError):
        await asyncio.wait_for(server.done.wait(), load_seconds)
    handler = web.Server(server.handle, access_log=None)
    opened = await loop.create_server(handler, sock=listener, ssl=server.tls())
    await server.done.wait()
    opened.close()
    drain_seconds = server.engine.drain_seconds * server.scale
    ends = loop.time() + drain_seconds
    while server.counts["queue_size"] + server.counts["running_requests"] and loop.time() < ends:
        await asyncio.sleep(0.005)
    os._exit(0)


def _arguments() -> tuple[argparse.Namespace, list[str]]:
    own, container = sys.argv[1:], list[str]()
    if "--" in own:
        own, container = own[: own.index("--")], own[own.index("--") + 1 :]
    parser = argparse.ArgumentParser()
    parser.add_argument("--engine", required=True)
    parser.add_argument("--entry-point", default="[]", type=json.loads)
    parser.add_argument("--published-port", type=int, required=True)
    parser.add_argument("--listener", type=int, required=True)
    parser.add_argument("--scale", type=float, required=True)
    parser.add_argument("--load-seconds", type=float, default=0)
    parser.add_argument("--log", type=Path, required=True)
    return parser.parse_args(own), container


def main() -> None:
    """Run the server until it is stopped."""
    arguments, container = _arguments()
    launcher = LAUNCHERS[arguments.engine]
    try:
        started_with = settings(launcher, arguments.entry_point, container, os.environ)
    except LaunchError as error:
        sys.exit(f"stand-in engine {arguments.engine}: {error}")
    listener = socket.socket(fileno=arguments.listener)
    if started_with.port != arguments.published_port:
        # It listens on a port that nobody asks.
        listener.close()
        listener = socket.create_server(("127.0.0.1", 0))

    async def run() -> None:
        server = StandInEngine(
            facts.inference_engine(arguments.engine),
            launcher,
            started_with,
            scale=arguments.scale,
            log=arguments.log,
        )
        await _serve(server, listener, arguments.load_seconds * arguments.scale)

    asyncio.run(run())


if __name__ == "__main__":
    main()
