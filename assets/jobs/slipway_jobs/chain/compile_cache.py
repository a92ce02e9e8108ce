"""The compile cache that hosts share: a host's own folder is filled from S3 before a job, and copied back afterwards.

Compilers lock files, which shared file systems do badly (Neuron's documentation warns of NFS, EFS and FSx): so each
host compiles on its local disk. What is copied is what is complete:

* framework `xla`: a folder `MODULE_*`, once it holds `model.done` (the last file that the compiler writes);
* framework `native`: a file `*.neff`, which torch-neuronx writes below another name and renames.

Both are named for what they were compiled from, so two hosts never disagree about an entry.

    python -m slipway_jobs.chain.compile_cache fetch|store FOLDER s3://BUCKET/PREFIX
"""

from __future__ import annotations

import os
import shutil
import sys
from collections.abc import Callable, Iterable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path, PurePosixPath
from tempfile import mkdtemp
from typing import Any

import boto3
from botocore.exceptions import BotoCoreError, ClientError

S3Client = Any
"""boto3's client of S3, whose class is made at run time."""

MARK = "model.done"
"""File that says that a module is compiled."""

WORK_PREFIX = ".fetching-"
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


def fetch(cache: Path, s3: S3Client, bucket: str, prefix: str) -> int:
    """Copy the complete entries that a host lacks from S3 and return their number.

    An entry appears in one move; one that cannot be read stays away, and is compiled again.

    Raises:
        OSError: the folder cannot be written to.
        BotoCoreError, ClientError: S3 does not answer, or refuses.
    """
    there = complete_entries(_keys(s3, bucket, prefix))
    missing = {entry: there[entry] for entry in there.keys() - complete_entries(_files(cache)).keys()}
    cache.mkdir(parents=True, exist_ok=True)
    work = Path(mkdtemp(prefix=WORK_PREFIX, dir=cache))
    try:

        def copy(entry: PurePosixPath) -> None:
            for file in missing[entry]:
                target = work / file
                target.parent.mkdir(parents=True, exist_ok=True)
                s3.download_file(bucket, f"{prefix}{file}", str(target))
            place = cache / entry
            if place.is_dir():
                # Left by a compilation that ended half-way.
                shutil.rmtree(place)
            place.parent.mkdir(parents=True, exist_ok=True)
            (work / entry).rename(place)

        _side_by_side(copy, missing)
    finally:
        shutil.rmtree(work, ignore_errors=True)
    return len(missing)


def store(cache: Path, s3: S3Client, bucket: str, prefix: str) -> int:
    """Copy the complete entries that S3 lacks from a host, each one's mark last, and return their number.

    Raises:
        BotoCoreError, ClientError: S3 does not answer, or refuses.
        OSError: a file cannot be read.
    """
    here = complete_entries(_files(cache))
    missing = {entry: here[entry] for entry in here.keys() - complete_entries(_keys(s3, bucket, prefix)).keys()}

    def copy(entry: PurePosixPath) -> None:
        for file in sorted(missing[entry], key=lambda file: file.name == MARK):
            s3.upload_file(str(cache / file), bucket, f"{prefix}{file}")

    _side_by_side(copy, missing)
    return len(missing)


def _side_by_side(copy: Callable[[PurePosixPath], None], entries: Iterable[PurePosixPath]) -> None:
    with ThreadPoolExecutor(SIDE_BY_SIDE) as pool:
        for _ in pool.map(copy, entries):
            pass


def _files(cache: Path) -> Iterable[PurePosixPath]:
    for folder, _, names in os.walk(cache):
        for name in names:
            yield PurePosixPath((Path(folder) / name).relative_to(cache).as_posix())


def _keys(s3: S3Client, bucket: str, prefix: str) -> Iterable[PurePosixPath]:
    for page in s3.get_paginator("list_objects_v2").paginate(Bucket=bucket, Prefix=prefix):
        for entry in page.get("Contents", []):
            name = PurePosixPath(entry["Key"][len(prefix) :])
            # Nothing outside of the cache is written, whatever the bucket holds.
            if name.parts and not name.is_absolute() and ".." not in name.parts:
                yield name


def main(arguments: list[str]) -> int:
    """Copy in one direction; say how much, or why not (status 1: the job goes on without)."""
    direction, folder, address = arguments
    bucket, _, prefix = address.removeprefix("s3://").partition("/")
    prefix = f"{prefix.rstrip('/')}/"
    copy = {"fetch": fetch, "store": store}[direction]
    try:
        number = copy(Path(folder), boto3.client("s3"), bucket, prefix)
    except (BotoCoreError, ClientError, OSError) as error:
        print(f"warning: compile cache: {direction} {address}: {error}", file=sys.stderr)
        return 1
    print(f"compile cache: {direction} {address}: {number} new entries")
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
