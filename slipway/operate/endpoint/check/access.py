"""Whether those who may not ask are refused, and only what is meant for clients can be reached."""

from __future__ import annotations

import asyncio
import re
from collections.abc import Iterable

import httpx2

from slipway import facts
from slipway.operate.endpoint.check.inquiry import Inquiry
from slipway.operate.endpoint.check.verdicts import Verdict, failed, failed_for, ok, skipped
from slipway.operate.endpoint.http_client import Trouble
from slipway.operate.endpoint.streaming import chat_request

WRONG_KEY = "slipway-endpoint-check-wrong-key"
"""What the check sends as a key that nobody has."""

_REFUSED = frozenset({401, 403})
_CLOSED = frozenset({401, 403, 404})
_VARIABLE_PART = re.compile(r"\{[^}]*\}")
_SIDE_BY_SIDE = 8


async def health(inquiry: Inquiry) -> Verdict:
    """Ask for the engine's health, which is for the load balancer and not for clients."""
    found = await _reachable(inquiry, sorted({engine.health_path for engine in facts.inference_engines().values()}))
    if found:
        return _reached(found)
    return ok(
        "closed to clients by design, the load balancer asks for it inside; `models` gives clients the same answer"
    )


async def other_paths(inquiry: Inquiry) -> Verdict:
    """Ask for what the engines answer beside the API."""
    paths = sorted(closed_paths(inquiry.target.engine))
    found = await _reachable(inquiry, paths)
    return _reached(found) if found else ok(f"{len(paths)} other paths of engines are closed")


def closed_paths(engine: str | None) -> set[str]:
    """Return what an engine answers beside the API and its health; of every engine, when it is not known which."""
    known = facts.inference_engines()
    engines = [known[engine]] if engine is not None and engine in known else list(known.values())
    found = {path for one in engines for path in (*one.other_paths, one.metrics_path)}
    open_paths = {path for one in engines for path in (*one.inference_paths, one.health_path)}
    return {_VARIABLE_PART.sub("x", path) for path in found} - open_paths


async def _reachable(inquiry: Inquiry, paths: Iterable[str]) -> list[str]:
    """Return the URLs that answer something else than that they are not there, or not for this client."""
    gate = asyncio.Semaphore(_SIDE_BY_SIDE)

    async def ask(url: str) -> str | None:
        async with gate:
            answer = await inquiry.get(inquiry.with_key, url)
        if isinstance(answer, Trouble) or answer.status_code in _CLOSED:
            return None
        return f"{url} ({answer.status_code})"

    asked = await asyncio.gather(*(ask(f"{root}{path}") for root in inquiry.target.roots for path in paths))
    return [url for url in asked if url]


def _reached(found: list[str]) -> Verdict:
    return failed(
        f"can be reached: {', '.join(found)}",
        "only /v1/chat/completions, /v1/completions and /v1/models are for clients; let the load balancer answer 404 "
        "to all else. Do you ask the engine itself?",
    )


async def without_key(inquiry: Inquiry) -> Verdict:
    """Ask without a key."""
    if inquiry.target.authentication == "none":
        return skipped("the endpoint asks for no key: every client that reaches it may ask")
    verdict = await _refused(inquiry, inquiry.without_key, "without a key")
    if verdict is not None:
        return verdict
    listing = await inquiry.get(inquiry.without_key, f"{inquiry.target.base_url}/models")
    is_open = isinstance(listing, httpx2.Response) and listing.is_success
    if is_open and inquiry.target.authentication in ("jwt", "cognito"):
        return failed(
            "models are listed without a token",
            "the load balancer must check the token on every path: look at its listener rules",
        )
    if is_open and inquiry.target.authentication == "api_key":
        return failed(
            "models are listed without a key",
            "tasks must ask for the key on every path: deploy the inference stack again: an older Slipway deployed it",
        )
    return ok(f"refused without a key{', but models are listed: engines guard only generation' if is_open else ''}")


async def wrong_key(inquiry: Inquiry) -> Verdict:
    """Ask with a key that nobody has."""
    if inquiry.target.authentication == "none":
        return skipped("the endpoint asks for no key")
    return await _refused(inquiry, inquiry.with_wrong_key, "with a wrong key") or ok("refused with a wrong key")


async def _refused(inquiry: Inquiry, client: httpx2.AsyncClient, how: str) -> Verdict | None:
    """Return what is wrong when a client is not refused; None when it is."""
    body = chat_request(inquiry.model or "any", "Hello", 1, stream=False)
    answer = await inquiry.post(client, "/chat/completions", body)
    if isinstance(answer, Trouble):
        return failed_for(answer)
    if answer.status_code in _REFUSED:
        return None
    if inquiry.not_serving and inquiry.target.authentication not in ("jwt", "cognito"):
        return skipped(f"{answer.status_code}: a task checks keys, and {inquiry.not_serving}")
    if answer.is_success:
        return failed(
            f"it answers {how}",
            "every client that reaches it may use it: look at endpoint.authentication, and whether this is the load "
            "balancer",
        )
    return failed(
        f"{answer.status_code} {how}, not 401 or 403",
        "the request went past what should have refused it: look at the load balancer's listener rules",
    )
