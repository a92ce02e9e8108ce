"""The numbers of one level of concurrency, out of its streamed answers."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from statistics import median
from typing import Literal

from slipway.operate.endpoint.load.event_loop import LATE_SECONDS
from slipway.operate.endpoint.streaming import StreamedAnswer

TokenSource = Literal["usage", "chunks", "usage and chunks", "nothing"]
"""Who counted the tokens: the engine, or this command, for which each chunk is one token."""


@dataclass(frozen=True)
class Percentiles:
    """Three percentiles of a time, in seconds; each is a value that was measured."""

    p50: float
    p90: float
    p99: float


@dataclass(frozen=True, kw_only=True)
class Level:
    """What one level of concurrency showed.

    Attributes:
        concurrency: clients that ask at a time, each one request after the other.
        seconds: how long it took.
        requests: requests that came to an end, errors among them.
        errors: how many failed, by kind.
        generated_tokens: tokens of all whole answers.
        prompt_tokens: tokens of their prompts; none where the engine does not say.
        counted_by: who counted the generated tokens.
        time_to_first_token: seconds from the request to the first text.
        token_latency: seconds between one token and the next, the mean of each answer.
        tokens_per_second: speed of an answer after its first token, the median.
        late: p99 of the event loop's lateness, in seconds.
    """

    concurrency: int
    seconds: float
    requests: int
    errors: Mapping[str, int]
    generated_tokens: int
    prompt_tokens: int | None
    counted_by: TokenSource
    time_to_first_token: Percentiles | None
    token_latency: Percentiles | None
    tokens_per_second: float | None
    late: float

    @property
    def error_share(self) -> float:
        """Share of the requests that failed, 0 to 1."""
        return sum(self.errors.values()) / self.requests if self.requests else 0.0

    @property
    def all_tokens_per_second(self) -> float:
        """Tokens that all clients together got in a second."""
        return self.generated_tokens / self.seconds

    @property
    def requests_per_second(self) -> float:
        """Whole answers in a second."""
        return (self.requests - sum(self.errors.values())) / self.seconds

    @property
    def is_generator_late(self) -> bool:
        """Whether the computer that asks was too busy to measure well."""
        return self.late > LATE_SECONDS


def percentile(values: Sequence[float], share: float) -> float:
    """Return a percentile by nearest rank: the smallest value that this share of the values does not exceed."""
    return sorted(values)[max(0, math.ceil(share * len(values)) - 1)]


def _percentiles(values: Sequence[float]) -> Percentiles | None:
    return Percentiles(*(percentile(values, share) for share in (0.5, 0.9, 0.99))) if values else None


def measure(concurrency: int, seconds: float, answers: Iterable[StreamedAnswer], late: Sequence[float]) -> Level:
    """Return the numbers of a level.

    Args:
        concurrency: clients that asked at a time.
        seconds: how long it took.
        answers: what came of each request.
        late: the event loop's lateness, in seconds.
    """
    answers = list(answers)
    whole = [answer for answer in answers if answer.trouble is None]
    latencies = [latency for answer in whole if (latency := _token_latency(answer)) > 0]
    prompts = [answer.usage.prompt_tokens for answer in whole if answer.usage]
    return Level(
        concurrency=concurrency,
        seconds=seconds,
        requests=len(answers),
        errors=Counter(answer.trouble.kind for answer in answers if answer.trouble is not None),
        generated_tokens=sum(map(_tokens, whole)),
        prompt_tokens=sum(prompts) if prompts and len(prompts) == len(whole) else None,
        counted_by=_source(whole),
        time_to_first_token=_percentiles([answer.arrivals[0] - answer.started for answer in whole]),
        token_latency=_percentiles(latencies),
        tokens_per_second=1 / median(latencies) if latencies else None,
        late=percentile(late, 0.99) if late else 0.0,
    )


def _tokens(answer: StreamedAnswer) -> int:
    return answer.usage.completion_tokens if answer.usage else len(answer.arrivals)


def _token_latency(answer: StreamedAnswer) -> float:
    """Return the mean seconds between tokens; a chunk can hold several. 0 for an answer of one."""
    between = _tokens(answer) - 1
    return (answer.arrivals[-1] - answer.arrivals[0]) / between if between > 0 else 0.0


def _source(answers: Sequence[StreamedAnswer]) -> TokenSource:
    counted = {answer.usage is not None for answer in answers}
    sources: dict[frozenset[bool], TokenSource] = {
        frozenset(): "nothing",
        frozenset({True}): "usage",
        frozenset({False}): "chunks",
    }
    return sources.get(frozenset(counted), "usage and chunks")
