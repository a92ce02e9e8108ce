"""Shows what the judge does: a line for each step that is over, and on a terminal one that moves for each that runs."""

import time
from collections.abc import Iterator
from contextlib import contextmanager, nullcontext

from rich.console import Console, Group
from rich.live import Live
from rich.spinner import Spinner
from rich.text import Text

from slipway.terminal import moves


class Progress:
    """The display of one run. Environments are judged side by side, each by a thread."""

    def __init__(self, console: Console) -> None:
        """Show on a console, which should be standard error's: standard output has the report."""
        self._console = console
        self._running: dict[str, tuple[float, str, Spinner]] = {}
        # No refreshing thread: child processes are forked while the lines are up.
        self._live = Live(get_renderable=self._lines, console=console, transient=True, auto_refresh=False)

    @contextmanager
    def shown(self) -> Iterator[None]:
        """Show the steps."""
        with self._live if moves(self._console) else nullcontext():
            yield

    def stop(self) -> None:
        """Say that all stops. The steps that it ends leave no line: they did not take that time."""
        self._say("\nstopping")
        self._console.quiet = True

    def tick(self) -> None:
        """Show the time that has passed."""
        if self._live.is_started:
            self._live.refresh()

    @contextmanager
    def step(self, environment: str, what: str) -> Iterator[None]:
        """Show that a step of an environment runs, and leave a line with the time that it took."""
        began = time.monotonic()
        self._running[environment] = began, what, Spinner("dots")
        if not self._live.is_started:
            self._say(f"{environment}: {what} ...")
        try:
            yield
        finally:
            del self._running[environment]
            self._say(f"{environment}: {what}, {time.monotonic() - began:.1f} s")

    def _lines(self) -> Group:
        now = time.monotonic()
        running = list(self._running.items())
        for environment, (began, what, spinner) in running:
            spinner.update(text=Text(f"{environment}: {what}  {now - began:.0f} s"))
        return Group(*(spinner for _, (_, _, spinner) in running))

    def _say(self, text: str) -> None:
        self._console.print(text, markup=False, highlight=False, soft_wrap=True)
