"""What a terminal may be sent: colours and moving lines only where they can be seen, tables that fit its width."""

import os
from collections.abc import Iterable, Iterator
from dataclasses import dataclass

from rich.console import Console, ConsoleOptions, RenderableType
from rich.measure import Measurement
from rich.progress_bar import ProgressBar
from rich.table import Table
from rich.text import Text

_BAR_WIDTH = 16
_WIDTH_OF_BARS = 72
"""A narrower terminal has the numbers alone."""

_UNLIMITED = 10_000


def screen(*, errors: bool = False, quiet: bool = False) -> Console:
    """Return a console that sends control characters to a terminal only, and none where `NO_COLOR` or a dumb one is.

    Args:
        errors: whether it is for standard error, where all progress goes: standard output may be read by a program.
        quiet: whether it prints nothing.
    """
    plain = bool(os.environ.get("NO_COLOR"))
    return Console(stderr=errors, quiet=quiet, color_system=None if plain else "auto")


def moves(console: Console) -> bool:
    """Return whether lines may move: on a terminal that shows control characters and is not a CI system's (`CI`)."""
    is_plain = console.is_dumb_terminal or os.environ.get("NO_COLOR") or os.environ.get("CI")
    return console.is_terminal and not is_plain


@dataclass(frozen=True)
class Bar:
    """How far one stack is.

    Attributes:
        name: its name.
        done: how many resources are done.
        total: of how many.
        state: in a word.
        is_over: whether nothing more is to come.
    """

    name: str
    done: int
    total: int
    state: Text
    is_over: bool


def bars(rows: Iterable[Bar], width: int) -> Table:
    """Return a line with a bar for each stack; a terminal of fewer than 72 columns shows the numbers alone."""
    table = Table.grid(padding=(0, 1))
    table.add_column(overflow="fold", ratio=1)
    for _ in range(3):
        table.add_column(no_wrap=True)
    for row in rows:
        table.add_row(
            Text(row.name), _bar(row) if width >= _WIDTH_OF_BARS else "", f"{row.done}/{row.total}", row.state
        )
    return table


def _bar(row: Bar) -> ProgressBar:
    is_full = row.is_over and row.total == 0
    return ProgressBar(
        total=row.total or 1, completed=1 if is_full else row.done, width=_BAR_WIDTH, finished_style="green"
    )


@dataclass(frozen=True)
class Fitted:
    """A table where it fits; else each row by itself, with a line for each cell, so that nothing is cut or torn."""

    table: Table

    def __rich_console__(self, console: Console, options: ConsoleOptions) -> Iterator[RenderableType]:
        """Yield the table or its rows; see rich's console protocol."""
        # Measured without a limit: with one, the least width that rich gives is never more than the limit.
        wanted = Measurement.get(console, options.update(width=_UNLIMITED), self.table).minimum
        if wanted <= options.max_width:
            yield self.table
            return
        if self.table.title:
            yield Text.from_markup(str(self.table.title), style=self.table.title_style or "table.title")
        headings = [str(column.header).replace("\n", " ") for column in self.table.columns]
        rows = [*zip(*(column.cells for column in self.table.columns), strict=True)]
        if self.table.show_footer:
            rows.append(tuple(column.footer for column in self.table.columns))
        for first, *others in rows:
            yield _cell(console, "", first)
            for heading, cell in zip(headings[1:], others, strict=True):
                if cell != "":
                    yield _cell(console, f"  {heading}: " if heading else "  ", cell)


def _cell(console: Console, before: str, cell: RenderableType) -> Text:
    text = console.render_str(cell) if isinstance(cell, str) else cell
    assert isinstance(text, Text), "Slipway's tables have texts only"
    joined = Text.assemble(before, text)
    joined.overflow = "fold"
    return joined
