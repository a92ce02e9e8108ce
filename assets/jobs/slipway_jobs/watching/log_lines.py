"""The end of a stage's log, and what is added to it."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path
from time import sleep

BLOCK_BYTES = 64 * 1024
"""How much is read at once, backwards from the end."""


def last_lines(file: Path, lines: int) -> tuple[bytes, int]:
    """Return the last lines of a file and the position behind them.

    Raises:
        OSError: the file cannot be read.
    """
    with file.open("rb") as stream:
        end = start = stream.seek(0, 2)
        text = b""
        # One line more: the first one that is read may be half a line.
        while start > 0 and text.count(b"\n") <= lines:
            size = min(BLOCK_BYTES, start)
            start -= size
            stream.seek(start)
            text = stream.read(size) + text
    kept = text.splitlines(keepends=True)
    return b"".join(kept[max(0, len(kept) - lines) :]), end


def added(file: Path, position: int, ended: Callable[[], bool], pause_seconds: float = 1.0) -> Iterator[bytes]:
    """Give what is written to a file behind a position, until its writer has ended.

    Args:
        file: the file; it need not exist yet. One that has become shorter was written anew.
        position: where to begin, in bytes.
        ended: whether nothing will be written any more.
        pause_seconds: how long to wait before each look.

    Raises:
        OSError: the file cannot be read.
    """
    while True:
        # Asked before the file is read: what was written until then is read below.
        over = ended()
        if file.exists():
            with file.open("rb") as stream:
                if stream.seek(0, 2) < position:
                    position = 0
                stream.seek(position)
                while block := stream.read(BLOCK_BYTES):
                    position += len(block)
                    yield block
        if over:
            return
        sleep(pause_seconds)
