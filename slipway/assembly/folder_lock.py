"""Keeps two commands that run at the same time out of each other's folder."""

import fcntl
from pathlib import Path
from typing import IO


class FolderTakenError(Exception):
    """Another command works in the folder; the message is for the user."""


def lock(directory: Path) -> IO[str]:
    """Take a folder for this process, and make the folders above it. The folder itself need not exist.

    Args:
        directory: the folder. Its lock is the file beside it that ends in `.lock`.

    Returns:
        The open lock. Closing it releases the folder; the system does that too, however the process ends.

    Raises:
        FolderTakenError: another command works in it.
    """
    directory.parent.mkdir(parents=True, exist_ok=True)
    file = directory.with_name(f"{directory.name}.lock").open("w", encoding="utf-8")
    try:
        fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError as taken:
        file.close()
        raise FolderTakenError(f"the same command already works in {directory}: wait until it ends") from taken
    return file
