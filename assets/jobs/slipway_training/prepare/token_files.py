"""Reads token ids that were made before, in Megatron's files: NAME.bin holds them, NAME.idx says what they are.

NeMo and NxD Training have the same files. Source: megatron-core 0.16.1, megatron/core/datasets/indexed_dataset.py,
lines 47-60 (types) and 141-230 (the index). Sequences follow each other in NAME.bin without gaps.
"""

from __future__ import annotations

import struct
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import numpy as np

from slipway_jobs.recipe.model import Recipe
from slipway_jobs.recipe.source_files import INDEX
from slipway_training.data.manifest import Shard
from slipway_training.prepare.documents import DocumentError

_HEADER = struct.Struct("<9sQBQQ")
"""Magic bytes, version, type, number of sequences, number of documents and one more."""

_MAGIC, _VERSION = b"MMIDIDX\x00\x00", 1

_TYPES = {1: "uint8", 2: "int8", 3: "int16", 4: "int32", 5: "int64", 8: "uint16"}
"""Types of whole numbers by their codes."""

_BLOCK = 2**24
"""Token ids that are looked at at once."""


def token_shard(file: Path, recipe: Recipe, processes: int) -> tuple[Shard, int]:
    """Check a file of token ids, and return it as a shard that is read where it is, with its number of documents.

    What is left at the end is too short for a sample, and not read.

    Args:
        file: NAME.bin.
        recipe: what is trained.
        processes: blocks that are looked at at the same time.

    Raises:
        DocumentError: the files are damaged or of another kind, or a token is none of the model's.
        OSError: one of them is missing or cannot be read.
    """
    kind, documents, tokens = _index(file.with_suffix(INDEX))
    if file.stat().st_size != tokens * kind.itemsize:
        found = f"{file.stat().st_size} bytes, and its {INDEX} names {tokens} tokens of {kind.itemsize} bytes"
        raise DocumentError(f"{file}: it has {found}: one of them is not complete")
    largest = recipe.model.vocab_size - 1
    with ThreadPoolExecutor(processes) as pool:
        for start, low, high in pool.map(lambda start: _bounds(file, kind, start), range(0, tokens, _BLOCK)):
            if low < 0 or high > largest:
                token = low if low < 0 else high
                where = f"tokens {start:,} to {min(start + _BLOCK, tokens):,}"
                message = f"{file}: among {where} is {token}, and the model has 0 to {largest} (model.vocab_size)"
                raise DocumentError(f"{message}. Was it made with another tokenizer?")
    samples = tokens // recipe.data.sequence_length
    return Shard(file=str(file), samples=samples, tokens_of=kind.name), documents


def _index(file: Path) -> tuple[np.dtype[np.integer], int, int]:
    """Read NAME.idx; return the type of the tokens, and the numbers of documents and tokens."""
    with file.open("rb") as stream:
        header = stream.read(_HEADER.size)
    if len(header) < _HEADER.size or header[:9] != _MAGIC:
        raise DocumentError(f"{file}: it is not the index of a Megatron data set")
    _, version, code, sequences, documents = _HEADER.unpack(header)
    if version != _VERSION or code not in _TYPES:
        raise DocumentError(f"{file}: version {version} with type {code} is not known; token ids are whole numbers")
    if file.stat().st_size < _HEADER.size + sequences * (4 + 8) + documents * 8:
        raise DocumentError(f"{file}: it ends early: it should name {sequences} sequences")
    lengths = np.fromfile(file, dtype=np.int32, count=sequences, offset=_HEADER.size)
    return np.dtype(_TYPES[code]), max(0, documents - 1), int(lengths.sum(dtype=np.int64))


def _bounds(file: Path, kind: np.dtype[np.integer], start: int) -> tuple[int, int, int]:
    """Return a block's start, and its smallest and largest token."""
    block = np.fromfile(file, dtype=kind, count=_BLOCK, offset=start * kind.itemsize)
    return start, int(block.min()), int(block.max())
