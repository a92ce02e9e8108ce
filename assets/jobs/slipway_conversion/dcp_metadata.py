"""Reads what a folder of torch.distributed.checkpoint holds, without trusting it.

Such a folder has files `*.distcp`, each with many tensors' parts, and the file `.metadata`: a pickle that says which
part lies where. torch 2.13 reads it with plain `pickle.load` (torch/distributed/checkpoint/filesystem.py,
`FileSystemReader.read_metadata`; pytorch issue 189308 asks for better), which runs whatever the file says. Here the
pickle is read by an unpickler that knows the few names that belong into such a file, and gives inert records in their
place: nothing is imported, called or changed that exists outside of it. The records are then checked one by one.
"""

from __future__ import annotations

import itertools
import math
import pickle
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import IO, Any, cast

import torch
from torch.distributed.checkpoint.utils import _create_file_view

METADATA_FILE = ".metadata"
"""Name of the file."""

_DTYPES = ("bfloat16", "bool", "float16", "float32", "float64", "int16", "int32", "int64", "int8", "uint8")


@dataclass(frozen=True)
class StoredPart:
    """A block of a tensor."""

    offsets: tuple[int, ...]
    """Where it begins in the tensor."""

    sizes: tuple[int, ...]
    """Its shape."""

    file: str
    """Name of the file that holds it, in the same folder."""

    begin: int
    """Where it begins in the file, in bytes; what `torch.save` has written is there."""

    length: int
    """Its bytes in the file."""


@dataclass(frozen=True)
class StoredTensor:
    """A tensor in the folder."""

    dtype: torch.dtype
    """Type of its elements."""

    shape: tuple[int, ...]
    """Its shape."""

    parts: tuple[StoredPart, ...]
    """Blocks that cover it, each element once, by rising offsets; none is empty."""


def read_metadata(state: Path) -> dict[str, StoredTensor]:
    """Return the tensors in a folder of torch.distributed.checkpoint by their keys.

    Raises:
        OSError: `.metadata` or a file that it names is missing, or is shorter than it should be.
        ValueError: `.metadata` is not what torch.distributed.checkpoint writes: damaged, or made to do harm.
    """
    file = state / METADATA_FILE
    with file.open("rb") as stream:
        try:
            content = _Unpickler(stream).load()
        except OSError:
            raise
        except Exception as error:  # a damaged pickle raises nearly anything
            raise ValueError(f"{file} cannot be read as the metadata of a checkpoint: {error}") from error
    try:
        tensors = _tensors(content)
    except (_UnexpectedError, AttributeError, TypeError, KeyError, RecursionError) as error:
        raise ValueError(f"{file} is no valid metadata of a checkpoint: {error}") from error
    _check_files(state, tensors)
    return tensors


def read_part(state: Path, tensor: StoredTensor, part: StoredPart) -> torch.Tensor:
    """Read a block of a tensor; nothing else of the file is read, and nothing but tensors is unpickled.

    Raises:
        OSError: the file cannot be read.
        ValueError: it holds something else there.
    """
    with (state / part.file).open("rb") as stream:
        try:
            # The view that FileSystemReader uses, so that the block is in memory once.
            view = cast("IO[bytes]", _create_file_view(stream, part.begin, part.length))
            values = torch.load(view, map_location="cpu", weights_only=True)
        except OSError:
            raise
        except Exception as error:
            raise ValueError(f"{state / part.file} is damaged at byte {part.begin}: {error}") from error
    if not isinstance(values, torch.Tensor) or tuple(values.shape) != part.sizes or values.dtype != tensor.dtype:
        raise ValueError(f"{state / part.file} holds another tensor at byte {part.begin} than {METADATA_FILE} says")
    return values


class _UnexpectedError(Exception):
    """The metadata holds something else than it should."""


class _Record:
    """Stands for an object of the pickle: keeps its fields, does nothing."""

    __slots__ = ("kind", "state")

    def __init__(self, kind: str) -> None:
        self.kind = kind
        self.state: Any = None

    def __setstate__(self, state: Any) -> None:
        self.state = state

    def field(self, kind: str, name: str) -> Any:
        if self.kind != kind or not isinstance(self.state, dict) or name not in self.state:
            raise _UnexpectedError(f"a {self.kind} where a {kind} with {name} belongs")
        return self.state[name]


def _record_class(kind: str) -> type[_Record]:
    """Return a class for one unpickling; pickle makes objects by `cls.__new__(cls)` without arguments."""

    def new(cls: type[_Record], *_arguments: object) -> _Record:
        record = object.__new__(cls)
        _Record.__init__(record, kind)
        return record

    return type(kind, (_Record,), {"__slots__": (), "__new__": new, "__init__": lambda self, *_arguments: None})


def _dimensions(values: object = ()) -> tuple[int, ...]:
    """Stand for torch.Size."""
    if not isinstance(values, (tuple, list)) or not all(type(value) is int and value >= 0 for value in values):
        raise _UnexpectedError(f"a size of {values!r}")
    return tuple(values)


def _nothing(*_arguments: object) -> None:
    """Stand for what is not needed: paths, layouts, memory formats."""


_METADATA = "torch.distributed.checkpoint.metadata"
_RECORDS = {
    (_METADATA, "Metadata"),
    (_METADATA, "TensorStorageMetadata"),
    (_METADATA, "BytesStorageMetadata"),
    (_METADATA, "TensorProperties"),
    (_METADATA, "ChunkStorageMetadata"),
    (_METADATA, "MetadataIndex"),
    (_METADATA, "StorageMeta"),
    ("torch.distributed.checkpoint.filesystem", "_StorageInfo"),
}
_CALLS: Mapping[tuple[str, str], Callable[..., object]] = {
    ("torch", "Size"): _dimensions,
    (_METADATA, "_MEM_FORMAT_ENCODING"): _nothing,
    ("builtins", "getattr"): _nothing,  # Python 3.11.0 to 3.11.3: how the member of an enumeration is written
    ("torch.serialization", "_get_layout"): _nothing,
    ("pathlib", "Path"): _nothing,
    ("pathlib", "PosixPath"): _nothing,
    ("pathlib._local", "PosixPath"): _nothing,  # Python 3.13
}


