"""Fills the parts of parameters that a worker holds: at random, or from a folder of the transformers library.

A worker never has more of a tensor in memory than its rows, and what a parameter holds does not depend on how it is
split.
"""

from __future__ import annotations

import hashlib
import math
from collections.abc import Mapping
from pathlib import Path

import torch
from torch.distributed.tensor import DTensor

from slipway_conversion.model_folder import CONFIGURATION_FILE, read_configuration
from slipway_conversion.model_tensors import model_shapes
from slipway_conversion.problems import ConversionError
from slipway_conversion.recipe_model import check_same_model, recipe_model
from slipway_conversion.safetensors_model import SafetensorsModel
from slipway_jobs.recipe.architecture import Llama
from slipway_training.models.transformers_configuration import transformers_configuration

_BLOCK_ELEMENTS = 2**20
"""Random numbers are drawn in blocks of rows of about this size."""

Part = tuple[slice, ...]
"""Where a worker's part lies in the whole tensor."""


def local_part(parameter: DTensor) -> Part:
    """Return which part of a parameter this worker holds; it is empty where there are more workers than rows."""
    # What torch.distributed.checkpoint asks tensors for.
    (chunk,) = parameter.__create_chunk_list__()  # type: ignore[no-untyped-call]
    return tuple(slice(offset, offset + size) for offset, size in zip(chunk.offsets, chunk.sizes, strict=True))


@torch.no_grad()
def fill_at_random(parameters: Mapping[str, DTensor], seed: int, standard_deviation: float) -> None:
    """Fill matrices with normally distributed numbers, the norms' weights with ones and biases with zeros.

    So does transformers.

    The numbers follow from the seed, the parameter's name and the row, not from the worker that draws them.
    """
    for name, parameter in parameters.items():
        local = parameter.to_local()
        if parameter.ndim == 1:
            local.fill_(0.0 if name.endswith(".bias") else 1.0)
            continue
        rows, *others = local_part(parameter)
        height = max(1, _BLOCK_ELEMENTS // math.prod(parameter.shape[1:]))
        for number in range(rows.start // height, -(-rows.stop // height) if local.numel() else 0):
            block = _random_block(f"{seed}/{name}/{number}", (height, *parameter.shape[1:]), standard_deviation)
            first, last = max(rows.start, number * height), min(rows.stop, (number + 1) * height)
            taken = block[first - number * height : last - number * height]
            local[first - rows.start : last - rows.start].copy_(taken[(slice(None), *others)])


def _random_block(key: str, shape: tuple[int, ...], standard_deviation: float) -> torch.Tensor:
    digest = hashlib.blake2b(key.encode(), digest_size=8).digest()
    generator = torch.Generator().manual_seed(int.from_bytes(digest, "little") >> 1)
    return torch.empty(shape, dtype=torch.float32).normal_(0.0, standard_deviation, generator=generator)


@torch.no_grad()
def fill_from_folder(parameters: Mapping[str, DTensor], folder: Path, llama: Llama) -> None:
    """Read each parameter's part from the safetensors files of a model in the transformers format.

    Args:
        parameters: The parameters by transformers' names.
        folder: Holds `config.json` and `model.safetensors`, or several such files and their index.
        llama: The recipe's model.

    Raises:
        ValueError: A file is missing or damaged, or the files are of another model; all differences in one message.
    """
    file = folder / CONFIGURATION_FILE
    expected = model_shapes(transformers_configuration(llama))
    try:
        # Equal shapes are not enough: heads and rotary constants show in the configuration only.
        check_same_model(recipe_model(read_configuration(file), file), llama, file)
        model = SafetensorsModel(folder, expected.shapes, expected.tied)
    except ConversionError as error:
        raise ValueError(str(error)) from error
    for name, parameter in parameters.items():
        rows, *others = local_part(parameter)
        if parameter.to_local().numel():
            values = model.part(name, 0, rows.start, rows.stop - rows.start)
            parameter.to_local().copy_(values[(slice(None), *others)])
