"""Whether a checkpoint's files are still what was written, and what becomes of one whose files are not."""

from __future__ import annotations

import json
import zipfile
import zlib
from pathlib import Path

from slipway_training.checkpoints.layout import DAMAGED, DONE, latest_complete
from slipway_training.device import Workers
from slipway_training.durable import sync_folder
from slipway_training.metrics import say


class DamagedError(Exception):
    """No checkpoint can be resumed from, and there were some. The message is for the user."""


def file_sizes(checkpoint: Path) -> str:
    """Return what `done` holds: the bytes of each file of a checkpoint's state, as JSON."""
    files = sorted(path for path in checkpoint.rglob("*") if path.is_file())
    return json.dumps({str(path.relative_to(checkpoint)): path.stat().st_size for path in files}, indent=1) + "\n"


def latest_sound(workers: Workers, directory: Path) -> Path | None:
    """Return the newest complete checkpoint whose files are sound; none where there has never been one.

    All workers call it at the same time, and each reads a share of the files. A damaged checkpoint is no longer
    complete after that; it stays, to be looked at.

    Raises:
        DamagedError: all complete checkpoints are damaged. Raised on all workers.
        OSError: a file cannot be read.
    """
    while checkpoint := latest_complete(directory):
        wrong = damage(checkpoint, workers.rank, workers.size)
        if wrong:
            say(f"{checkpoint} is damaged: {wrong}")
        (damaged,) = workers.any(wrong is not None)
        if not damaged:
            return checkpoint
        if workers.rank == 0:
            (checkpoint / DONE).rename(checkpoint / DAMAGED)
            sync_folder(checkpoint)
        workers.barrier()
    if any(directory.glob(f"step_*/{DAMAGED}")):
        raise DamagedError(
            f"{directory}: all checkpoints are damaged. To start again, remove the folder; to go on from one whose "
            f"file you have restored, rename its `{DAMAGED}` to `{DONE}`"
        )
    return None


def damage(checkpoint: Path, share: int = 0, shares: int = 1) -> str | None:
    """Say what is wrong with a share of a checkpoint's files; none where nothing is.

    Each file must have the size that `done` says, and torch.save's files the CRC-32 of each of their parts: torch.save
    writes it, torch.load does not compare it (PyTorch 2.9 is built with MINIZ_DISABLE_ZIP_READER_CRC32_CHECKS).

    Raises:
        OSError: a file cannot be read.
    """
    try:
        sizes: dict[str, int] = json.loads((checkpoint / DONE).read_bytes())
    except ValueError:
        return f"`{DONE}` does not list its files"
    for name, size in list(sizes.items())[share::shares]:
        file = checkpoint / name
        if not file.is_file():
            return f"{name} is missing"
        if file.stat().st_size != size:
            return f"{name} has {file.stat().st_size} bytes, it had {size}"
        if file.suffix == ".pt" and not _is_sound(file):
            return f"{name} does not have its checksums"
    return None


def _is_sound(file: Path) -> bool:
    try:
        with zipfile.ZipFile(file) as archive:
            return archive.testzip() is None
    except (zipfile.BadZipFile, zlib.error):
        return False