class _Unpickler(pickle.Unpickler):
    """Knows the names of the metadata, and gives stand-ins that live as long as one unpickling."""

    def find_class(self, module: str, name: str) -> Any:
        if (module, name) in _RECORDS:
            return _record_class(name)
        if (module, name) in _CALLS:
            return partial(_CALLS[module, name])
        if module == "torch" and name in _DTYPES:
            return getattr(torch, name)
        raise _UnexpectedError(f"it asks for {module}.{name}, which has no place in a checkpoint's metadata")

    def persistent_load(self, pid: Any) -> Any:
        raise _UnexpectedError(f"it refers to something outside, {pid!r}")


def _tensors(content: Any) -> dict[str, StoredTensor]:
    if not isinstance(content, _Record):
        raise _UnexpectedError(f"it is a {type(content).__name__}")
    places: dict[tuple[str, tuple[int, ...]], StoredPart] = {}
    for index, info in _dictionary(content.field("Metadata", "storage_data")).items():
        key = _text(index.field("MetadataIndex", "fqn"))
        offset = index.state.get("offset")
        if offset is not None:  # no tensor has none
            offsets = _dimensions(offset)
            places[key, offsets] = _place(key, offsets, info)
    return {
        _text(key): _tensor(key, stored, places)
        for key, stored in _dictionary(content.field("Metadata", "state_dict_metadata")).items()
        if stored.kind != "BytesStorageMetadata"
    }


def _tensor(key: str, stored: Any, places: Mapping[tuple[str, tuple[int, ...]], StoredPart]) -> StoredTensor:
    shape = _dimensions(stored.field("TensorStorageMetadata", "size"))
    properties = stored.field("TensorStorageMetadata", "properties")
    if properties.kind != "TensorProperties" or not isinstance(properties.state[0], torch.dtype):
        raise _UnexpectedError(f"{key} has no type")
    parts = []
    for chunk in stored.field("TensorStorageMetadata", "chunks"):
        offsets = _dimensions(chunk.field("ChunkStorageMetadata", "offsets"))
        sizes = _dimensions(chunk.field("ChunkStorageMetadata", "sizes"))
        if len(sizes) != len(shape) or len(offsets) != len(shape):
            raise _UnexpectedError(f"{key} has a part of other dimensions")
        if math.prod(sizes) == 0:
            continue  # of a worker that had no row
        if (key, offsets) not in places:
            raise _UnexpectedError(f"no file holds the part of {key} at {offsets}")
        place = places[key, offsets]
        parts.append(StoredPart(offsets, sizes, place.file, place.begin, place.length))
    parts.sort(key=lambda part: part.offsets)
    if not _covers(shape, parts):
        raise _UnexpectedError(f"the parts of {key} do not cover its shape {shape} once")
    return StoredTensor(properties.state[0], shape, tuple(parts))


def _place(key: str, offsets: tuple[int, ...], info: Any) -> StoredPart:
    name = _text(info.field("_StorageInfo", "relative_path"))
    begin, length = info.field("_StorageInfo", "offset"), info.field("_StorageInfo", "length")
    if name != Path(name).name or name in ("", ".", ".."):
        raise _UnexpectedError(f"{key} is said to be in {name!r}, outside of the folder")
    if type(begin) is not int or type(length) is not int or begin < 0 or length < 0:
        raise _UnexpectedError(f"{key} is said to be {length!r} bytes at {begin!r}")
    if info.state.get("transform_descriptors"):
        raise _UnexpectedError(f"{key} is compressed or encrypted, which is not supported")
    return StoredPart(offsets, (), name, begin, length)


def _covers(shape: tuple[int, ...], parts: list[StoredPart]) -> bool:
    """Tell whether blocks are a grid over a shape, as splits of dimensions make it: no gap, no overlap."""
    if math.prod(shape) == 0:
        return not parts
    edges = [sorted({part.offsets[axis] for part in parts} | {shape[axis]}) for axis in range(len(shape))]
    following = [dict(itertools.pairwise(edge)) for edge in edges]
    complete = len({part.offsets for part in parts}) == len(parts) == math.prod(len(edge) - 1 for edge in edges)
    return complete and all(
        part.offsets[axis] + part.sizes[axis] == following[axis].get(part.offsets[axis])
        for part in parts
        for axis in range(len(shape))
    )


def _dictionary(value: Any) -> dict[Any, Any]:
    if not isinstance(value, dict):
        raise _UnexpectedError(f"a {type(value).__name__} where a dictionary belongs")
    return value


def _text(value: Any) -> str:
    if type(value) is not str:
        raise _UnexpectedError(f"{value!r} where a text belongs")
    return value


def _check_files(state: Path, tensors: Mapping[str, StoredTensor]) -> None:
    needed: dict[str, int] = {}
    for tensor in tensors.values():
        for part in tensor.parts:
            needed[part.file] = max(needed.get(part.file, 0), part.begin + part.length)
    missing = sorted(name for name in needed if not (state / name).is_file())
    if missing:
        raise FileNotFoundError(f"{state} is incomplete: {', '.join(missing[:5])} of {len(needed)} files missing")
    for name, size in needed.items():
        if (state / name).stat().st_size < size:
            raise OSError(f"{state / name} is cut off: {(state / name).stat().st_size} bytes of at least {size}")
