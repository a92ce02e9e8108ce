"""Lets torch.distributed.checkpoint read a folder by metadata that was checked, instead of unpickling it."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import torch
from torch.distributed.checkpoint.filesystem import FileSystemReader, _StorageInfo
from torch.distributed.checkpoint.metadata import (
    ChunkStorageMetadata,
    Metadata,
    MetadataIndex,
    TensorProperties,
    TensorStorageMetadata,
)

from slipway_conversion.dcp_metadata import StoredTensor, read_metadata


class CheckedReader(FileSystemReader):
    """Reads tensors only, each with `weights_only=True` (as FileSystemReader does); any other entry is passed over."""

    def __init__(self, path: Path) -> None:
        """Read and check the metadata.

        Raises:
            OSError, ValueError: as `slipway_conversion.dcp_metadata.read_metadata`.
        """
        super().__init__(path)
        self.tensors = read_metadata(path)

    def read_metadata(self, *_args: Any, **_kwargs: Any) -> Metadata:
        """Return what was checked, in PyTorch's own classes."""
        storage = {
            MetadataIndex(key, part.offsets): _StorageInfo(part.file, part.begin, part.length)
            for key, tensor in self.tensors.items()
            for part in tensor.parts
        }
        return Metadata({key: _metadata(tensor) for key, tensor in self.tensors.items()}, storage_data=storage)


def _metadata(tensor: StoredTensor) -> TensorStorageMetadata:
    chunks = [ChunkStorageMetadata(torch.Size(part.offsets), torch.Size(part.sizes)) for part in tensor.parts]
    return TensorStorageMetadata(TensorProperties(dtype=tensor.dtype), torch.Size(tensor.shape), chunks)
