"""The checks' report: lines for people as they come, and a document for machines."""

from __future__ import annotations

import textwrap
from collections.abc import Iterator, Sequence
from typing import Any

from rich.console import Console
from rich.text import Text

from slipway.operate.endpoint.check.verdicts import Outcome, Result
from slipway.operate.endpoint.target import Target

_STYLES = {Result.OK: "green", Result.FAILED: "bold red", Result.SKIPPED: "dim"}
_INDENT = 34


def tell_target(console: Console, target: Target) -> None:
    """Print which target the next lines are about."""
    console.print(Text(f"{target.name}: {target.base_url}"), soft_wrap=True)


def tell(console: Console, outcome: Outcome) -> None:
    """Print the lines of one outcome."""
    verdict = outcome.verdict
    seconds = "" if outcome.seconds is None else f"{outcome.seconds:.2f} s"
    head = Text.assemble((f"{verdict.result:<8}", _STYLES[verdict.result]), f"{outcome.check:<16}{seconds:>8}  ")
    for first, line in _lines(verdict.found, verdict.advice, console.width):
        console.print(head if first else Text(" " * _INDENT), Text(line), sep="", soft_wrap=True)


def _lines(found: str, advice: str, width: int) -> Iterator[tuple[bool, str]]:
    room = max(40, width - _INDENT)
    first, *rest = textwrap.wrap(found, room, break_long_words=False, break_on_hyphens=False) or [""]
    yield True, first
    yield from ((False, line) for line in rest)
    for line in textwrap.wrap(advice, room, initial_indent="-> ", subsequent_indent="   ", break_on_hyphens=False):
        yield False, line


def document(results: Sequence[tuple[Target, Sequence[Outcome]]]) -> dict[str, Any]:
    """Return the report as a mapping for JSON."""
    return {
        "ok": not has_failed(results),
        "endpoints": [
            {
                "name": target.name,
                "base_url": target.base_url,
                "authentication": target.authentication,
                "checks": [
                    {
                        "check": outcome.check,
                        "result": outcome.verdict.result.value.lower(),
                        "seconds": outcome.seconds,
                        "found": outcome.verdict.found,
                        "advice": outcome.verdict.advice,
                    }
                    for outcome in outcomes
                ],
            }
            for target, outcomes in results
        ],
    }


def has_failed(results: Sequence[tuple[Target, Sequence[Outcome]]]) -> bool:
    """Return whether any check failed."""
    return any(outcome.verdict.result is Result.FAILED for _, outcomes in results for outcome in outcomes)
