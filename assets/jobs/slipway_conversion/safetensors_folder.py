"""A model's tensors as safetensors files, written one tensor (or some rows of one) at a time.

The safetensors library writes a file from tensors that are all in memory. A file's header needs names, types and shapes
only, and those follow from the model's configuration: so the header goes first, and each tensor to its place later.
Format: 8 bytes length of the header (little-endian), the header as JSON padded with spaces, then the tensors' bytes
(source: the format's description in the safetensors repository; torch.distributed.checkpoint writes such files the same
way when it consolidates shards).
"""

from __future__ import annotations

import json
import math
import os
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from types import TracebackType
from typing import BinaryIO

import torch

GIB = 1024**3

SHARD_BYTES = 5 * GIB
"""Size of a file at most, unless one tensor is larger; as the transformers library does."""

INDEX_FILE = "model.safetensors.index.json"
"""Says which file holds a tensor; written when there is more than one file."""

SINGLE_FILE = "model.safetensors"
"""The only file of a small model."""

_TYPE_NAMES = {torch.float32: "F32", torch.float16: "F16", torch.bfloat16: "BF16", torch.int64: "I64"}
_ALIGNMENT = 8
_CONVERTED_BYTES = 64 * 1024**2
"""How much is converted to another type at a time, so that no second copy of a large tensor is made."""


@dataclass(frozen=True)
class PlannedTensor:
    """A tensor that will be written."""

    name: str
    """Its name in the model's state dict."""

    shape: tuple[int, ...]
    """Its shape."""

    dtype: torch.dtype
    """Type in the file."""

    @property
    def size(self) -> int:
        """Bytes in the file."""
        return math.prod(self.shape) * self.dtype.itemsize


def shards(tensors: Iterable[PlannedTensor], limit: int = SHARD_BYTES) -> list[list[PlannedTensor]]:
    """Divide tensors over files, in their order; a file passes the limit only when one tensor does."""
    files: list[list[PlannedTensor]] = []
    filled = 0
    for tensor in tensors:
        if not files or filled + tensor.size > limit:
            files.append([])
            filled = 0
        files[-1].append(tensor)
        filled += tensor.size
    return files


def _header(tensors: Sequence[PlannedTensor]) -> tuple[bytes, dict[str, int]]:
    """Return a file's first bytes, and where in the file each tensor begins."""
    entries: dict[str, object] = {"__metadata__": {"format": "pt"}}
    begins: dict[str, int] = {}
    position = 0
    for tensor in tensors:
        entries[tensor.name] = {
            "dtype": _TYPE_NAMES[tensor.dtype],
            "shape": list(tensor.shape),
            "data_offsets": [position, position + tensor.size],
        }
        begins[tensor.name] = position
        position += tensor.size
    text = json.dumps(entries, separators=(",", ":")).encode()
    text += b" " * (-len(text) % _ALIGNMENT)
    start = 8 + len(text)
    return len(text).to_bytes(8, "little") + text, {name: start + begin for name, begin in begins.items()}


@dataclass(frozen=True)
class _Place:
    """Where a tensor goes."""

    file: Path
    begin: int
    tensor: PlannedTensor


