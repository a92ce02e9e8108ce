"""A small OpenAI-compatible server with known delays, each part of which a test can replace."""

import asyncio
import json
import ssl
import threading
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from typing import Any

from aiohttp import web

MODEL = "tanuki-8b"
KEY = "a-key-of-the-tests"
WORDS = ("one two three four five six seven eight nine ten eleven twelve",)

Handler = Callable[[web.Request], Awaitable[web.StreamResponse]]


@dataclass
class StandIn:
    """What it does; tests change the attributes.

    Attributes:
        key: what clients must send; none lets everyone in.
        guards_all: a missing key is refused on every path, as a load balancer does; else on generation only.
        chunks: chunks of a streamed answer.
        chunk_seconds: pause before each chunk.
        is_buffered: the chunks are sent in one piece.
        says_usage: the last chunk holds the token counts, two for each chunk.
        ending: the last events of a stream.
        most_at_once: requests above this number at a time are answered with 429.
        replaced: other handlers, by path.
        seen: path of every request, in order.
        bodies: body of each chat completion.
    """

    key: str | None = None
    guards_all: bool = False
    chunks: int = 12
    chunk_seconds: float = 0.003
    is_buffered: bool = False
    says_usage: bool = True
    ending: tuple[str, ...] = ("data: [DONE]",)
    finish_reason: str | None = "stop"
    most_at_once: int = 1000
    replaced: dict[str, Handler] = field(default_factory=dict)
    seen: list[str] = field(default_factory=list)
    bodies: list[dict[str, Any]] = field(default_factory=list)
    at_once: int = 0
    port: int = 0
    scheme: str = "http"
    started: threading.Event = field(default_factory=threading.Event)
    _ended: Callable[[], object] | None = None

    @property
    def url(self) -> str:
        return f"{self.scheme}://127.0.0.1:{self.port}/v1"

    def run(self, tls: ssl.SSLContext | None) -> None:
        """Serve until `stop` is called, in the thread that calls this."""
        asyncio.run(self._serve(tls))

    def stop(self) -> None:
        assert self._ended is not None
        self._ended()

    async def _serve(self, tls: ssl.SSLContext | None) -> None:
        ended, loop = asyncio.Event(), asyncio.get_running_loop()
        application = web.Application()
        application.router.add_route("*", "/{path:.*}", self._answer)
        runner = web.AppRunner(application, access_log=None, shutdown_timeout=0.1)
        await runner.setup()
        await web.TCPSite(runner, "127.0.0.1", 0, ssl_context=tls).start()
        self.port = runner.addresses[0][1]
        self.scheme = "https" if tls else "http"
        self._ended = lambda: loop.call_soon_threadsafe(ended.set)
        self.started.set()
        await ended.wait()
        await runner.cleanup()

    async def _answer(self, request: web.Request) -> web.StreamResponse:
        self.seen.append(request.path)
        if request.path in self.replaced:
            return await self.replaced[request.path](request)
        handlers = {
            ("GET", "/v1/models"): self._models,
            ("POST", "/v1/chat/completions"): self._chat,
            ("POST", "/v1/completions"): self._completion,
        }
        handler = handlers.get((request.method, request.path))
        if handler is None:
            return web.Response(status=404, text="Not Found")
        sent = request.headers.get("Authorization") == f"Bearer {self.key}"
        if self.key and not sent and (self.guards_all or request.method == "POST"):
            return error(401, "a key is needed")
        return await handler(request)

    async def _models(self, _: web.Request) -> web.StreamResponse:
        model = {"id": MODEL, "object": "model", "created": 1, "owned_by": "tests"}
        return web.json_response({"object": "list", "data": [model]})

    async def _completion(self, _: web.Request) -> web.StreamResponse:
        return web.json_response({"choices": [{"index": 0, "text": " there was", "finish_reason": "length"}]})

    async def _chat(self, request: web.Request) -> web.StreamResponse:
        body = await request.json()
        if not isinstance(body["messages"], list):
            return error(422, "messages: not a list")
        self.bodies.append(body)
        async with self._counted():
            if self.at_once > self.most_at_once:
                return error(429, "too many requests")
            return await self._stream(request) if body.get("stream") else web.json_response(self._whole())

    @asynccontextmanager
    async def _counted(self) -> AsyncIterator[None]:
        self.at_once += 1
        try:
            yield
        finally:
            self.at_once -= 1

    def _whole(self) -> dict[str, Any]:
        return {
            "id": "chatcmpl-1",
            "object": "chat.completion",
            "created": 1,
            "model": MODEL,
            "choices": [{"index": 0, "message": {"role": "assistant", "content": "Hello!"}, "finish_reason": "stop"}],
            "usage": {"prompt_tokens": 7, "completion_tokens": 2, "total_tokens": 9},
        }

    async def _stream(self, request: web.Request) -> web.StreamResponse:
        response = web.StreamResponse(headers={"Content-Type": "text/event-stream"})
        await response.prepare(request)
        held = b""
        for event in self._events():
            await asyncio.sleep(self.chunk_seconds)
            if self.is_buffered:
                held += event
            else:
                await response.write(event)
        await response.write(held)
        return response

    def _events(self) -> list[bytes]:
        deltas = [chunk(delta={"role": "assistant", "content": ""})]
        deltas += [chunk(delta={"content": f"word{number} "}) for number in range(self.chunks)]
        deltas.append(chunk(delta={}, finish_reason=self.finish_reason))
        if self.says_usage:
            usage = {"prompt_tokens": 11, "completion_tokens": 2 * self.chunks, "total_tokens": 11 + 2 * self.chunks}
            deltas.append({**chunk(delta={}), "choices": [], "usage": usage})
        lines = [*(f"data: {json.dumps(delta)}" for delta in deltas), *self.ending]
        return [f"{line}\n\n".encode() for line in lines]


def chunk(delta: dict[str, str], finish_reason: str | None = None) -> dict[str, Any]:
    return {
        "id": "chatcmpl-1",
        "object": "chat.completion.chunk",
        "created": 1,
        "model": MODEL,
        "choices": [{"index": 0, "delta": delta, "finish_reason": finish_reason}],
    }


def error(status: int, message: str) -> web.Response:
    return web.json_response({"error": {"message": message, "type": "error"}}, status=status)


def answering(status: int, text: str = "", content_type: str = "text/plain") -> Handler:
    """A handler that answers always the same."""

    async def answer(_: web.Request) -> web.StreamResponse:
        return web.Response(status=status, text=text, content_type=content_type)

    return answer


async def never(_: web.Request) -> web.StreamResponse:
    """A handler that does not answer."""
    await asyncio.sleep(3600)
    raise AssertionError
