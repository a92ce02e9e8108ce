"""Files that are on the disk as a whole or not at all, whatever happens to the process or the machine."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any


def write_tensors(file: Path, state: Any) -> None:
    """Write tensors in torch.save's format and wait until they are on the disk.

    Raises:
        OSError: the disk is full, or the folder is missing.
    """
    import torch  # noqa: PLC0415  takes seconds, and preparing text does without

    with file.open("wb") as stream:
        try:
            torch.save(state, stream)
        except RuntimeError as error:
            # torch's writer turns a failed write into this (`PytorchStreamWriter failed`).
            raise OSError(
                f"{file}: cannot write the checkpoint: {error.__cause__ or error.__context__ or error}"
            ) from error
        stream.flush()
        os.fsync(stream.fileno())


def write_text(file: Path, text: str) -> None:
    """Write a small file so that it is either there as a whole or not at all, whatever happens to the machine.

    Raises:
        OSError: the disk is full, or the folder cannot be written to.
    """
    file.parent.mkdir(parents=True, exist_ok=True)
    work = file.with_name(f".{file.name}.{os.getpid()}")
    with work.open("w", encoding="utf-8") as stream:
        stream.write(text)
        stream.flush()
        os.fsync(stream.fileno())
    work.replace(file)
    sync_folder(file.parent)


def sync_folder(folder: Path) -> None:
    """Wait until what a folder lists is on the disk.

    Raises:
        OSError: the disk is full or broken.
    """
    descriptor = os.open(folder, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)
