"""What a check says."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum

from slipway.operate.endpoint.http_client import Trouble


class Result(StrEnum):
    """How a check ended."""

    OK = "OK"
    FAILED = "FAILED"
    SKIPPED = "skipped"


@dataclass(frozen=True)
class Verdict:
    """What a check found.

    Attributes:
        result: how it ended.
        found: what was seen.
        advice: what to do about it; empty when there is nothing to do.
    """

    result: Result
    found: str
    advice: str = ""


@dataclass(frozen=True)
class Outcome:
    """A check and what it found.

    Attributes:
        check: its name.
        verdict: what it found.
        seconds: how long it took; None when it was skipped.
    """

    check: str
    verdict: Verdict
    seconds: float | None


def ok(found: str) -> Verdict:
    """Return that all is as it must be."""
    return Verdict(Result.OK, found)


def failed(found: str, advice: str) -> Verdict:
    """Return a finding, with what to do about it."""
    return Verdict(Result.FAILED, found, advice)


def failed_for(trouble: Trouble) -> Verdict:
    """Return that an answer did not come, or was none."""
    return failed(trouble.found, trouble.advice)


def skipped(why: str) -> Verdict:
    """Return that it was not asked, and why."""
    return Verdict(Result.SKIPPED, why)
