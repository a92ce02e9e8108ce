"""Converts a model of the transformers library to a NeuronX Distributed checkpoint, to go on training from it."""

from __future__ import annotations

import tempfile
from collections import defaultdict
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import torch
from pydantic import ValidationError
from transformers import PretrainedConfig

from slipway_conversion.checkpoint_files import shard_name
from slipway_conversion.finished_folder import DONE, finished_folder
from slipway_conversion.model_folder import CONFIGURATION_FILE, read_configuration
from slipway_conversion.model_tensors import model_shapes
from slipway_conversion.nxd_split import head_size
from slipway_conversion.problems import ConversionError
from slipway_conversion.recipe_model import recipe_model
from slipway_conversion.safetensors_model import SafetensorsModel
from slipway_conversion.shard_file import TensorReference, named_as_in_torch_xla
from slipway_conversion.tensor_layout import (
    AttentionNames,
    AttentionOrder,
    Block,
    Shape,
    Split,
    TensorLayout,
    llama_layouts,
    replicated,
)
from slipway_jobs.recipe.architecture import FEATURES, Architecture
from slipway_training.checkpoints.layout import CHECKPOINT_FILE, CheckpointFile, read_checkpoint_file
from slipway_training.models.pipeline_stages import stage_layers

Parts = Mapping[str, Sequence[tuple[TensorLayout, Block]]]
"""For each tensor of a worker's file the parts of the model's tensors that make it."""


@dataclass(frozen=True)
class Sharding:
    """One model to divide over workers."""

    model: Path
    """Its folder."""

    output: Path
    """The checkpoint's folder to make."""

    tensor_parallel_size: int
    """Workers that share each layer."""

    pipeline_parallel_size: int
    """Stages that the layers are divided into."""

    kv_size_multiplier: int
    """How often key and value heads are repeated."""

    attention_order: AttentionOrder = "trn1"
    """Order of repeated heads."""

    fuse_qkv: bool = False
    """Whether query, key and value weights are one matrix."""

    xser: bool = False
    """Whether each tensor gets a file of its own."""

    run: str | None = None
    """Name of the run."""


def from_transformers(sharding: Sharding, report: Callable[[str], None]) -> None:
    """Convert a model to a checkpoint; tensors keep their types.

    Raises:
        ConversionError: the model cannot be read, or does not divide so.
        OSError: the disk is full or cannot be written.
    """
    configuration = read_configuration(sharding.model / CONFIGURATION_FILE)
    model = recipe_model(configuration, sharding.model / CONFIGURATION_FILE)
    tensors = model_shapes(configuration)
    layouts = _layouts(tensors.shapes, configuration, sharding)
    source = SafetensorsModel(sharding.model, tensors.shapes, tensors.tied)
    described = _description(sharding, model)
    parts = _parts(layouts, tensors.tied, stage_layers(model.num_hidden_layers, sharding.pipeline_parallel_size))
    with finished_folder(sharding.output) as folder:
        (folder / "model").mkdir()
        (folder / CHECKPOINT_FILE).write_text(described.model_dump_json(indent=2) + "\n", encoding="utf-8")
        for stage in range(sharding.pipeline_parallel_size):
            for rank in range(sharding.tensor_parallel_size):
                file = folder / "model" / shard_name(rank, stage)
                (_write_tensor_files if sharding.xser else _write_one_file)(file, source, parts[rank, stage])
                report(f"{file.name} written")


def is_converted(sharding: Sharding) -> bool:
    """Return whether the folder is complete, and of this model and split.

    Raises:
        ConversionError: the model's configuration cannot be read.
    """
    if not (sharding.output / DONE).is_file():
        return False
    file = sharding.model / CONFIGURATION_FILE
    try:
        there = read_checkpoint_file(sharding.output)
    except (OSError, ValidationError):
        return False
    return there == _description(sharding, recipe_model(read_configuration(file), file))


def _description(sharding: Sharding, model: Architecture) -> CheckpointFile:
    return CheckpointFile(
        format="nxd",
        step=0,
        run=sharding.run or sharding.model.name,
        model=model,
        tensor_parallel_size=sharding.tensor_parallel_size,
        pipeline_parallel_size=sharding.pipeline_parallel_size,
        kv_size_multiplier=sharding.kv_size_multiplier,
        fuse_qkv=sharding.fuse_qkv,
        attention_order=sharding.attention_order,
    )


