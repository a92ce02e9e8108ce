"""What a terminal may be sent: colours and moving lines only where they can be seen, tables that fit its width."""

import os
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from rich.cells import cell_len
from rich.console import Console, ConsoleOptions, RenderableType
from rich.measure import Measurement
from rich.progress_bar import ProgressBar
from rich.table import Column, Table
from rich.text import Text

_BAR_WIDTH = 16
_WIDTH_OF_BARS = 72
"""A narrower terminal has the numbers alone."""

_UNLIMITED = 10_000
_INDENT = "  "
_WORD = re.compile(r"^[ ]*\S+|\S+", re.MULTILINE)
"""Rich does not part a line's first word from the spaces before it."""


def screen(*, errors: bool = False, quiet: bool = False) -> Console:
    """Return a console that sends control characters only to a capable terminal without `NO_COLOR`.

    Args:
        errors: whether it is for standard error, where all progress goes: standard output may be read by a program.
        quiet: whether it prints nothing.
    """
    plain = bool(os.environ.get("NO_COLOR"))
    # `:secret:` in the ARN of a secret is not an emoji.
    return Console(stderr=errors, quiet=quiet, color_system=None if plain else "auto", emoji=False)


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


def bars(rows: Sequence[Bar], width: int) -> Table:
    """Return a line with a bar for each stack; a terminal of fewer than 72 columns shows the numbers alone."""
    table = Table.grid(padding=(0, 1))
    if width < _WIDTH_OF_BARS:
        table.add_column(overflow="fold")
        longest = max((len(row.name) for row in rows), default=0)
        for row in rows:
            table.add_row(Text.assemble(f"{row.name:<{longest}} {row.done}/{row.total} ", row.state))
        return table
    table.add_column(overflow="fold", ratio=1)
    for _ in range(3):
        table.add_column(no_wrap=True)
    for row in rows:
        table.add_row(Text(row.name), _bar(row), f"{row.done}/{row.total}", row.state)
    return table


def _bar(row: Bar) -> ProgressBar:
    is_full = row.is_over and row.total == 0
    return ProgressBar(
        total=row.total or 1, completed=1 if is_full else row.done, width=_BAR_WIDTH, finished_style="green"
    )


@dataclass(frozen=True)
class Fitted:
    """A table that is printed once, so that no word is cut or torn; where it does not fit, a line for each cell.

    Attributes:
        table: the table.
        dense: where it does not fit, the cells of a row follow each other instead, for a table with many rows.
    """

    table: Table
    dense: bool = False

    def __rich_console__(self, console: Console, options: ConsoleOptions) -> Iterator[RenderableType]:
        """Yield the table or its rows; see rich's console protocol."""
        wanted = Measurement.get(console, options.update(width=_UNLIMITED), self.table)
        if wanted.maximum <= options.max_width:
            yield self.table
            return
        sizes = [_size(console, column) for column in self.table.columns]
        frame = wanted.maximum - sum(size.maximum for size in sizes)
        room = options.max_width - frame - sum(size.minimum for size in sizes)
        if room < 0:
            yield from self._dense_rows(console, options.max_width) if self.dense else self._rows(console)
            return
        # Rich itself makes the widest column narrow, whatever words are in it.
        for number, (column, size) in enumerate(
            sorted(zip(self.table.columns, sizes, strict=True), key=lambda pair: pair[1].span)
        ):
            more = min(size.span, room // (len(sizes) - number))
            column.width, room = size.minimum + more, room - more
        yield self.table

    def _rows(self, console: Console) -> Iterator[Text]:
        if self.table.title:
            yield console.render_str(str(self.table.title), style="table.title", overflow="fold")
        headings = [_text(console, column.header).plain.replace("\n", " ") for column in self.table.columns]
        rows = [*zip(*(column.cells for column in self.table.columns), strict=True)]
        if self.table.show_footer:
            rows.append(tuple(column.footer for column in self.table.columns))
        for cells in rows:
            for number, (heading, cell) in enumerate(zip(headings, cells, strict=True)):
                before = f"  {heading}: " if number and heading else "  " if number else ""
                line = Text.assemble(before, _text(console, cell))
                line.overflow = "fold"
                yield line

    def _dense_rows(self, console: Console, width: int) -> Iterator[Text]:
        """Yield each row as words that wrap; what goes on in the next line is indented there."""
        for cells in zip(*(column.cells for column in self.table.columns), strict=True):
            words = Text("  ").join(text for cell in cells if (text := _text(console, cell)))
            first, *others = words.wrap(console, width - len(_INDENT), overflow="fold")
            yield first
            yield from (Text.assemble(_INDENT, line) for line in others)


def _size(console: Console, column: Column) -> Measurement:
    """Measure a column: its longest word, or its longest line where it must not be wrapped; and its longest line."""
    texts = [_text(console, cell).plain for cell in (column.header, *column.cells, column.footer)]
    longest = max(cell_len(line) for text in texts for line in text.split("\n"))
    words = [cell_len(word) for text in texts for word in _WORD.findall(text)]
    return Measurement(longest if column.no_wrap else max(words, default=0), longest)


def _text(console: Console, cell: RenderableType) -> Text:
    text = console.render_str(cell) if isinstance(cell, str) else cell
    assert isinstance(text, Text), "the cells of Slipway's tables are texts"
    return text
