"""Folders that are either whole or not there: built beside, `done` last, then renamed."""

from __future__ import annotations

import os
import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

DONE = "done"
"""Empty file that is written last into a folder."""


@contextmanager
def finished_folder(directory: Path) -> Iterator[Path]:
    """Give a folder to write into; it gets its name, with `done` in it, when the block ends without an error.

    A process that is killed leaves `.NAME.unfinished` beside, which the next one removes. A folder that has the name
    already is replaced: what it may hold is for the caller to judge before.

    Args:
        directory: the name that the folder gets. Folders above are made.

    Yields:
        The folder to write into.

    Raises:
        OSError: it cannot be written.
    """
    directory.parent.mkdir(parents=True, exist_ok=True)
    unfinished = directory.with_name(f".{directory.name}.unfinished")
    replaced = directory.with_name(f".{directory.name}.replaced")
    if replaced.exists() and not directory.exists():
        replaced.rename(directory)  # killed between the two renames below
    for leftover in (unfinished, replaced):
        shutil.rmtree(leftover, ignore_errors=True)
    unfinished.mkdir()
    try:
        yield unfinished
        (unfinished / DONE).touch()
        _sync(unfinished)
        if directory.exists():
            directory.rename(replaced)
        unfinished.rename(directory)
        _sync(directory.parent)
    except BaseException:
        shutil.rmtree(unfinished, ignore_errors=True)
        raise
    shutil.rmtree(replaced, ignore_errors=True)


def _sync(directory: Path) -> None:
    """Bring a folder's entries to the disk."""
    descriptor = os.open(directory, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)
