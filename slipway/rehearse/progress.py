"""Shows what runs now: one moving line on a terminal, plain lines everywhere else."""

import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager

from rich.console import Console
from rich.live import Live
from rich.markup import escape
from rich.text import Text

PLAIN_SECONDS = 15.0
"""How often a phase that still runs says so where the line cannot move."""


class Progress:
    """The progress display of one run."""

    def __init__(self, console: Console, variables: Mapping[str, str]) -> None:
        """Show on the console; the line moves only on a terminal that is not a CI system's (variable `CI`)."""
        self._console = console
        self._moving = console.is_terminal and not console.is_dumb_terminal and not variables.get("CI")
        self._live: Live | None = None
        self._title = self._detail = ""
        self._started = self._said = 0.0

    @contextmanager
    def phase(self, title: str) -> Iterator[None]:
        """Show that a phase runs, with the time it has taken so far."""
        self._title, self._detail = title, ""
        self._started = self._said = time.monotonic()
        if not self._moving:
            self._say(f"{title} ...")
            yield
            return
        # No refreshing thread: child processes are forked while the line is up.
        live = Live(get_renderable=self._line, console=self._console, transient=True, auto_refresh=False)
        with live:
            self._live = live
            try:
                yield
            finally:
                self._live = None

    def tick(self, detail: str | None = None) -> None:
        """Show the time that has passed and, when there is something new, what the phase does at the moment."""
        self._detail = detail or self._detail
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
        self._console.print(
            f"[{style}]{outcome:<8}[/] {escape(title):<44} {seconds:6.1f} s  {escape(first)}",
            highlight=False,
            soft_wrap=True,
        )
        for line in more:
            self._say(f"         {line}")

    def _line(self) -> Text:
        seconds = time.monotonic() - self._started
        return Text(f"running  {self._title}  {seconds:.0f} s  {self._detail}", no_wrap=True, overflow="ellipsis")

    def _say(self, text: str) -> None:
        self._console.print(text, markup=False, highlight=False, soft_wrap=True)
