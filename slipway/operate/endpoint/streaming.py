"""One streamed chat completion, event by event, with the time of each."""

from __future__ import annotations

import time
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

import httpx2
from pydantic import BaseModel, ConfigDict, ValidationError

from slipway.operate.endpoint.answers import refusal
from slipway.operate.endpoint.http_client import Trouble, trouble
from slipway.operate.endpoint.target import Way

_END = "[DONE]"


class _Part(BaseModel):
    model_config = ConfigDict(extra="ignore")


class Usage(_Part):
    """What an engine counted."""

    prompt_tokens: int
    completion_tokens: int


class _Delta(_Part):
    content: str | None = None
    reasoning_content: str | None = None


class _Choice(_Part):
    delta: _Delta = _Delta()
    finish_reason: str | None = None


class _Chunk(_Part):
    choices: tuple[_Choice, ...] = ()
    usage: Usage | None = None
    error: Any = None


@dataclass
class StreamedAnswer:
    """What came of one request. Times are of `time.perf_counter`, in seconds.

    Attributes:
        started: when the request was sent.
        arrivals: when each chunk with text arrived.
        ended: when the last event arrived.
        text: all of the text.
        finish_reason: why the engine ended, such as `stop` or `length`.
        is_terminated: whether the closing `[DONE]` came.
        usage: what the engine counted; None when it does not say.
        trouble: why it is not a whole answer; None when it is one.
    """

    started: float
    arrivals: list[float] = field(default_factory=list)
    ended: float = 0.0
    text: str = ""
    finish_reason: str | None = None
    is_terminated: bool = False
    usage: Usage | None = None
    trouble: Trouble | None = None

    def _take(self, data: str) -> None:
        """Take one event.

        Raises:
            ValidationError: it is not a chunk of a chat completion.
        """
        now = time.perf_counter()
        self.ended = now
        if data == _END:
            self.is_terminated = True
            return
        chunk = _Chunk.model_validate_json(data)
        if chunk.error is not None:
            self.trouble = Trouble("error in the stream", f"the engine ended with: {chunk.error}", "see its log")
        self.usage = chunk.usage or self.usage
        for choice in chunk.choices:
            text = (choice.delta.reasoning_content or "") + (choice.delta.content or "")
            if text:
                self.text += text
                self.arrivals.append(now)
            self.finish_reason = choice.finish_reason or self.finish_reason

    def _judge(self) -> None:
        """Say what is wrong with a stream that came to its end."""
        if self.trouble is not None:
            return
        if self.finish_reason is None:
            self.trouble = Trouble(
                "stream cut off",
                f"it ended after {len(self.arrivals)} chunks without finish_reason",
                "the engine stopped, or something on the way ended the connection: see the engine's log",
            )
        elif not self.arrivals:
            self.trouble = Trouble("empty answer", "it ended without any text", "is this a model that can chat?")


def chat_request(model: str, prompt: str, max_tokens: int, *, stream: bool) -> dict[str, Any]:
    """Return the body of a chat completion."""
    body: dict[str, Any] = {
        "model": model,
        "messages": [{"role": "user", "content": prompt}],
        "max_tokens": max_tokens,
    }
    return {**body, "stream": True, "stream_options": {"include_usage": True}} if stream else body


async def ask_streaming(client: httpx2.AsyncClient, base_url: str, body: Mapping[str, Any], way: Way) -> StreamedAnswer:
    """Send a chat completion and read its stream. What goes wrong is in the answer, nothing is raised."""
    answer = StreamedAnswer(time.perf_counter())
    try:
        async with client.sse(f"{base_url}/chat/completions", method="POST", json=body, max_event_size=None) as events:
            if not events.response.is_success:
                await events.response.aread()
                answer.trouble = refusal(events.response)
                return answer
            # To the very end, although [DONE] is the last event: only then does the connection serve another request.
            async for event in events:
                answer._take(event.data)
    except httpx2.HTTPError as error:
        if not answer.is_terminated:
            answer.trouble = trouble(error, way)
    except ValidationError as error:
        answer.trouble = Trouble(
            "broken stream",
            f"an event is not a chunk of a chat completion: {error.errors()[0]['input']!r:.100}",
            "something on the way changes the answer, or this is not an OpenAI-compatible API",
        )
    answer._judge()
    return answer
