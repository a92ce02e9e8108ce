"""Shows what runs now: a moving line and a bar for each stack on a terminal, plain lines everywhere else."""

import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager

from rich.console import Console, Group
from rich.live import Live
from rich.markup import escape
from rich.text import Text

from slipway.terminal import Bar, bars, moves

_TITLE_WIDTH = 36
_WIDTH_OF_COLUMNS = 80
"""On a narrower terminal titles are not padded."""

PLAIN_SECONDS = 15.0
"""How often a phase that still runs says so where the line cannot move."""


class Progress:
    """The progress display of one run."""

    def __init__(self, console: Console) -> None:
        """Show on the console; lines move where they may (`slipway.terminal.moves`)."""
        self._console = console
        self._moving = moves(console)
        self._bars: Sequence[Bar] = ()
        self._live: Live | None = None
        self._title = self._detail = ""
        self._runs = False
        self._started = self._said = 0.0

    @contextmanager
    def phase(self, title: str) -> Iterator[None]:
        """Show that a phase runs, with the time it has taken so far."""
        self._title, self._detail, self._bars = title, "", ()
        self._started = self._said = time.monotonic()
        self._runs = True
        try:
            with self._moving_lines() if self._moving else self._plain_line():
                yield
        finally:
            self._runs = False

    @contextmanager
    def _plain_line(self) -> Iterator[None]:
        self._say(f"{self._title} ...")
        yield

    @contextmanager
    def _moving_lines(self) -> Iterator[None]:
        # No refreshing thread: child processes are forked while the line is up.
        live = Live(get_renderable=self._lines, console=self._console, transient=True, auto_refresh=False)
        with live:
            self._live = live
            try:
                yield
            finally:
                self._live = None

    def tick(self, detail: str | None = None, stacks: Sequence[Bar] = ()) -> None:
        """Show the time that the phase has taken; nothing while no phase runs.

        Args:
            detail: what the phase does at the moment, when there is something new.
            stacks: how far each stack is, likewise.
        """
        if not self._runs:
            return
        self._detail = detail or self._detail
        self._bars = stacks or self._bars
        if self._live is not None:
            self._live.refresh()
            return
        now = time.monotonic()
        if now - self._said >= PLAIN_SECONDS:
            self._said = now
            self._say(f"  {now - self._started:.0f} s  {self._detail}")

    def finished(self, outcome: str, title: str, seconds: float, detail: str) -> None:
        """Leave one line about a phase that is over; further lines of the detail are indented."""
        first, *more = detail.splitlines() or [""]
        style = {"passed": "green", "failed": "bold red"}.get(outcome, "yellow")
        width = _TITLE_WIDTH if self._console.width >= _WIDTH_OF_COLUMNS else 0
        self._console.print(
            f"[{style}]{outcome:<8}[/] {escape(title):<{width}} {seconds:6.1f} s  {escape(first)}",
            highlight=False,
            soft_wrap=True,
        )
        for line in more:
            self._say(f"         {line}")

    def _lines(self) -> Group:
        seconds = time.monotonic() - self._started
        line = Text(f"running  {self._title}  {seconds:.0f} s  {self._detail}", no_wrap=True, overflow="ellipsis")
        return Group(line, bars(self._bars, self._console.width))

    def _say(self, text: str) -> None:
        self._console.print(text, markup=False, highlight=False, soft_wrap=True)
