"""What a deployment shows: a line with a bar for each stack on a terminal, a line for each event everywhere else."""

import time
from collections.abc import Iterable, Iterator
from contextlib import contextmanager

from rich.console import Console, Group
from rich.live import Live
from rich.text import Text

from slipway.assembly.cdk_cli import cut
from slipway.aws.stacks import StackEvent
from slipway.catalogue import create_seconds
from slipway.operate.deploy.watch import StackProgress, Watch
from slipway.review.report.wording import duration
from slipway.terminal import Bar, bars, moves

LONG_SECONDS = 120
"""A resource that takes longer than this on average has lines of its own where nothing moves."""

_WORDS = {
    "": "waits",
    "REVIEW_IN_PROGRESS": "being reviewed",
    "CREATE_IN_PROGRESS": "being created",
    "UPDATE_IN_PROGRESS": "being updated",
    "UPDATE_COMPLETE_CLEANUP_IN_PROGRESS": "being cleaned up",
    "DELETE_IN_PROGRESS": "being deleted",
    "CREATE_COMPLETE": "created",
    "UPDATE_COMPLETE": "updated",
}


class Display:
    """Shows one deployment."""

    def __init__(self, console: Console, watch: Watch) -> None:
        """Show on a console; lines move where they may (`slipway.terminal.moves`)."""
        self._console = console
        self._watch = watch
        self._moving = moves(console)
        self._live: Live | None = None
        self._began = time.monotonic()
        self.silence = ""

    @contextmanager
    def shown(self) -> Iterator[None]:
        """Show the deployment; its last state stays."""
        if not self._moving:
            yield
            return
        with Live(get_renderable=self._table, console=self._console, auto_refresh=False) as live:
            self._live = live
            try:
                yield
            finally:
                live.refresh()
                self._live = None

    def news(self, events: Iterable[StackEvent]) -> None:
        """Show what happened, and the time that has passed."""
        if self._live is not None:
            self._live.refresh()
            return
        for event in events:
            if event.is_stack or event.is_failure or (create_seconds(event.type) or 0) > LONG_SECONDS:
                self._console.print(_line(event), markup=False, highlight=False, soft_wrap=True)

    @property
    def elapsed(self) -> str:
        """How long the deployment has taken."""
        return duration(round(time.monotonic() - self._began) or 1)

    def _table(self) -> Group:
        rows = [Bar(stack.name, stack.done, stack.total, _state(stack), stack.is_done) for stack in self._watch.stacks]
        return Group(bars(rows, self._console.width), Text(self._summary(), style="dim"))

    def _summary(self) -> str:
        left = self._watch.seconds_left
        said = f"{self.elapsed} so far, about {duration(left)} left, ${self._watch.usd_so_far:.2f} by list prices"
        return f"{said}; {self.silence}" if self.silence else said


def _state(stack: StackProgress) -> Text:
    if not stack.begun and not stack.changed:
        return Text("unchanged", style="dim")
    if not stack.begun and stack.status.endswith("_COMPLETE"):
        return Text("waits")
    bad = "ROLLBACK" in stack.status or "FAILED" in stack.status
    word = "rolled back" if stack.status.endswith("ROLLBACK_COMPLETE") else "fails, rolls back" if bad else None
    style = "bold red" if bad else "green" if stack.is_done else ""
    return Text(word or _WORDS.get(stack.status, stack.status.lower().replace("_", " ")), style=style)


def _line(event: StackEvent) -> str:
    what = event.stack if event.is_stack else f"{event.stack}/{event.logical_id} ({event.type})"
    reason = f": {cut(event.reason)}" if event.reason and "FAILED" in event.status else ""
    return f"{event.time:%H:%M:%S}  {event.status:<20} {what}{reason}"
