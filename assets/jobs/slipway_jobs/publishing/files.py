"""The files of a model's folder, with their checksums as S3 will compute them."""

import base64
import hashlib
from collections.abc import Callable
from pathlib import Path

from slipway_jobs.publishing.manifest import PublishedFile

PART_BYTES = 64 * 2**20
"""Size of an upload's parts, and the largest object that is uploaded in one. S3 takes 10,000 parts: 625 GiB."""

NOT_PUBLISHED = frozenset({"done", "slipway.json"})
"""Files that belong to the folder on /fsx: the mark of its completeness, and its origin, which the manifest repeats."""

_READ_BYTES = 2**20


def model_files(folder: Path, tell: Callable[[str], None]) -> dict[str, PublishedFile]:
    """Return what a folder holds, by path relative to it, each file read once.

    Args:
        folder: the model's folder.
        tell: called with a line for each gigabyte that is read, or so.

    Raises:
        ValueError: a link leads out of the folder, or a file is neither that nor a directory.
    """
    found: dict[str, PublishedFile] = {}
    for path in sorted(folder.rglob("*")):
        name = path.relative_to(folder).as_posix()
        if path.is_dir() or name in NOT_PUBLISHED:
            continue
        if not path.is_file() or folder.resolve() not in path.resolve().parents:
            raise ValueError(f"{path} is not a file of this folder")
        found[name] = _described(path)
        if found[name].size >= 2**30:
            tell(f"{name}: {found[name].size / 2**30:.1f} GiB read, sha256 {found[name].sha256[:12]}...")
    return found


def _described(path: Path) -> PublishedFile:
    whole, part, parts, size, in_part = hashlib.sha256(), hashlib.sha256(), [], 0, 0
    with path.open("rb") as stream:
        while block := stream.read(min(_READ_BYTES, PART_BYTES - in_part)):
            whole.update(block)
            part.update(block)
            size, in_part = size + len(block), in_part + len(block)
            if in_part == PART_BYTES:
                parts.append(part.digest())
                part, in_part = hashlib.sha256(), 0
    if in_part:
        parts.append(part.digest())
    checksum = base64.b64encode(whole.digest()).decode()
    # boto3 uploads in parts from this size on, also when it comes out as a single part.
    if size >= PART_BYTES:
        checksum = f"{base64.b64encode(hashlib.sha256(b''.join(parts)).digest()).decode()}-{len(parts)}"
    return PublishedFile(size=size, sha256=whole.hexdigest(), s3_checksum=checksum)
