"""The numbers of a load test: a table for people, JSON and CSV for machines, and lines while it runs."""

from __future__ import annotations

import csv
import io
from collections.abc import Iterator
from typing import Any

from rich import box
from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, TaskID, TextColumn, TimeElapsedColumn
from rich.progress import Progress as Bars
from rich.table import Table
from rich.text import Text

from slipway.operate.endpoint.load.measures import Level, Percentiles
from slipway.operate.endpoint.load.run import LoadTest
from slipway.terminal import Fitted, moves


class BarsOfLevels:
    """A bar for each level on a terminal, a line for each elsewhere."""

    def __init__(self, console: Console) -> None:
        self._console = console
        self._bars = Bars(
            TextColumn("{task.description}"),
            BarColumn(),
            MofNCompleteColumn(),
            TextColumn("{task.fields[errors]} errors"),
            TimeElapsedColumn(),
            console=console,
            transient=True,
            disable=not moves(console),
        )
        self._task = TaskID(0)
        self._errors = 0

    def __enter__(self) -> BarsOfLevels:
        """Show the bars."""
        self._bars.start()
        return self

    def __exit__(self, *_: object) -> None:
        """Take the bars away."""
        self._bars.stop()

    def begin(self, concurrency: int, requests: int | None, seconds: float | None) -> None:
        """Show a bar for a level."""
        self._errors = 0
        how_long = f" for {seconds:g} s" if seconds is not None else ""
        self._task = self._bars.add_task(f"{concurrency} at a time{how_long}", total=requests, errors=0)

    def answered(self, *, well: bool) -> None:
        """Move the bar on."""
        self._errors += not well
        self._bars.update(self._task, advance=1, errors=self._errors)

    def end(self, level: Level) -> None:
        """Say in a line that a level ended."""
        self._bars.remove_task(self._task)
        self._console.print(
            f"{level.concurrency} at a time: {level.requests} requests in {level.seconds:.1f} s, "
            f"{sum(level.errors.values())} errors, {level.all_tokens_per_second:.1f} tokens/s",
            highlight=False,
        )


def table(test: LoadTest) -> Table:
    """Return the numbers as a table, a row for each level."""
    found = Table(box=box.SIMPLE_HEAD, padding=0)
    for heading in (
        "at a\ntime",
        "requests",
        "errors",
        "requests\n/s",
        "tokens/s\nin all",
        "tokens/s\neach",
        "first token, s\np50/p90/p99",
        "per token, ms\np50/p90/p99",
    ):
        found.add_column(heading, justify="right", no_wrap=True)
    for level in test.levels:
        found.add_row(
            str(level.concurrency),
            str(level.requests),
            str(sum(level.errors.values())),
            _short(level.requests_per_second),
            _short(level.all_tokens_per_second),
            "-" if level.tokens_per_second is None else _short(level.tokens_per_second),
            _three(level.time_to_first_token, 1),
            _three(level.token_latency, 1000),
        )
    return found


def _three(percentiles: Percentiles | None, scale: float) -> str:
    if percentiles is None:
        return "-"
    return "/".join(_short(value * scale) for value in (percentiles.p50, percentiles.p90, percentiles.p99))


def _short(value: float) -> str:
    """Return a number with three digits that say something."""
    return f"{value:.{2 if value < 10 else 1 if value < 100 else 0}f}"


def notes(test: LoadTest) -> Iterator[str]:
    """Yield what must be known to read the numbers."""
    for level in test.levels:
        for kind, count in sorted(level.errors.items()):
            yield f"{level.concurrency} at a time: {count} requests failed: {kind}"
        if level.is_generator_late:
            yield (
                f"{level.concurrency} at a time: this computer was too busy to measure well, "
                f"{level.late * 1000:.0f} ms late (p99). It is the bottleneck: ask from a faster one, or with "
                "fewer at a time"
            )
    sources = sorted({level.counted_by for level in test.levels} - {"nothing"})
    if sources == ["usage"]:
        yield "tokens: counted by the engine (usage)"
    elif sources:
        yield "tokens: the engine does not always say how many; each chunk is counted as one token then"
    prompts = sum(level.prompt_tokens or 0 for level in test.levels)
    answered = sum(level.requests - sum(level.errors.values()) for level in test.levels)
    if prompts and answered:
        yield f"prompts: {prompts / answered:.0f} tokens on average, {test.plan.prompt_tokens} were wanted"
    if test.stopped:
        yield f"stopped: {test.stopped}"


def tell(console: Console, test: LoadTest) -> None:
    """Print the table and the notes."""
    console.print(Text(f"{test.target.base_url}, model {test.model}"), soft_wrap=True)
    console.print(Fitted(table(test)))
    for note in notes(test):
        console.print(Text(note), soft_wrap=True)


def document(test: LoadTest) -> dict[str, Any]:
    """Return the numbers as a mapping for JSON; times in seconds."""
    return {
        "base_url": test.target.base_url,
        "model": test.model,
        "prompt_tokens": test.plan.prompt_tokens,
        "max_tokens": test.plan.max_tokens,
        "levels": [{**_row(level), "errors_by_kind": dict(level.errors)} for level in test.levels],
        "stopped": test.stopped,
    }


def comma_separated(test: LoadTest) -> str:
    """Return the numbers as comma-separated values, a row for each level; times in seconds."""
    rows = [_row(level) for level in test.levels]
    text = io.StringIO()
    writer = csv.DictWriter(text, list(rows[0]) if rows else ["concurrency"], lineterminator="\n")
    writer.writeheader()
    writer.writerows(rows)
    return text.getvalue()


def _row(level: Level) -> dict[str, float | int | str | None]:
    return {
        "concurrency": level.concurrency,
        "seconds": level.seconds,
        "requests": level.requests,
        "errors": sum(level.errors.values()),
        "requests_per_second": level.requests_per_second,
        "tokens_per_second": level.all_tokens_per_second,
        "tokens_per_second_each": level.tokens_per_second,
        **_percentile_columns("time_to_first_token", level.time_to_first_token),
        **_percentile_columns("token_latency", level.token_latency),
        "generated_tokens": level.generated_tokens,
        "prompt_tokens": level.prompt_tokens,
        "counted_by": level.counted_by,
        "generator_late_seconds": level.late,
        "generator_is_bottleneck": level.is_generator_late,
    }


def _percentile_columns(name: str, percentiles: Percentiles | None) -> dict[str, float | None]:
    return {f"{name}_{share}": getattr(percentiles, share, None) for share in ("p50", "p90", "p99")}
