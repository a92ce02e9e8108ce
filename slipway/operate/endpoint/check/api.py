"""Whether the OpenAI-compatible API does what clients expect of it."""

from __future__ import annotations

from itertools import pairwise
from typing import TypeVar

import httpx2
from pydantic import BaseModel, ConfigDict, Field, ValidationError

from slipway.operate.endpoint.answers import is_page, refusal
from slipway.operate.endpoint.check.inquiry import Inquiry
from slipway.operate.endpoint.check.verdicts import Verdict, failed, failed_for, ok, skipped
from slipway.operate.endpoint.http_client import Trouble
from slipway.operate.endpoint.streaming import StreamedAnswer, Usage, ask_streaming, chat_request

_HELLO = "Say hello in one word."
_COUNT = "Count from one to twenty in words."
_COUNT_TOKENS = 48
_NOT_OFFERED = frozenset({404, 405, 501})

_FEWEST_CHUNKS = 8
_ONE_BURST_SECONDS = 0.001
_TRIES = 3


class _Part(BaseModel):
    model_config = ConfigDict(extra="ignore")


class _Model(_Part):
    id: str


class _Models(_Part):
    data: tuple[_Model, ...]


class _Message(_Part):
    content: str | None = None
    reasoning_content: str | None = None


class _ChatChoice(_Part):
    message: _Message


class _ChatCompletion(_Part):
    choices: tuple[_ChatChoice, ...] = Field(min_length=1)
    usage: Usage | None = None


class _CompletionChoice(_Part):
    text: str


class _Completion(_Part):
    choices: tuple[_CompletionChoice, ...] = Field(min_length=1)


_Form = TypeVar("_Form", bound=BaseModel)


def _parsed(form: type[_Form], answer: httpx2.Response | Trouble) -> _Form | Trouble:
    """Return an answer in the API's form, or what it is instead."""
    if isinstance(answer, Trouble):
        return answer
    if not answer.is_success:
        return refusal(answer)
    try:
        return form.model_validate_json(answer.content)
    except ValidationError:
        return refusal(answer)


async def models(inquiry: Inquiry) -> Verdict:
    """List the models, and find the one to ask."""
    target = inquiry.target
    answer = await inquiry.get(inquiry.with_key, f"{target.base_url}/models")
    found = _parsed(_Models, answer)
    if isinstance(found, Trouble):
        if found.kind == "404" and target.model:
            inquiry.model = target.model
        else:
            inquiry.not_serving = "the models cannot be listed"
        return failed_for(found)
    ids = [model.id for model in found.data]
    listed = ", ".join(ids) or "none"
    if target.model and target.model not in ids:
        inquiry.not_serving = "the model is not there"
        return failed(
            f"{target.model} is not among the models: {listed}",
            "say --model with one of these, or none",
        )
    if not ids:
        inquiry.not_serving = "there is no model"
        return failed("the list of models is empty", "the engine serves none: see its log")
    inquiry.model = target.model or ids[0]
    return ok(listed)


async def chat(inquiry: Inquiry) -> Verdict:
    """Ask for one chat completion."""
    body = chat_request(inquiry.model, _HELLO, 16, stream=False)
    found = _parsed(_ChatCompletion, await inquiry.post(inquiry.with_key, "/chat/completions", body))
    if isinstance(found, Trouble):
        return failed_for(found)
    said = found.choices[0].message
    text = said.content or said.reasoning_content
    if not text:
        return failed("the answer has no text", "is this a model that can chat? It needs a chat template")
    usage = f", {found.usage.prompt_tokens}+{found.usage.completion_tokens} tokens" if found.usage else ", no usage"
    return ok(f"{' '.join(text.split())!r:.60}{usage}")


async def completion(inquiry: Inquiry) -> Verdict:
    """Ask for one completion without chat, which not every endpoint offers."""
    body = {"model": inquiry.model, "prompt": "Once upon a time", "max_tokens": 8}
    answer = await inquiry.post(inquiry.with_key, "/completions", body)
    if isinstance(answer, httpx2.Response) and answer.status_code in _NOT_OFFERED:
        return skipped(f"not offered ({answer.status_code})")
    found = _parsed(_Completion, answer)
    if isinstance(found, Trouble):
        return failed_for(found)
    return ok(f"{' '.join(found.choices[0].text.split())!r:.60}")


async def streaming(inquiry: Inquiry) -> Verdict:
    """Ask for a chat completion chunk by chunk.

    A busy client can read several chunks at once, so one stream that comes in one piece proves nothing; three do.
    """
    body = chat_request(inquiry.model, _COUNT, _COUNT_TOKENS, stream=True)
    for _ in range(_TRIES):
        answer = await ask_streaming(inquiry.with_key, inquiry.target.base_url, body, inquiry.target.way)
        if answer.trouble is not None:
            return failed_for(answer.trouble)
        if not _came_at_once(answer):
            return _judged_end(answer)
    return failed(
        f"all {len(answer.arrivals)} chunks came at once, after {answer.arrivals[0] - answer.started:.2f} s",
        "something on the way holds the answer back until it is whole: a proxy with buffering, or an engine that "
        "does not stream",
    )


def _came_at_once(answer: StreamedAnswer) -> bool:
    """Return whether several chunks arrived together each time. An engine needs milliseconds for each."""
    times = answer.arrivals
    if len(times) < _FEWEST_CHUNKS:
        return False
    bursts = 1 + sum(later - earlier >= _ONE_BURST_SECONDS for earlier, later in pairwise(times))
    return bursts < len(times) / 4


def _judged_end(answer: StreamedAnswer) -> Verdict:
    chunks = len(answer.arrivals)
    if not answer.is_terminated:
        return failed(f"{chunks} chunks, and no [DONE]", "clients that wait for [DONE] hang: see the engine's log")
    usage = f"{answer.usage.completion_tokens} tokens" if answer.usage else "no usage"
    together = "" if chunks >= _FEWEST_CHUNKS else " (too few to tell whether they came one by one)"
    return ok(
        f"{chunks} chunks{together}, {usage}, finish reason {answer.finish_reason}, the first after "
        f"{answer.arrivals[0] - answer.started:.2f} s"
    )


async def errors(inquiry: Inquiry) -> Verdict:
    """Send a request that is wrong, which must be refused as such."""
    answer = await inquiry.post(
        inquiry.with_key, "/chat/completions", {"model": inquiry.model, "messages": "no list", "max_tokens": 1}
    )
    if isinstance(answer, Trouble):
        return failed_for(answer)
    if not answer.is_client_error:
        return failed(
            f"a request without a list of messages is answered with {answer.status_code}, not 4xx",
            "clients cannot tell their own mistakes from the endpoint's: see the engine's log",
        )
    if is_page(answer):
        return failed(
            f"a wrong request is answered with {answer.status_code} and an HTML page",
            "a proxy or firewall (AWS WAF) refuses it before the engine sees it: look there",
        )
    return ok(f"a wrong request is answered with {answer.status_code}")
