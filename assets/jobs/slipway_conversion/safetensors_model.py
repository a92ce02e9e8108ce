"""A model's folder of the transformers library, read a few rows or columns at a time."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import torch
from safetensors import SafetensorError, safe_open

from slipway_conversion.problems import ConversionError, some
from slipway_conversion.safetensors_folder import INDEX_FILE, SINGLE_FILE
from slipway_conversion.shard_file import DERIVED
from slipway_conversion.tensor_layout import Shape


class SafetensorsModel:
    """The safetensors files of a folder, checked against the model."""

    def __init__(self, folder: Path, shapes: Mapping[str, Shape], tied: Mapping[str, str]) -> None:
        """Open all files.

        Args:
            folder: the model's folder.
            shapes: all tensors of the model.
            tied: names that may be there for a tensor that has another name too.

        Raises:
            ConversionError: all files and tensors that are missing, unknown or of another shape.
        """
        self.folder = folder
        self._slices: dict[str, Any] = {}
        for file in _files(folder):
            try:
                opened: Any = safe_open(str(file), framework="pt")  # type: ignore[no-untyped-call]
                self._slices |= {name: opened.get_slice(name) for name in opened.keys()}  # noqa: SIM118  it is no dict
            except (SafetensorError, OSError) as error:
                raise ConversionError(f"{file} cannot be read: {error}. Copy the model again") from error
        problems = []
        if missing := [name for name in shapes if name not in self._slices]:
            problems.append(f"{folder}: {len(missing)} tensors of the model are in no file: {some(missing)}")
        found = {name for name in self._slices if not name.endswith(DERIVED)}
        if unknown := sorted(found - set(shapes) - set(tied)):
            problems.append(f"{folder}: {len(unknown)} tensors are no part of the configured model: {some(unknown)}")
        for name, shape in shapes.items():
            if name in found and (there := tuple(self._slices[name].get_shape())) != shape:
                problems.append(f"{folder}: {name} is {there}, but config.json makes it {shape}")
        for name, first in tied.items():
            if name in found and first in found and not torch.equal(self._slices[name][:], self._slices[first][:]):
                problems.append(f"{folder}: {name} is not equal to {first}, but config.json ties them")
        if problems:
            raise ConversionError(*problems)

    def part(self, name: str, dimension: int, begin: int, length: int) -> torch.Tensor:
        """Return some rows (0) or columns (1) of a tensor."""
        span = slice(begin, begin + length)
        values: torch.Tensor = self._slices[name][span] if dimension == 0 else self._slices[name][:, span]
        return values

    def dtype(self, name: str) -> torch.dtype:
        """Return a tensor's type."""
        return self.part(name, 0, 0, 1).dtype


def _files(folder: Path) -> list[Path]:
    """Return the folder's files of weights."""
    index, single = folder / INDEX_FILE, folder / SINGLE_FILE
    if not index.is_file():
        if not single.is_file():
            raise ConversionError(
                f"{folder} holds neither {SINGLE_FILE} nor {INDEX_FILE}: save the model with safetensors "
                "(save_pretrained does); pickled weights are not read"
            )
        return [single]
    try:
        names = sorted(set(json.loads(index.read_text(encoding="utf-8"))["weight_map"].values()))
    except (ValueError, KeyError, AttributeError, TypeError) as error:
        raise ConversionError(f"{index} is no index of safetensors files: {error!r}") from error
    if strange := [name for name in names if not isinstance(name, str) or Path(name).name != name]:
        raise ConversionError(f"{index} names files outside of the folder: {some(strange)}")
    if missing := [name for name in names if not (folder / name).is_file()]:
        raise ConversionError(f"{folder}: {len(missing)} files of {INDEX_FILE} are missing: {some(missing)}")
    return [folder / name for name in names]
