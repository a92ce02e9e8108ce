"""One load test: a first request, then level after level until one has too many errors."""

from __future__ import annotations

import asyncio
import itertools
import time
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Protocol

import httpx2

from slipway.errors import RefusedError
from slipway.operate.endpoint.check.api import models
from slipway.operate.endpoint.check.inquiry import Inquiry
from slipway.operate.endpoint.check.verdicts import Result
from slipway.operate.endpoint.http_client import open_client, tls_context
from slipway.operate.endpoint.load.event_loop import lateness
from slipway.operate.endpoint.load.measures import Level, measure
from slipway.operate.endpoint.load.plan import Plan
from slipway.operate.endpoint.streaming import StreamedAnswer, ask_streaming, chat_request
from slipway.operate.endpoint.target import Target

MOST_ERRORS = 0.1
"""Share of errors above which no higher level is tried."""

_HOPELESS_REQUESTS = 10
_HOPELESS_SHARE = 0.5


class Progress(Protocol):
    """Who gets the progress."""

    def begin(self, concurrency: int, requests: int | None, seconds: float | None) -> None:
        """A level begins."""

    def answered(self, *, well: bool) -> None:
        """A request came to its end."""

    def end(self, level: Level) -> None:
        """A level ended."""


@dataclass
class LoadTest:
    """A load test and what it has found so far.

    Attributes:
        target: what is asked.
        plan: how.
        progress: who gets the progress.
        model: the id that is asked for; known after the first request.
        levels: numbers of each level that began, the last one perhaps interrupted.
        stopped: why no higher level was tried; None when all were.
    """

    target: Target
    plan: Plan
    progress: Progress
    model: str = ""
    levels: list[Level] = field(default_factory=list)
    stopped: str | None = None

    async def run(self) -> None:
        """Carry it out. When it is cancelled, `levels` has what was found until then.

        Raises:
            RefusedError: the first request is not answered, or the file of certificate authorities cannot be read.
        """
        numbers = itertools.count(1)
        trust, connections = tls_context(self.target.way), self.plan.levels[-1] + 1
        async with open_client(self.target, key=self.target.key, trust=trust, connections=connections) as client:
            await self._ask_first(client)
            for concurrency in self.plan.levels:
                await _LevelRun(self, client, concurrency, numbers).run()
                level = self.levels[-1]
                if level.error_share > MOST_ERRORS:
                    self.stopped = (
                        f"{level.error_share:.0%} of the requests failed with {concurrency} at a time: more than "
                        f"{MOST_ERRORS:.0%} ends the test"
                    )
                    return

    async def _ask_first(self, client: httpx2.AsyncClient) -> None:
        """Find the model and ask it once, which counts nowhere."""
        inquiry = Inquiry(self.target, client, client, client)
        listed = await models(inquiry)
        if listed.result is Result.FAILED and not inquiry.model:
            raise RefusedError(f"{self.target.base_url}: {listed.found}\n{listed.advice}\nNothing was measured")
        self.model = inquiry.model
        first = await self.ask(client, 0)
        if first.trouble is not None:
            raise RefusedError(
                f"{self.target.base_url}: {first.trouble.found}\n{first.trouble.advice}\nNothing was measured; "
                "`slipway endpoint check` finds out more"
            )

    async def ask(self, client: httpx2.AsyncClient, number: int) -> StreamedAnswer:
        """Send one request."""
        body = chat_request(self.model, self.plan.prompt(number), self.plan.max_tokens, stream=True)
        return await ask_streaming(client, self.target.base_url, body, self.target.way)


@dataclass
class _LevelRun:
    """One level under way."""

    test: LoadTest
    client: httpx2.AsyncClient
    concurrency: int
    numbers: Iterator[int]
    answers: list[StreamedAnswer] = field(default_factory=list)
    errors: int = 0

    async def run(self) -> None:
        plan = self.test.plan
        wanted = plan.requests_at(self.concurrency)
        turns = itertools.count() if wanted is None else iter(range(wanted))
        self.test.progress.begin(self.concurrency, wanted, plan.seconds)
        started = time.perf_counter()
        ends = None if plan.seconds is None else started + plan.seconds
        async with lateness() as late:
            try:
                async with asyncio.TaskGroup() as clients:
                    for _ in range(self.concurrency):
                        clients.create_task(self._ask_in_turn(turns, ends))
            finally:
                if self.answers:
                    level = measure(self.concurrency, time.perf_counter() - started, self.answers, late)
                    self.test.levels.append(level)
                    self.test.progress.end(level)

    async def _ask_in_turn(self, turns: Iterator[int], ends: float | None) -> None:
        """Be one client: ask, read the whole answer, ask again."""
        while (ends is None or time.perf_counter() < ends) and not self._is_hopeless():
            if next(turns, None) is None:
                return
            answer = await self.test.ask(self.client, next(self.numbers))
            self.answers.append(answer)
            self.errors += answer.trouble is not None
            self.test.progress.answered(well=answer.trouble is None)

    def _is_hopeless(self) -> bool:
        """Return whether so many requests failed that more of them would only be a burden."""
        return self.errors >= _HOPELESS_REQUESTS and self.errors > _HOPELESS_SHARE * len(self.answers)
