"""Writes one file of samples, row by row: a NumPy array that is mapped, not read."""

from __future__ import annotations

import os
from pathlib import Path
from types import TracebackType

import numpy as np
import numpy.typing as npt


class ShardWriter:
    """A .npy file whose number of rows is known at the end. A context manager: leaving it completes the file."""

    def __init__(self, file: Path, columns: int, largest: int) -> None:
        """Begin a file of rows of non-negative numbers.

        Args:
            file: The file.
            columns: Numbers in a row.
            largest: The largest number that can come; it decides between two and four bytes each.
        """
        self._type = np.dtype(np.uint16 if largest < 2**16 else np.uint32)
        self._columns = columns
        self.rows = 0
        self._stream = file.open("wb")
        self._write_header()
        self._header_bytes = self._stream.tell()

    def __enter__(self) -> ShardWriter:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        try:
            if error is None:
                self._stream.seek(0)
                self._write_header()
                assert self._stream.tell() == self._header_bytes, "NumPy's header has grown into the rows"
                self._stream.flush()
                os.fsync(self._stream.fileno())
        finally:
            self._stream.close()

    def write(self, rows: npt.ArrayLike) -> None:
        """Append rows.

        Raises:
            OSError: the disk is full.
            ValueError: a row has another length.
        """
        array = np.asarray(rows, dtype=self._type)
        if array.ndim != 2 or array.shape[1] != self._columns:
            raise ValueError(f"rows of shape {array.shape}, expected (n, {self._columns})")
        self._stream.write(array.tobytes())
        self.rows += len(array)

    def _write_header(self) -> None:
        # NumPy pads the header so that the first dimension can grow: it has the same length at the end.
        description = np.lib.format.dtype_to_descr(self._type)  # type: ignore[no-untyped-call]
        header = {"descr": description, "fortran_order": False, "shape": (self.rows, self._columns)}
        np.lib.format.write_array_header_1_0(self._stream, header)  # type: ignore[no-untyped-call]
