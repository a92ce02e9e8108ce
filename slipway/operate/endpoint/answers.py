"""What status codes and error pages mean for who asks an endpoint."""

from __future__ import annotations

import html
import re
from collections.abc import Mapping

import httpx2
from pydantic import BaseModel, ConfigDict, ValidationError

from slipway.operate.endpoint.http_client import Trouble

_MEANINGS: Mapping[int, tuple[str, str]] = {
    400: ("it does not understand the request", "see the message; a prompt may be longer than the model's limit"),
    401: (
        "it wants a key, or another one",
        "set OPENAI_API_KEY to the key or token; a token may have expired. Engines know the key that was in the secret "
        "when their task started",
    ),
    403: ("it refuses this client", "the key or token is for something else, or the firewall (AWS WAF) blocks it"),
    404: ("there is no such path or model", "is the base URL right, with /v1 at its end, and the model's id?"),
    405: ("it does not take this method", "is the base URL right, with /v1 at its end?"),
    413: ("the request is too large", "shorten the prompt"),
    422: ("it does not understand the request", "see the message; a prompt may be longer than the model's limit"),
    424: ("the engine failed on it", "see the engine's log"),
    429: ("it has too many requests waiting", "ask less at a time, or let more tasks serve (scaling.max_count)"),
    500: ("the engine failed", "see the engine's log"),
    502: ("the load balancer got no whole answer from the engine", "the engine stopped or was replaced: see its log"),
    503: (
        "no host is ready behind the load balancer",
        "is a version rolled out (`slipway roll-out`)? A new host loads for about ten minutes; a schedule may have it "
        "at zero. Then: the events of the ECS service",
    ),
    504: (
        "the load balancer waited too long for a byte",
        "stream the answer, or raise endpoint.idle_timeout_seconds; a long queue needs more tasks",
    ),
}
_TITLE = re.compile(r"<title>\s*(.*?)\s*</title>", re.IGNORECASE | re.DOTALL)
_LONGEST = 200


class _Error(BaseModel):
    model_config = ConfigDict(extra="ignore")
    message: str


class _ErrorBody(BaseModel):
    """OpenAI's form of an error, vLLM's flat one, and TGI's, whose `error` is the message itself."""

    model_config = ConfigDict(extra="ignore")
    error: _Error | str | None = None
    message: str | None = None


def is_page(response: httpx2.Response) -> bool:
    """Return whether an answer is an HTML page and thus not the API's."""
    return response.headers.get("content-type", "").startswith("text/html")


def message(response: httpx2.Response) -> str | None:
    """Return what an error answer says, shortened; None when it says nothing."""
    if is_page(response):
        title = _TITLE.search(response.text)
        return f"an HTML page{f' ({_short(html.unescape(title[1]))})' if title else ''}"
    try:
        body = _ErrorBody.model_validate_json(response.content)
    except ValidationError:
        return _short(response.text) or None
    said = body.error.message if isinstance(body.error, _Error) else body.error or body.message
    return _short(said) if said else None


def refusal(response: httpx2.Response) -> Trouble:
    """Say what an answer means that is not a success. Its body must have been read."""
    status = response.status_code
    said = message(response)
    meaning, advice = _MEANINGS.get(status, ("it answers something else than the API", "is this the right address?"))
    if response.is_success or (is_page(response) and status not in _MEANINGS):
        meaning, advice = "that is not the API's", "a proxy or another server answers here: is this the right address?"
    return Trouble(str(status), f"{status}: {meaning}{f' ({said})' if said else ''}", advice)


def _short(text: str) -> str:
    line = " ".join(text.split())
    return line if len(line) <= _LONGEST else f"{line[:_LONGEST]}..."
