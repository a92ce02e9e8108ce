"""How long training stands still after a failure, and what that costs."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from statistics import fmean, quantiles


@dataclass(frozen=True)
class Recovery:
    """One failure of a training.

    Attributes:
        way: what happened.
        seconds: from then to the end of the next step.
        steps_lost: steps that had been taken and were taken again.
        usd: what the instances cost meanwhile by their list prices, in US dollars.
    """

    way: str
    seconds: float
    steps_lost: int
    usd: float


def recovery_rows(recoveries: Sequence[Recovery]) -> Iterator[str]:
    """Yield a table of failures by what happened, with what they cost a training.

    Args:
        recoveries: at least two of each way.
    """
    yield "| what happens | times | seconds to the next step: p50 | p95 | steps taken again: p50 | p95 | dollars: p50 |"
    yield "|---|---|---|---|---|---|---|"
    by_way: dict[str, list[Recovery]] = {}
    for recovery in sorted(recoveries, key=lambda one: one.way):
        by_way.setdefault(recovery.way, []).append(recovery)
    for way, of_way in [*by_way.items(), ("all", list(recoveries))]:
        seconds, steps = _p50_p95(one.seconds for one in of_way), _p50_p95(one.steps_lost for one in of_way)
        usd, _ = _p50_p95(one.usd for one in of_way)
        yield (
            f"| {way} | {len(of_way)} | {seconds[0]:.0f} | {seconds[1]:.0f} | {steps[0]:.0f} | {steps[1]:.0f} "
            f"| {usd:.2f} |"
        )
    yield ""
    stands_still = fmean(one.seconds for one in recoveries)
    yield (
        f"With one such failure an hour, training takes steps for {1 - stands_still / 3600:.1%} of the time; with one "
        f"a day, for {1 - stands_still / 86400:.2%}."
    )
    yield ""


def _p50_p95(values: Iterator[float]) -> tuple[float, float]:
    found = quantiles(values, n=20, method="inclusive")
    return found[9], found[18]
