"""A file of somebody else's, by its size and checksum, and how often it is asked for."""

from __future__ import annotations

import hashlib
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

TRIES = 5
"""How often a file is asked for when the network fails."""

_READ_BYTES = 8 * 2**20


@dataclass(frozen=True)
class Checksum:
    """What a file's content is compared with.

    Attributes:
        algorithm: `sha256`; `git-sha1`, as Git computes it; `md5`; `md5-of-parts`, the MD5 of the MD5s of the parts
            that an object was uploaded in; `none` where the other side names no checksum that can be computed here.
        value: hexadecimal.
        part_bytes: bytes of a part.
    """

    algorithm: Literal["sha256", "git-sha1", "md5", "md5-of-parts", "none"]
    value: str = ""
    part_bytes: int = 0

    def __str__(self) -> str:
        """Return algorithm and value."""
        return f"{self.algorithm}:{self.value}" if self.value else self.algorithm

    def is_of(self, path: Path) -> bool:
        """Tell whether a file has this content; it is read to its end."""
        if self.algorithm == "none":
            return True
        if self.algorithm == "md5-of-parts":
            return _of_parts(path, self.part_bytes) == self.value
        begin = f"blob {path.stat().st_size}\0".encode() if self.algorithm == "git-sha1" else b""
        digest = hashlib.new(self.algorithm.removeprefix("git-"), begin, usedforsecurity=False)
        with path.open("rb") as stream:
            while block := stream.read(_READ_BYTES):
                digest.update(block)
        return digest.hexdigest() == self.value


@dataclass(frozen=True)
class RemoteFile:
    """A file.

    Attributes:
        name: its path below what is fetched.
        size: bytes.
        checksum: of its content.
    """

    name: str
    size: int
    checksum: Checksum

    def is_at(self, path: Path) -> bool:
        """Tell whether a file has this content; it is read to its end."""
        return path.is_file() and path.stat().st_size == self.size and self.checksum.is_of(path)


def bring(
    file: RemoteFile,
    path: Path,
    get: Callable[[], None],
    *,
    may_pass: Callable[[Exception], bool],
    tell: Callable[[str], None],
) -> bool:
    """Have a file written until it has the right content, and return whether it has.

    Args:
        file: the file.
        path: where it goes; what is there with the right content stays.
        get: fetches it; it goes on with what an earlier call has left.
        may_pass: tells whether an error may be gone with the next try.
        tell: called with a line of progress.

    Raises:
        Exception: the last error of `get`.
    """
    for attempt in range(1, TRIES + 1):
        if file.is_at(path):
            return True
        # What has another content is an earlier attempt's, and would be taken for complete.
        path.unlink(missing_ok=True)
        try:
            get()
        except Exception as error:
            if attempt == TRIES or not may_pass(error):
                raise
            tell(f"{file.name}: {type(error).__name__}, try {attempt} of {TRIES}")
            time.sleep(min(60, 5 * 2 ** (attempt - 1)))
    if file.is_at(path):
        return True
    path.unlink(missing_ok=True)
    return False


def _of_parts(path: Path, part_bytes: int) -> str:
    """Return the MD5 of the parts' MD5s, as an ETag has it without the number of parts."""
    parts = b""
    with path.open("rb") as stream:
        while part := stream.read(part_bytes):
            parts += hashlib.md5(part, usedforsecurity=False).digest()
    return hashlib.md5(parts, usedforsecurity=False).hexdigest()