def _layouts(shapes: Mapping[str, Shape], configuration: PretrainedConfig, sharding: Sharding) -> list[TensorLayout]:
    ranks, stages = sharding.tensor_parallel_size, sharding.pipeline_parallel_size
    if stages > configuration.num_hidden_layers:
        raise ConversionError(f"{configuration.num_hidden_layers} layers do not divide over {stages} pipeline stages")
    if configuration.model_type not in FEATURES:
        if ranks * stages > 1:
            raise ConversionError(f"{configuration.model_type} is not divided over workers; give sizes of 1")
        return [replicated(name, shape, 1) for name, shape in shapes.items()]
    heads = (configuration.num_attention_heads, configuration.num_key_value_heads)
    names: AttentionNames = "grouped"
    if sharding.fuse_qkv:
        names = "coalesced" if heads[0] == heads[1] else "grouped_fused"
    split = Split(
        query_heads=heads[0],
        key_value_heads=heads[1],
        head_size=head_size(configuration),
        tensor_parallel_size=ranks,
        kv_size_multiplier=sharding.kv_size_multiplier,
        attention_order=sharding.attention_order,
        attention_names=names,
        gate_up_fused=True,
    )
    return llama_layouts(shapes, split)


def _stage_of(name: str, stages: Sequence[range]) -> int:
    """Return the pipeline stage of a tensor."""
    words = name.split(".")
    layer = next((int(word) for word in words if word.isdigit()), None)
    if layer is None:
        return 0 if "embed_tokens" in words else len(stages) - 1
    return next(number for number, layers in enumerate(stages) if layer in layers)


def _parts(
    layouts: Sequence[TensorLayout], tied: Mapping[str, str], stages: Sequence[range]
) -> dict[tuple[int, int], dict[str, list[tuple[TensorLayout, Block]]]]:
    """Return by worker and stage what makes each tensor. A tied one has each of its names, as in PyTorch's files."""
    parts: dict[tuple[int, int], dict[str, list[tuple[TensorLayout, Block]]]] = defaultdict(lambda: defaultdict(list))
    for layout in layouts:
        for block in layout.blocks:
            for name in (block.name, *(other for other, first in tied.items() if first == block.name)):
                parts[block.rank, _stage_of(name, stages)][name].append((layout, block))
    return parts


def _fill(target: torch.Tensor, source: SafetensorsModel, parts: Sequence[tuple[TensorLayout, Block]]) -> None:
    """Copy a tensor's parts to their places."""
    for layout, block in parts:
        values = source.part(layout.name, layout.dimension, block.begin, block.length)
        target.narrow(layout.dimension, block.begin_on_rank, block.length).copy_(values)


def _shape(parts: Sequence[tuple[TensorLayout, Block]]) -> Shape:
    layout = parts[0][0]
    length = max(block.begin_on_rank + block.length for _, block in parts)
    return tuple(length if number == layout.dimension else size for number, size in enumerate(layout.shape))


def _write_one_file(file: Path, source: SafetensorsModel, parts: Parts) -> None:
    """Write a worker's state dict. Its tensors are made in files, so that they do not take memory all at once."""
    state: dict[str, torch.Tensor] = {}
    with tempfile.TemporaryDirectory(prefix=".tensors-", dir=file.parent) as scratch:
        for number, (name, of_tensor) in enumerate(parts.items()):
            shape, dtype = _shape(of_tensor), source.dtype(of_tensor[0][0].name)
            size = int(torch.Size(shape).numel())
            flat = torch.from_file(str(Path(scratch) / str(number)), shared=True, size=size, dtype=dtype)
            state[name] = flat.reshape(shape)
            _fill(state[name], source, of_tensor)
        torch.save(state, file)


def _write_tensor_files(file: Path, source: SafetensorsModel, parts: Parts) -> None:
    """Write a worker's tensors one at a time, as torch_xla's serialization does."""
    folder = file.with_name(f"{file.name}.tensors")
    folder.mkdir()
    state: dict[str, TensorReference] = {}
    information: dict[int, dict[str, object]] = {}
    for number, (name, of_tensor) in enumerate(parts.items()):
        values = torch.empty(_shape(of_tensor), dtype=source.dtype(of_tensor[0][0].name))
        _fill(values, source, of_tensor)
        torch.save(values, folder / f"tensor_{number}.pt")
        state[name] = TensorReference(number)
        information[number] = {"dtype": values.dtype, "shape": values.shape, "expert_model_parallel": False}
    torch.save(information, file.with_name(f"{file.name}.info.pt"))
    with named_as_in_torch_xla():
        torch.save(state, file)
