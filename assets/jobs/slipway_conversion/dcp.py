"""A checkpoint of torch.distributed.checkpoint as tensors of the transformers library, a few rows at a time.

The strategy `fully_sharded` trains the transformers library's own model, so names and shapes are the same; a worker's
part of a tensor is a block of it. Nothing has to be converted for the way back: the strategy reads folders of the
transformers library itself.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from itertools import groupby
from pathlib import Path

import torch

from slipway_conversion.dcp_metadata import StoredPart, StoredTensor, read_metadata, read_part
from slipway_conversion.model_tensors import model_shapes
from slipway_conversion.problems import ConversionError, some
from slipway_conversion.tensor_layout import Shape
from slipway_jobs.recipe.architecture import Llama
from slipway_training.checkpoints.layout import DONE
from slipway_training.models.transformers_configuration import transformers_configuration

STATE = "state"
"""The folder of torch.distributed.checkpoint in a checkpoint."""

_MODEL = "model."
"""What keys of the model begin with; the optimizer's begin with `optim.`."""


_BLOCK_ELEMENTS = 2**22
"""Elements of the blocks of rows that are given to the converter at once."""


class DcpCheckpoint:
    """The model's tensors of a checkpoint whose files were checked."""

    def __init__(self, state: Path, tensors: Mapping[str, StoredTensor]) -> None:
        """Take tensors by the names, and in the order, of the transformers library."""
        self._state, self._tensors = state, tensors

    @property
    def shapes(self) -> dict[str, Shape]:
        """All tensors in the order of the model; one that is tied to another is left out."""
        return {name: tensor.shape for name, tensor in self._tensors.items()}

    @property
    def dtype(self) -> torch.dtype:
        """Type that holds all of the checkpoint's values."""
        dtypes = {tensor.dtype for tensor in self._tensors.values()}
        return dtypes.pop() if len(dtypes) == 1 else torch.float32

    @property
    def drifted(self) -> dict[str, float]:
        """Nothing: each part of a tensor is in one file."""
        return {}

    def pieces(self) -> Iterator[tuple[str, int, torch.Tensor]]:
        """Yield name, first row and rows, until each row of each tensor was there once.

        In memory are the rows of one data-parallel worker, and while they are put together from several
        tensor-parallel workers' columns one of these. They are given in small blocks, so that a copy is small too:
        checking and converting values makes some.

        Raises:
            ConversionError: a file is damaged.
        """
        for name, tensor in self._tensors.items():
            for first_row, parts in groupby(tensor.parts, key=lambda part: part.offsets[0]):
                rows = self._rows(tensor, list(parts))
                height = max(1, _BLOCK_ELEMENTS // max(1, rows[0].numel()))
                for begin in range(0, rows.shape[0], height):
                    yield name, first_row + begin, rows[begin : begin + height]
                del rows  # before the next ones are read

    def _rows(self, tensor: StoredTensor, parts: list[StoredPart]) -> torch.Tensor:
        """Return the rows that some blocks, which lie beside each other, make up."""
        if len(parts) == 1:
            return self._read(tensor, parts[0])
        rows = torch.empty((parts[0].sizes[0], *tensor.shape[1:]), dtype=tensor.dtype)
        for part in parts:
            columns = tuple(slice(begin, begin + size) for begin, size in zip(part.offsets, part.sizes, strict=True))
            rows[(slice(None), *columns[1:])] = self._read(tensor, part)
        return rows

    def _read(self, tensor: StoredTensor, part: StoredPart) -> torch.Tensor:
        try:
            return read_part(self._state, tensor, part)
        except (ValueError, OSError) as error:
            raise ConversionError(f"{error}. Copy the checkpoint again, or use another one") from error


def read_layout(checkpoint: Path, model: Llama) -> DcpCheckpoint:
    """Find the model in a checkpoint and check everything but its values.

    Args:
        checkpoint: A checkpoint's folder, which holds `state/` and `done`.
        model: The model that was trained.

    Raises:
        ConversionError: The checkpoint is not complete, not to be trusted, or of another model; all differences.
    """
    state = checkpoint / STATE
    if not state.is_dir():
        raise ConversionError(f"{checkpoint} has no folder {STATE}/. Name the folder of one step, of the format dcp")
    if not (checkpoint / DONE).is_file():
        raise ConversionError(
            f"{checkpoint} has no file {DONE}: it was not saved to the end. Use an earlier checkpoint"
        )
    try:
        stored = read_metadata(state)
    except (OSError, ValueError) as error:
        raise ConversionError(f"{error}. Copy the checkpoint again, or use another one") from error
    found = {key.removeprefix(_MODEL): tensor for key, tensor in stored.items() if key.startswith(_MODEL)}
    expected = model_shapes(transformers_configuration(model)).shapes
    if problems := _differences(state, found, expected):
        raise ConversionError(*problems)
    return DcpCheckpoint(state, {name: found[name] for name in expected})


def _differences(state: Path, found: Mapping[str, StoredTensor], expected: Mapping[str, Shape]) -> list[str]:
    problems = [
        f"{state}: {name} is {found[name].shape}, but the configuration makes it {shape}"
        for name, shape in expected.items()
        if name in found and found[name].shape != shape
    ]
    if missing := [name for name in expected if name not in found]:
        problems.append(f"{state}: {len(missing)} tensors of the model are missing: {some(missing)}")
    if unknown := sorted(found.keys() - expected.keys()):
        problems.append(f"{state}: {len(unknown)} tensors are not part of the model: {some(unknown)}")
    problems += [f"{state}: {n} is {t.dtype}, no weight" for n, t in found.items() if not t.dtype.is_floating_point]
    return problems
