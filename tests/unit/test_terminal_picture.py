"""What a terminal shows of a real program that moves its lines."""

import os
import subprocess
import sys
from pathlib import Path

import pytest
from rich.text import Text

from tests.terminal_picture import drawn, screens

MOVING = """
from rich.console import Console
from rich.live import Live
console = Console()
console.print("before")
with Live(console=console, auto_refresh=False) as live:
    for step in range(3):
        live.update(f"[green]one {step}[/]\\ntwo {step}", refresh=True)
console.print("after")
"""


def test_lines_that_move_are_those_of_the_last_step(tmp_path: Path) -> None:
    shown = screens([sys.executable, "-c", MOVING], tmp_path, {**os.environ, "CI": "1", "NO_COLOR": "1"}, 60)

    last = [Text.from_ansi(line).plain for line in shown[-1] if line]
    assert last == ["before", "one 2", "two 2", "after"]
    assert any("\x1b[32m" in line for line in shown[-1]), "with its colours"


def test_a_picture_has_the_lines_and_asks_for_no_font() -> None:
    picture = drawn(["\x1b[32mone\x1b[0m", "x" * 25, "three"], title="slipway deploy", width=20, rows=3)

    assert "one" in picture
    assert f">{'x' * 20}<" in picture
    assert f">{'x' * 5}<" in picture
    assert "three" not in picture
    assert "font-face" not in picture


def test_a_program_that_fails_makes_no_picture(tmp_path: Path) -> None:
    with pytest.raises(subprocess.CalledProcessError, match="status 3") as failed:
        screens([sys.executable, "-c", "print('why'); raise SystemExit(3)"], tmp_path, os.environ, 60)

    assert failed.value.output.strip() == "why"
