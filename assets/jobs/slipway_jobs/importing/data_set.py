"""A data set of others: on the Hugging Face Hub, or objects of S3."""

from __future__ import annotations

import hashlib
import re
from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from fnmatch import fnmatchcase
from pathlib import Path, PurePosixPath

from slipway_jobs.importing.hub import NAME, Repository, look_up
from slipway_jobs.importing.remote_file import RemoteFile
from slipway_jobs.importing.s3_objects import S3Objects, list_objects
from slipway_jobs.recipe.source_files import FETCHED, SUFFIXES

HUB, S3 = "hf:", "s3://"
"""What the addresses of data sets begin with."""

READ = tuple(f"*{suffix}" for suffix in SUFFIXES)
"""Patterns of the files that the prepare stage reads."""

DONE = "done"
"""File that says that a data set is complete."""

_BUCKET = re.compile(r"[a-z0-9][a-z0-9.-]{1,61}[a-z0-9]")
_SHOWN = 8


class DataRefused(Exception):  # noqa: N818 (a user's mistake, not an error of the program)
    """The data set cannot be fetched so; the message says why and what to write."""


@dataclass(frozen=True)
class DataSet:
    """Files of others at one revision.

    Attributes:
        source: `hf:OWNER/NAME` or `s3://BUCKET/PREFIX`.
        revision: a commit, or a digest of what the objects are.
        license: the licence that it names, or None.
        page: where people read it, or None.
        sizes: bytes of each file, by its name.
        behind: what the files are asked from.
    """

    source: str
    revision: str
    license: str | None
    page: str | None
    sizes: dict[str, int]
    behind: Repository | S3Objects

    def described(self, name: str) -> RemoteFile:
        """Return a file with its checksum.

        Raises:
            S3Refused: S3 does not tell.
        """
        return self.behind.files[name] if isinstance(self.behind, Repository) else self.behind.described(name)

    def bring(self, file: RemoteFile, folder: Path, tell: Callable[[str], None]) -> None:
        """Bring a file into a folder, under its own name; a part that is there is not fetched again.

        Raises:
            HubError, S3Refused: it is not given, or with another content.
            OSError: it cannot be written.
        """
        self.behind.bring(file, folder, tell)


def open_data_set(source: str, revision: str | None, include: Sequence[str], *, hub: str, region: str) -> DataSet:
    """Ask the other side what a data set is.

    Args:
        source: `hf:OWNER/NAME` or `s3://BUCKET/PREFIX`.
        revision: branch, tag or commit of the Hub, or None for its default branch; None for S3.
        include: patterns of the files that are wanted; `*` matches slashes, too.
        hub: address of the Hub, or of a mirror of it.
        region: AWS Region for S3.

    Raises:
        DataRefused: the address is invalid, no file matches, or a file's name cannot be one here.
        HubError, S3Refused: it is not there, the user may not see it, or nobody answers.
    """
    if source.startswith(HUB):
        name = source.removeprefix(HUB)
        if not NAME.fullmatch(name):
            raise DataRefused(f"{source} is not the address of a data set: write hf:OWNER/NAME")
        repository = look_up(hub, name, revision, "dataset")
        sizes = _wanted({name: file.size for name, file in repository.files.items()}, include, source)
        return DataSet(source, repository.commit, repository.license, repository.url, sizes, repository)
    bucket, _, key = source.removeprefix(S3).partition("/")
    if not source.startswith(S3) or not _BUCKET.fullmatch(bucket):
        raise DataRefused(f"{source} is not the address of objects: write s3://BUCKET/PREFIX")
    if revision is not None:
        raise DataRefused(f"--revision is for data sets of the Hub, and {source} is in S3: leave it out")
    found = list_objects(bucket, key.strip("/"), region)
    source = f"{S3}{bucket}/{found.prefix}"
    sizes = _wanted({name: one.size for name, one in found.objects.items()}, include, source)
    lines = [f"{name} {found.objects[name].size} {found.objects[name].etag}\n" for name in sorted(sizes)]
    digest = hashlib.sha256("".join(lines).encode()).hexdigest()[:16]
    return DataSet(source, digest, None, None, sizes, found)


def _wanted(sizes: dict[str, int], include: Sequence[str], source: str) -> dict[str, int]:
    """Return the files whose names match a pattern.

    Raises:
        DataRefused: there are none, or one has a name that cannot be one here.
    """
    found = {name: size for name, size in sizes.items() if any(fnmatchcase(name, pattern) for pattern in include)}
    if not found:
        there = ", ".join(f"{number} {ending}" for ending, number in endings(sizes)) or "nothing"
        raise DataRefused(f"no file of {source} matches {', '.join(include)}. It has: {there}. Write --include PATTERN")
    if odd := sorted(name for name in found if not _possible(name)):
        raise DataRefused(f"{source}: these names cannot be those of files here: {', '.join(odd[:_SHOWN])}")
    folders = {str(parent) for name in found for parent in PurePosixPath(name).parents}
    if both := sorted(folders & found.keys()):
        raise DataRefused(f"{source}: these are files and folders at once: {', '.join(both[:_SHOWN])}")
    return found


def endings(names: Iterable[str]) -> list[tuple[str, int]]:
    """Return the endings of files with their numbers, the most frequent first."""
    return Counter(PurePosixPath(name).suffix or "without an ending" for name in names).most_common(_SHOWN)


def _possible(name: str) -> bool:
    """Tell whether a name is one below the data set's folder, and none of the kit's own."""
    parts = name.split("/")
    return not ({"", ".", ".."} & set(parts)) and "\0" not in name and name not in (DONE, FETCHED)
