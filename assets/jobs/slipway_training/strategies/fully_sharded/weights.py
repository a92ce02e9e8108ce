"""Fills the parts of parameters that a worker holds: at random, or from a folder of the transformers library.

No tensor is ever whole on a worker, and what a parameter holds does not depend on how it is split.
"""

from __future__ import annotations

import hashlib
import json
import math
from collections.abc import Iterable, Mapping
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import torch
from safetensors import SafetensorError, safe_open
from torch.distributed.tensor import DTensor

_BLOCK_ELEMENTS = 2**20
"""Random numbers are drawn in blocks of rows of about this size."""

_INDEX = "model.safetensors.index.json"
_SINGLE = "model.safetensors"

Part = tuple[slice, ...]
"""Where a worker's part lies in the whole tensor."""


def local_part(parameter: DTensor) -> Part:
    """Return which part of a parameter this worker holds; it is empty where there are more workers than rows."""
    # What torch.distributed.checkpoint asks tensors for.
    (chunk,) = parameter.__create_chunk_list__()  # type: ignore[no-untyped-call]
    return tuple(slice(offset, offset + size) for offset, size in zip(chunk.offsets, chunk.sizes, strict=True))


@torch.no_grad()
def fill_at_random(parameters: Mapping[str, DTensor], seed: int, standard_deviation: float) -> None:
    """Fill matrices with normally distributed numbers and vectors (the norms' weights) with ones, as transformers does.

    The numbers follow from the seed, the parameter's name and the row, not from the worker that draws them.
    """
    for name, parameter in parameters.items():
        local = parameter.to_local()
        if parameter.ndim == 1:
            local.fill_(1.0)
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
def fill_from_folder(parameters: Mapping[str, DTensor], folder: Path) -> None:
    """Read each parameter's part from the safetensors files of a model in the transformers format.

    Args:
        parameters: The parameters by transformers' names.
        folder: Holds `model.safetensors`, or several files and their index.

    Raises:
        OSError: A file is missing or cannot be read.
        ValueError: The files are of another model; all differences in one message.
    """
    with ExitStack() as files:
        tensors = _open_tensors(folder, files)
        problems = _differences(parameters, tensors)
        if problems:
            raise ValueError(f"{folder} is not the recipe's model: " + "; ".join(problems))
        for name, parameter in parameters.items():
            part = local_part(parameter)
            if parameter.to_local().numel():
                parameter.to_local().copy_(tensors[name][part])


def _open_tensors(folder: Path, files: ExitStack) -> dict[str, Any]:
    """Open all files of a model; return a view of each tensor, whose values are read when it is sliced."""
    views: dict[str, Any] = {}
    for file in _weight_files(folder):
        try:
            opened = files.enter_context(safe_open(file, framework="pt"))  # type: ignore[no-untyped-call]
        except SafetensorError as error:
            raise ValueError(f"{file} is no whole safetensors file: {error}") from error
        views |= {name: opened.get_slice(name) for name in opened.keys()}  # noqa: SIM118  not a mapping
    return views


def _weight_files(folder: Path) -> list[Path]:
    index = folder / _INDEX
    if not index.is_file():
        return [folder / _SINGLE]
    try:
        names = set(json.loads(index.read_text(encoding="utf-8"))["weight_map"].values())
    except (ValueError, KeyError, AttributeError, TypeError) as error:
        raise ValueError(f"{index} is not the index of a model: no weight_map of names and files") from error
    if strange := sorted(str(name) for name in names if not isinstance(name, str) or Path(name).name != name):
        raise ValueError(f"{index} names files outside of its folder: {', '.join(strange)}")
    return [folder / name for name in sorted(names)]


def _differences(parameters: Mapping[str, DTensor], tensors: Mapping[str, Any]) -> list[str]:
    shapes = {name: tuple(view.get_shape()) for name, view in tensors.items()}
    problems = [
        f"{name} has shape {shapes[name]}, the recipe's {tuple(parameter.shape)}"
        for name, parameter in parameters.items()
        if name in shapes and shapes[name] != tuple(parameter.shape)
    ]
    # A tied output layer may be stored as well; old files hold the rotary embedding's constants.
    ignored = {"lm_head.weight"} | {name for name in shapes if name.endswith("rotary_emb.inv_freq")}
    return [
        *problems,
        *_listed("missing", parameters.keys() - shapes.keys()),
        *_listed("unknown", shapes.keys() - parameters.keys() - ignored),
    ]


def _listed(what: str, names: Iterable[str], shown: int = 5) -> list[str]:
    ordered = sorted(names)
    more = f" and {len(ordered) - shown} more" if len(ordered) > shown else ""
    return [f"{what}: {', '.join(ordered[:shown])}{more}"] if ordered else []
