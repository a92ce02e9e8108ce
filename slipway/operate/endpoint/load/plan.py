"""What a load test asks: how many at a time, how often, and for how much text."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import cycle, islice

from slipway.errors import RefusedError

FEWEST_PROMPT_TOKENS = 32
"""Tokens of a prompt without any filling: the task, a number, and a usual chat template."""

_MOST_AT_ONCE = 1024
# Words that most vocabularies have as one token, with the space before them.
_TEXT = """
time year people way day thing man world life hand part child eye woman place work week case point company
number group problem fact water room area money story month lot right study book word business side kind head
house
"""
_WORDS = _TEXT.split()


@dataclass(frozen=True, kw_only=True)
class Plan:
    """A load test.

    Attributes:
        levels: clients that ask at a time, rising.
        requests: requests of each level; at least one for each client.
        seconds: how long each level goes on asking, instead.
        prompt_tokens: about how many tokens a prompt has.
        max_tokens: tokens after which an answer ends.
    """

    levels: tuple[int, ...]
    requests: int
    seconds: float | None
    prompt_tokens: int
    max_tokens: int

    def requests_at(self, concurrency: int) -> int | None:
        """Return how many requests a level has; None when it goes by time."""
        return None if self.seconds is not None else max(self.requests, concurrency)

    @property
    def all_requests(self) -> int | None:
        """Requests of all levels; None when they go by time."""
        return None if self.seconds is not None else sum(max(self.requests, level) for level in self.levels)

    def prompt(self, number: int) -> str:
        """Return a prompt. No two begin alike, so that no engine answers from a cache of prefixes."""
        start = number % len(_WORDS)
        words = islice(cycle(_WORDS), start, start + max(0, self.prompt_tokens - FEWEST_PROMPT_TOKENS))
        return " ".join([f"Request {number}: tell a long story, in which these words are used.", *words])


def parse_levels(text: str) -> tuple[int, ...]:
    """Return the numbers of `1,2,4`.

    Raises:
        RefusedError: they are not rising numbers from 1 to 1024.
    """
    try:
        levels = tuple(int(part) for part in text.split(","))
    except ValueError:
        levels = ()
    if not levels or list(levels) != sorted(set(levels)) or not 1 <= levels[0] <= levels[-1] <= _MOST_AT_ONCE:
        raise RefusedError(f"--concurrency {text}: write rising numbers from 1 to {_MOST_AT_ONCE}, such as 1,2,4,8")
    return levels
