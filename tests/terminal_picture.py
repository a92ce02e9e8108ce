"""Pictures of a terminal: what a command showed there, drawn as SVG."""

import os
import pty
import re
import subprocess
from collections.abc import Mapping, Sequence
from io import StringIO
from pathlib import Path

from rich._export_format import CONSOLE_SVG_FORMAT
from rich.console import Console
from rich.text import Text

_CONTROL = re.compile(r"\r|\n|\x1b\[(\d*)A|\x1b\[\d*K|\x1b\[\?25[lh]")
"""What moves the cursor or erases, as rich writes it; colours stay in the text."""

Lines = tuple[str, ...]
"""A screen: its lines from the first on, with their colours."""


def screens(command: Sequence[str | Path], folder: Path, variables: Mapping[str, str], width: int) -> list[Lines]:
    """Run a command on a terminal and return what it showed: each screen that differs from the one before.

    Args:
        command: the program and its arguments.
        folder: where it runs.
        variables: its environment variables.
        width: columns of the terminal.

    Raises:
        subprocess.CalledProcessError: it ended with another code than 0.
    """
    terminal, end = pty.openpty()
    shown = {name: value for name, value in variables.items() if name not in ("CI", "NO_COLOR")}
    shown |= {"TERM": "xterm-256color", "COLORTERM": "truecolor", "COLUMNS": str(width), "LINES": "60"}
    with subprocess.Popen(command, cwd=folder, env=shown, stdin=end, stdout=end, stderr=end) as process:
        os.close(end)
        found: list[Lines] = []
        said = b""
        while part := _read(terminal):
            said += part
            screen = _screen(said.decode(errors="replace"))
            if not found or found[-1] != screen:
                found.append(screen)
    os.close(terminal)
    if process.returncode:
        raise subprocess.CalledProcessError(process.returncode, list(map(str, command)), "\n".join(found[-1]))
    return found


def _read(terminal: int) -> bytes:
    try:
        return os.read(terminal, 65536)
    except OSError:  # the other end is closed
        return b""


def _screen(said: str) -> Lines:
    """Return the lines that a terminal shows after it was told all this."""
    lines, row, begins, position = [""], 0, False, 0
    for control in (*_CONTROL.finditer(said), None):
        if text := said[position : control.start() if control else None]:
            lines[row] = text if begins else lines[row] + text
            begins = False
        if control is None:
            break
        position = control.end()
        match control[0][-1]:
            case "\r":
                begins = True
            case "\n":
                row, begins = row + 1, False
                lines += [""] * (row + 1 - len(lines))
            case "A":
                row = max(0, row - int(control[1] or 1))
            case "K":
                lines[row] = ""
    return tuple(lines)


def drawn(lines: Sequence[str], *, title: str, width: int, rows: int | None = None) -> str:
    """Return lines with their colours as the picture of a terminal, long ones wrapped.

    Args:
        lines: what the terminal shows.
        title: of its window.
        width: columns.
        rows: height of the terminal; the rest is below its end. None shows all.
    """
    screen = Console(record=True, width=width, file=StringIO(), force_terminal=True, color_system="truecolor")
    for line in Text.from_ansi("\n".join(lines)).wrap(screen, width)[:rows]:
        screen.print(line, soft_wrap=True)
    # Without its @font-face: a page that shows the picture asks no other server for a font.
    format_ = re.sub(r" *@font-face \{\{.*?\}\}\n", "", CONSOLE_SVG_FORMAT, flags=re.DOTALL)
    return screen.export_svg(title=title, unique_id=title.split()[1], code_format=format_)
