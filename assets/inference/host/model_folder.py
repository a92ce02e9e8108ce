"""Checks that a folder holds the model that an engine is to start with; exits with 1 and the reasons where it does not.

    model_folder.py FOLDER --needed FILE:FILE [--published [--digest SHA256]] [--read] [--delete-damaged]
                    [--listing FILE --prefix PREFIX [--space-only]]

Every folder needs a `config.json` and what else the engine starts with. A published version also needs the manifest
that the job kit wrote, and every file of it with its size. With --read each file is read whole, some side by side, and
compared with the manifest's SHA-256. With --digest the manifest has this SHA-256, and the folder nothing that it
does not name: that is the version that a roll-out pinned. A listing says what the bucket has below the prefix,
`[[key, size], ...]`; a copy must have that.

It runs with the operating system's Python, 3.9 and newer, and without any package.
"""

from __future__ import annotations

import argparse
import hashlib
import json
import os
import sys
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path, PurePosixPath
from typing import Any

MANIFEST = "slipway-manifest.json"
CLAIM = "slipway-run.json"
SIDE_BY_SIDE = 8
CHUNK = 8 * 1024 * 1024
MOST_REASONS = 20


class WrongModelError(Exception):
    """The folder is not what was asked for; it has one reason in each line."""


@dataclass(frozen=True)
class Expected:
    """What is known of a file beforehand."""

    size: int
    sha256: str | None = None


def json_file(path: Path, digest: str | None = None) -> Any:
    """Return what a JSON file holds, whose SHA-256 may be known beforehand.

    Raises:
        WrongModelError: it is missing, not readable, no JSON object, or has another SHA-256.
    """
    try:
        # Once: what is parsed is what was compared.
        read = path.read_bytes()
        found = hashlib.sha256(read).hexdigest()
        if digest not in {None, found}:
            raise WrongModelError(f"{path.name} has SHA-256 {found}, and {digest} was rolled out: replaced since")
        content = json.loads(read)
    except (OSError, ValueError) as error:
        raise WrongModelError(f"{path.name}: {error}") from error
    if not isinstance(content, dict):
        raise WrongModelError(f"{path.name} holds no JSON object")
    return content


def published_files(folder: Path, digest: str | None) -> dict[str, Expected]:
    """Return the files that the manifest of a published version names.

    Raises:
        WrongModelError: there is no manifest, it cannot be read, or a roll-out pinned another one.
    """
    manifest = json_file(folder / MANIFEST, digest)
    try:
        files = {name: Expected(file["size"], file["sha256"]) for name, file in manifest["files"].items()}
    except (AttributeError, KeyError, TypeError) as error:
        raise WrongModelError(f"{MANIFEST} lists no files") from error
    outside = [name for name in files if PurePosixPath(name).is_absolute() or ".." in PurePosixPath(name).parts]
    if outside:
        raise WrongModelError(f"{MANIFEST} names files outside of the folder: {', '.join(outside)}")
    return files


def listed_files(listing: Path, prefix: str) -> dict[str, Expected]:
    """Return the files of a listing of the bucket.

    Raises:
        WrongModelError: the bucket has nothing below the prefix.
    """
    rows = json.loads(listing.read_bytes()) or []
    files = {key[len(prefix) :]: Expected(size) for key, size in rows if not key.endswith("/")}
    if not files:
        raise WrongModelError(f"the bucket has no object below {prefix}")
    return files


def sha256(path: Path) -> str:
    """Return the SHA-256 of a file, which reads it whole."""
    digest = hashlib.sha256()
    with path.open("rb") as file:
        while chunk := file.read(CHUNK):
            digest.update(chunk)
    return digest.hexdigest()


def fault(folder: Path, name: str, expected: Expected, read: bool) -> str | None:
    """Return what is wrong with a file, or nothing."""
    path = folder / name
    try:
        size = path.stat().st_size
        if size != expected.size:
            return f"{name} has {size} bytes instead of {expected.size}"
        found = sha256(path) if read else None
    except OSError as error:
        return f"{name}: {error.strerror}"
    if found and expected.sha256 and found != expected.sha256:
        return f"{name} has another SHA-256 than the manifest says"
    return None


