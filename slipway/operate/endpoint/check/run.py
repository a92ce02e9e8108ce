"""One run of `slipway endpoint check`: every check in its order, and what becomes of those that cannot be asked."""

from __future__ import annotations

import time
from collections.abc import Awaitable, Callable
from dataclasses import dataclass

from slipway.operate.endpoint.check import access, api, connection
from slipway.operate.endpoint.check.inquiry import Inquiry
from slipway.operate.endpoint.check.verdicts import Outcome, Result, Verdict, skipped
from slipway.operate.endpoint.http_client import open_client, tls_context
from slipway.operate.endpoint.target import Target


@dataclass(frozen=True)
class Check:
    """One check.

    Attributes:
        name: what a report calls it.
        function: carries it out.
        needs_model: whether it asks a model for text.
    """

    name: str
    function: Callable[[Inquiry], Awaitable[Verdict]]
    needs_model: bool = False


CHECKS = (
    Check("name", connection.name),
    Check("connection", connection.connection),
    Check("certificate", connection.certificate),
    Check("redirect", connection.redirect),
    Check("models", api.models),
    Check("health", access.health),
    Check("chat completion", api.chat, needs_model=True),
    Check("completion", api.completion, needs_model=True),
    Check("streaming", api.streaming, needs_model=True),
    Check("error answers", api.errors, needs_model=True),
    Check("without key", access.without_key),
    Check("wrong key", access.wrong_key),
    Check("other paths", access.other_paths),
)
"""Every check, in the order in which they are made."""


async def check(target: Target, tell: Callable[[Outcome], None]) -> list[Outcome]:
    """Make every check.

    Args:
        target: what to check.
        tell: called with each outcome as it comes.

    Raises:
        RefusedError: the file of certificate authorities cannot be read.
    """
    trust = tls_context(target.way)
    async with (
        open_client(target, key=target.key, trust=trust) as with_key,
        open_client(target, key=None, trust=trust) as without_key,
        open_client(target, key=access.WRONG_KEY, trust=trust) as with_wrong_key,
    ):
        inquiry = Inquiry(target, with_key, without_key, with_wrong_key)
        outcomes = []
        for one in CHECKS:
            outcomes.append(await _carried_out(one, inquiry))
            tell(outcomes[-1])
        return outcomes


async def _carried_out(check: Check, inquiry: Inquiry) -> Outcome:
    reason = inquiry.unreachable or (inquiry.not_serving if check.needs_model else None)
    if reason:
        return Outcome(check.name, skipped(reason), None)
    started = time.perf_counter()
    verdict = await check.function(inquiry)
    seconds = None if verdict.result is Result.SKIPPED else time.perf_counter() - started
    return Outcome(check.name, verdict, seconds)
