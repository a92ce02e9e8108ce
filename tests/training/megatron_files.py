"""Files of token ids as Megatron's preprocessing writes them; tests/contracts compares them with megatron-core's."""

import struct
from collections.abc import Sequence
from itertools import accumulate
from pathlib import Path

import numpy as np

CODES = {"uint8": 1, "int32": 4, "int64": 5, "float32": 7, "uint16": 8}


def write_token_files(prefix: Path, documents: Sequence[Sequence[int]], kind: str) -> Path:
    """Write PREFIX.bin and PREFIX.idx, one sequence for each document, and return the first."""
    lengths = [len(document) for document in documents]
    size = np.dtype(kind).itemsize
    prefix.with_suffix(".bin").write_bytes(b"".join(np.array(document, kind).tobytes() for document in documents))
    offsets = [0, *accumulate(length * size for length in lengths)][:-1]
    prefix.with_suffix(".idx").write_bytes(
        struct.pack("<9sQBQQ", b"MMIDIDX\0\0", 1, CODES[kind], len(lengths), len(lengths) + 1)
        + np.array(lengths, np.int32).tobytes()
        + np.array(offsets, np.int64).tobytes()
        + np.arange(len(lengths) + 1, dtype=np.int64).tobytes()
    )
    return prefix.with_suffix(".bin")
