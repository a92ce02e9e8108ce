"""The compile cache that a user's jobs share: a node's own folder is filled from /fsx, and copied back afterwards.

Compilers lock files, which shared file systems do badly (Neuron's documentation warns of NFS, EFS and FSx): so each
host compiles on its local disk. A compiled graph is a program, so each user has a cache of their own, in a folder that
only they can write to. In a bucket, whose objects have no owner, any job could replace it.

What is copied is what is complete:

* framework `xla`: a folder `MODULE_*`, once it holds `model.done` (the last file that the compiler writes);
* framework `native`: a file `*.neff`, which torch-neuronx writes below another name and renames.

Both are named for what they were compiled from, so two hosts never disagree about an entry.

    python -m slipway_jobs.chain.compile_cache fetch|store FOLDER SHARED_FOLDER
"""

from __future__ import annotations

import os
import shutil
import sys
from collections.abc import Iterable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path, PurePosixPath
from tempfile import mkdtemp

MARK = "model.done"
"""File that says that a module is compiled."""

WORK_PREFIX = ".copying-"
"""What the names of folders begin with while files are copied into them."""

SIDE_BY_SIDE = 16
"""Entries copied at the same time."""

Entries = dict[PurePosixPath, set[PurePosixPath]]
"""Complete entries: their paths below the cache, and those of their files."""


def complete_entries(files: Iterable[PurePosixPath]) -> Entries:
    """Pick the complete entries out of a cache's files, whose paths count from the cache."""
    entries: Entries = {}
    for file in files:
        if any(part.startswith(WORK_PREFIX) for part in file.parts):
            continue
        module = next((folder for folder in file.parents if folder.name.startswith("MODULE_")), None)
        if module is not None:
            entries.setdefault(module, set()).add(file)
        elif file.suffix == ".neff":
            entries[file] = {file}
    return {entry: members for entry, members in entries.items() if entry.suffix == ".neff" or entry / MARK in members}


def copy_entries(source: Path, target: Path) -> int:
    """Copy the complete entries that a cache lacks from another one and return their number.

    An entry appears in one move; one that cannot be read stays away, and is compiled again.

    Raises:
        OSError: a file cannot be read or written.
    """
    there = complete_entries(_files(source))
    missing = {entry: there[entry] for entry in there.keys() - complete_entries(_files(target)).keys()}
    target.mkdir(parents=True, exist_ok=True)
    work = Path(mkdtemp(prefix=WORK_PREFIX, dir=target))

    def copy(entry: PurePosixPath) -> None:
        for file in missing[entry]:
            (work / file).parent.mkdir(parents=True, exist_ok=True)
            shutil.copyfile(source / file, work / file)
        _put(work / entry, target / entry)

    try:
        with ThreadPoolExecutor(SIDE_BY_SIDE) as pool:
            for _ in pool.map(copy, missing):
                pass
    finally:
        shutil.rmtree(work, ignore_errors=True)
    return len(missing)


def _put(new: Path, place: Path) -> None:
    """Move an entry to its place, unless another node was first."""
    if place.is_dir() and not (place / MARK).exists():
        # Left by a compilation that ended half-way.
        shutil.rmtree(place)
    place.parent.mkdir(parents=True, exist_ok=True)
    try:
        new.rename(place)
    except OSError:
        if not (place / MARK).exists():
            raise


def _files(cache: Path) -> Iterable[PurePosixPath]:
    for folder, _, names in os.walk(cache):
        for name in names:
            yield PurePosixPath((Path(folder) / name).relative_to(cache).as_posix())


def main(arguments: list[str]) -> int:
    """Copy in one direction; say how much, or why not (status 1: the job goes on without)."""
    direction, folder, shared = arguments
    source, target = {"fetch": (shared, folder), "store": (folder, shared)}[direction]
    try:
        number = copy_entries(Path(source), Path(target))
    except OSError as error:
        print(f"warning: compile cache: {direction} {shared}: {error}", file=sys.stderr)
        return 1
    print(f"compile cache: {direction} {shared}: {number} new entries")
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
