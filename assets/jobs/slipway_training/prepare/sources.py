"""The files of text, and the parts of them that processes read at the same time."""

from __future__ import annotations

import hashlib
from dataclasses import dataclass
from pathlib import Path

from pyarrow import parquet

from slipway_training.data.manifest import SourceFile

PART_BYTES = 64 * 2**20
"""Bytes of a part. Parts decide what lies in which shard, so their size must not depend on the machine."""

_END_BYTES = 64 * 2**10


@dataclass(frozen=True)
class Part:
    """A piece of one file, a few minutes of work for one process."""

    file: Path
    """The file."""

    start: int
    """Where it begins: a byte, or for Parquet a row group."""

    end: int
    """Where the next part begins."""


def parts_of(file: Path) -> list[Part]:
    """Divide a file into parts: .jsonl and .txt by bytes, Parquet by row groups, which are of a like size.

    Raises:
        OSError: it cannot be read.
        pyarrow.ArrowInvalid: a .parquet file is none.
    """
    if file.suffix == ".parquet":
        groups = parquet.ParquetFile(file).metadata.num_row_groups
        return [Part(file, group, group + 1) for group in range(groups)]
    size = file.stat().st_size
    return [Part(file, start, min(start + PART_BYTES, size)) for start in range(0, size, PART_BYTES)]


def describe(file: Path) -> SourceFile:
    """Return what tells a file from a changed one.

    Raises:
        OSError: it cannot be read.
    """
    size = file.stat().st_size
    checksum = hashlib.sha256()
    with file.open("rb") as stream:
        checksum.update(stream.read(_END_BYTES))
        stream.seek(max(0, size - _END_BYTES))
        checksum.update(stream.read(_END_BYTES))
    return SourceFile(path=str(file), size=size, ends=checksum.hexdigest())


def changes(before: tuple[SourceFile, ...], now: list[SourceFile]) -> list[str]:
    """Say which files are new, gone or changed; nothing when all are the same."""
    old, new = ({source.path: source for source in sources} for sources in (before, now))
    found = [f"{path} is new" for path in new if path not in old]
    found += [f"{path} is gone" for path in old if path not in new]
    for path in sorted(old.keys() & new.keys()):
        if old[path].size != new[path].size:
            found.append(f"{path} has {new[path].size} bytes, it had {old[path].size}")
        elif old[path].ends != new[path].ends:
            found.append(f"{path} has other text than before")
    return found
