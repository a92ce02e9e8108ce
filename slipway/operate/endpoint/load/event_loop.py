"""Whether the computer that asks keeps up: how late its own event loop is."""

from __future__ import annotations

import asyncio
import contextlib
import time
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

LATE_SECONDS = 0.02
"""Lateness above which times of chunks, some 10 ms apart, say more about this computer than about the endpoint."""

_EVERY_SECONDS = 0.02


@asynccontextmanager
async def lateness() -> AsyncIterator[list[float]]:
    """Measure, while the context lasts, by how many seconds the event loop wakes a sleeper too late."""
    found: list[float] = []

    async def measure() -> None:
        while True:
            started = time.perf_counter()
            await asyncio.sleep(_EVERY_SECONDS)
            found.append(max(0.0, time.perf_counter() - started - _EVERY_SECONDS))

    task = asyncio.create_task(measure())
    try:
        yield found
    finally:
        task.cancel()
        with contextlib.suppress(asyncio.CancelledError):
            await task