class SafetensorsFolder:
    """Writes the planned tensors of one model into a folder, in any order, each row once.

    Use it as a context manager: without an error, leaving it checks that nothing is missing and brings the files to the
    disk. The folder is not complete before that; see `slipway_conversion.finished_folder` for how it gets its name.
    """

    def __init__(self, directory: Path, tensors: Sequence[PlannedTensor], limit: int = SHARD_BYTES) -> None:
        """Make the files with their headers, and the index.

        Args:
            directory: an existing folder.
            tensors: all tensors of the model, in the order they shall have.
            limit: bytes of a file at most.

        Raises:
            ValueError: a name is there twice, or the format has no name for a type.
            OSError: the folder cannot be written.
        """
        if twice := [name for name, count in Counter(tensor.name for tensor in tensors).items() if count > 1]:
            raise ValueError(f"planned twice: {', '.join(twice)}")
        if strange := [f"{tensor.name} ({tensor.dtype})" for tensor in tensors if tensor.dtype not in _TYPE_NAMES]:
            raise ValueError(f"no type of safetensors for {', '.join(strange)}")
        self._places: dict[str, _Place] = {}
        self._rows_left = {tensor.name: [(0, _rows(tensor.shape))] if tensor.size else [] for tensor in tensors}
        self._open: dict[Path, BinaryIO] = {}
        files = shards(tensors, limit)
        for number, content in enumerate(files, start=1):
            name = SINGLE_FILE if len(files) == 1 else f"model-{number:05d}-of-{len(files):05d}.safetensors"
            self._start_file(directory / name, content)
        if len(files) > 1:
            self._write_index(directory / INDEX_FILE, tensors)

    def _start_file(self, file: Path, tensors: Sequence[PlannedTensor]) -> None:
        header, begins = _header(tensors)
        stream = self._open[file] = file.open("wb")
        stream.write(header)
        stream.truncate(len(header) + sum(tensor.size for tensor in tensors))
        for tensor in tensors:
            self._places[tensor.name] = _Place(file, begins[tensor.name], tensor)

    def _write_index(self, file: Path, tensors: Sequence[PlannedTensor]) -> None:
        index = {
            "metadata": {"total_size": sum(tensor.size for tensor in tensors)},
            "weight_map": {name: place.file.name for name, place in self._places.items()},
        }
        file.write_text(json.dumps(index, indent=2, sort_keys=True) + "\n", encoding="utf-8")

    def write(self, name: str, values: torch.Tensor) -> None:
        """Write a whole tensor; its values are converted to the planned type.

        Raises:
            ValueError: the tensor was not planned, has another shape or was written before.
            OSError: the disk is full.
        """
        planned = self._planned(name)
        if tuple(values.shape) != planned.shape:
            raise ValueError(f"{name}: shape {tuple(values.shape)}, but the model's is {planned.shape}")
        self._write(name, 0, values if values.dim() else values.reshape(1))

    def write_rows(self, name: str, first_row: int, values: torch.Tensor) -> None:
        """Write some rows (first dimension) of a tensor, so that a tensor in parts is never whole in memory.

        Raises:
            ValueError: as for `write`, or rows outside of the tensor.
            OSError: the disk is full.
        """
        planned = self._planned(name)
        if tuple(values.shape[1:]) != planned.shape[1:] or first_row + values.shape[0] > planned.shape[0]:
            raise ValueError(f"{name}: rows {first_row} and on of shape {tuple(values.shape)} of a {planned.shape}")
        self._write(name, first_row, values)

    def _planned(self, name: str) -> PlannedTensor:
        if name not in self._places:
            raise ValueError(f"{name} is no tensor of this model")
        return self._places[name].tensor

    def _write(self, name: str, first_row: int, values: torch.Tensor) -> None:
        place = self._places[name]
        if not values.numel():
            return
        self._take_rows(name, first_row, first_row + values.shape[0])
        row_bytes = place.tensor.size // _rows(place.tensor.shape)
        stream = self._open[place.file]
        stream.seek(place.begin + first_row * row_bytes)
        step = max(1, _CONVERTED_BYTES // row_bytes)
        for begin in range(0, values.shape[0], step):
            data = (
                values.detach()[begin : begin + step]
                .to("cpu", place.tensor.dtype)
                .contiguous()
                .reshape(-1)
                .view(torch.uint8)
            )
            stream.write(data.numpy().data)

    def _take_rows(self, name: str, begin: int, end: int) -> None:
        """Note that rows are written."""
        for number, (left, right) in enumerate(self._rows_left[name]):
            if left <= begin and end <= right:
                rest = [(a, b) for a, b in ((left, begin), (end, right)) if a < b]
                self._rows_left[name][number : number + 1] = rest
                return
        raise ValueError(f"{name}: rows {begin} to {end - 1} were written before")

    def missing(self) -> list[str]:
        """Return the names of tensors that are not, or not wholly, written."""
        return [name for name, rows in self._rows_left.items() if rows]

    def __enter__(self) -> SafetensorsFolder:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        try:
            if kind is None and (missing := self.missing()):
                raise ValueError(f"tensors were not written: {', '.join(missing)}")
            for stream in self._open.values():
                if kind is None:
                    stream.flush()
                    os.fsync(stream.fileno())
        finally:
            for stream in self._open.values():
                stream.close()


def _rows(shape: tuple[int, ...]) -> int:
    """Return the length of the first dimension; a scalar is one row."""
    return shape[0] if shape else 1