def files_there(folder: Path) -> Iterator[tuple[str, Expected]]:
    """Yield the files that the folder has, where nothing says which it should have."""
    for path in sorted(folder.rglob("*")):
        if path.is_file():
            yield str(path.relative_to(folder)), Expected(path.stat().st_size)


def check_space(folder: Path, files: dict[str, Expected]) -> None:
    """Find out whether the files that are missing fit on the folder's disk.

    Raises:
        WrongModelError: they do not.
    """
    there = dict(files_there(folder))
    missing = sum(expected.size for name, expected in files.items() if there.get(name) != expected)
    disk = next(parent for parent in (folder, *folder.parents) if parent.exists())
    state = os.statvfs(disk)
    free = state.f_bavail * state.f_frsize
    if missing > free:
        raise WrongModelError(
            f"{missing / 2**30:.1f} GiB are to be copied, the volume has {free / 2**30:.1f} GiB free: give it more"
        )


def check_needed(folder: Path, names: list[str]) -> None:
    """Find out whether the files are there that the engine starts with.

    Raises:
        WrongModelError: one is missing or empty.
    """
    lacking = [name for name in names if not ((folder / name).is_file() and (folder / name).stat().st_size)]
    if lacking:
        raise WrongModelError(f"the engine does not start without {', '.join(lacking)}: missing or empty")


def check_no_more(folder: Path, files: dict[str, Expected]) -> None:
    """Find out whether the folder has nothing but the files of a manifest.

    Raises:
        WrongModelError: there are files that it does not name.
    """
    foreign = sorted({name for name, _ in files_there(folder)} - files.keys() - {MANIFEST, CLAIM})
    if foreign:
        raise WrongModelError(f"{MANIFEST} does not name {', '.join(foreign[:MOST_REASONS])}: added since")


def check(folder: Path, options: argparse.Namespace) -> None:
    """Check the folder as the options say.

    Raises:
        WrongModelError: something is missing or damaged.
    """
    files: dict[str, Expected] = {}
    if options.listing:
        files |= listed_files(options.listing, options.prefix)
    if options.space_only:
        check_space(folder, files)
        return
    json_file(folder / "config.json")
    check_needed(folder, options.needed.split(":"))
    if options.published:
        named = published_files(folder, options.digest)
        if options.digest:
            check_no_more(folder, named)
        files |= named
    files = files or dict(files_there(folder))
    with ThreadPoolExecutor(SIDE_BY_SIDE) as pool:
        looks = pool.map(lambda item: (item[0], fault(folder, item[0], item[1], options.read)), files.items())
        faults = {name: reason for name, reason in looks if reason}
    if options.delete_damaged:
        for name in faults:
            (folder / name).unlink(missing_ok=True)
    if faults:
        reasons = list(faults.values())
        more = [f"and {len(reasons) - MOST_REASONS} more"] if len(reasons) > MOST_REASONS else []
        raise WrongModelError("\n".join(reasons[:MOST_REASONS] + more))
    print(
        f"{folder}: {len(files)} files, {sum(file.size for file in files.values()) / 2**30:.2f} GiB, as they should be"
    )


def main() -> int:
    """Check a folder as the command line says."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("folder", type=Path)
    parser.add_argument("--needed", required=True, help="files that the engine starts with, with colons between them")
    parser.add_argument("--published", action="store_true", help="it is a published version, with a manifest")
    parser.add_argument("--digest", help="SHA-256 of that manifest")
    parser.add_argument("--read", action="store_true", help="read every file whole")
    parser.add_argument("--delete-damaged", action="store_true", help="delete what is damaged, to be copied again")
    parser.add_argument("--listing", type=Path, help="what the bucket has")
    parser.add_argument("--prefix", default="", help="prefix of the listing's keys")
    parser.add_argument("--space-only", action="store_true", help="only find out whether the missing files fit")
    options = parser.parse_args()
    try:
        check(options.folder, options)
    except WrongModelError as error:
        print(error, file=sys.stderr)
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
