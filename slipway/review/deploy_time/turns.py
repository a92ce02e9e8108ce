"""When each stack has its turn, as the CDK CLI deploys them: so many at once, each after all that it depends on."""

from collections.abc import Mapping, Set
from dataclasses import dataclass


@dataclass(frozen=True)
class Turn:
    """One stack's part of a deployment, in seconds from its beginning."""

    start: int
    finish: int

    after: str | None
    """The stack that it had to wait for; None when it began at once."""


def take_turns(seconds: Mapping[str, int], waits: Mapping[str, Set[str]], at_once: int) -> dict[str, Turn]:
    """Return the turn of each stack.

    Whenever one is done, those that can begin do so in the order of `seconds`, until `at_once` run.

    Args:
        seconds: how long each stack takes.
        waits: what each stack depends on, without a circle.
        at_once: how many may run at a time, 1 or more: `cdk deploy --concurrency`.
    """
    turns: dict[str, Turn] = {}
    done: list[str] = []
    while len(done) < len(seconds):
        now = turns[done[-1]].finish if done else 0
        running = turns.keys() - set(done)
        ready = [name for name in seconds if name not in turns and waits[name] <= set(done)]
        for name in ready[: at_once - len(running)]:
            turns[name] = Turn(now, now + seconds[name], _last(done, turns, waits[name]))
        done.append(min((name for name in turns if name not in done), key=lambda name: turns[name].finish))
    return turns


def _last(done: list[str], turns: Mapping[str, Turn], waits: Set[str]) -> str | None:
    """Return what was done last, of several at the same moment rather one that the stack depends on."""
    if not done:
        return None
    now = turns[done[-1]].finish
    return next((name for name in done if name in waits and turns[name].finish == now), done[-1])
