"""Finds out how a NeuronX Distributed checkpoint is split, from what was told and what its files hold."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from transformers import PretrainedConfig

from slipway_conversion.checkpoint_files import find_files
from slipway_conversion.model_tensors import model_shapes
from slipway_conversion.nxd_checkpoint import NxdCheckpoint, survey
from slipway_conversion.problems import ConversionError
from slipway_conversion.tensor_layout import (
    ATTENTION_SUFFIXES,
    AttentionNames,
    AttentionOrder,
    Shape,
    Split,
    llama_layouts,
    replicated,
)
from slipway_jobs.recipe.architecture import FEATURES


@dataclass(frozen=True)
class ToldSplit:
    """What is known of a checkpoint without looking at its files; none where it is not."""

    tensor_parallel_size: int | None = None
    """Workers that share each layer."""

    pipeline_parallel_size: int | None = None
    """Stages that the layers are divided into."""

    kv_size_multiplier: int | None = None
    """How often key and value heads are repeated."""

    attention_order: AttentionOrder = "trn1"
    """Order of repeated heads."""


def open_nxd(checkpoint: Path, configuration: PretrainedConfig, told: ToldSplit) -> tuple[NxdCheckpoint, ToldSplit]:
    """Look at all files of a checkpoint and check them.

    Args:
        checkpoint: its folder, which holds `model/` and `done`.
        configuration: the model's.
        told: what is known of the split.

    Returns:
        The tensors, and the split with all its numbers.

    Raises:
        ConversionError: the checkpoint is not complete, or does not fit the configuration or the split.
    """
    files = find_files(checkpoint, told.tensor_parallel_size, told.pipeline_parallel_size)
    found = survey(files)
    model = model_shapes(configuration)
    ranks = files.tensor_parallel_size
    multiplier = 1
    if configuration.model_type in FEATURES:
        split = _split(checkpoint / "model", configuration, ranks, told, found.shape_of)
        layouts, multiplier = llama_layouts(model.shapes, split), split.kv_size_multiplier
    elif ranks > 1:
        raise ConversionError(f"{checkpoint}: {configuration.model_type} is converted from one worker, not {ranks}")
    else:
        layouts = [replicated(name, shape, ranks) for name, shape in model.shapes.items()]
    tensors = NxdCheckpoint(files, found, layouts, model.tied)
    return tensors, ToldSplit(ranks, len(files.stages), multiplier, told.attention_order)


def head_size(configuration: PretrainedConfig) -> int:
    """Return the width of an attention head."""
    told: int | None = getattr(configuration, "head_dim", None)
    size: int = told or configuration.hidden_size // configuration.num_attention_heads
    return size


def _split(
    folder: Path, configuration: PretrainedConfig, ranks: int, told: ToldSplit, shape_of: Mapping[str, Shape]
) -> Split:
    names = _attention_names(folder, shape_of)
    split = Split(
        query_heads=configuration.num_attention_heads,
        key_value_heads=configuration.num_key_value_heads,
        head_size=head_size(configuration),
        tensor_parallel_size=ranks,
        kv_size_multiplier=1,
        attention_order=told.attention_order,
        attention_names=names,
        gate_up_fused=any(name.endswith("gate_up_proj.weight") for name in shape_of),
    )
    measured = _measured_multiplier(folder, split, shape_of)
    if told.kv_size_multiplier not in (None, measured):
        raise ConversionError(
            f"{folder}: key and value heads are there {measured} times, but kv_size_multiplier is "
            f"{told.kv_size_multiplier}. Give the one that was trained with, or leave it out"
        )
    return Split(**{**vars(split), "kv_size_multiplier": measured})


def _attention_names(folder: Path, shape_of: Mapping[str, Shape]) -> AttentionNames:
    for names, suffixes in ATTENTION_SUFFIXES.items():
        if any(name.endswith(f"self_attn.{suffixes[0]}") for name in shape_of):
            return names
    known = ", ".join(suffixes[0] for suffixes in ATTENTION_SUFFIXES.values())
    raise ConversionError(f"{folder}: no tensor is named self_attn. and one of {known}: this is no Llama")


def _measured_multiplier(folder: Path, split: Split, shape_of: Mapping[str, Shape]) -> int:
    """Return how often key heads are repeated, from the rows that a worker has."""
    suffix = ATTENTION_SUFFIXES[split.attention_names][1]
    name = next((name for name in shape_of if name.endswith(f"self_attn.{suffix}")), None)
    if name is None or split.attention_names in ("coalesced", "separate"):
        return 1
    rows = shape_of[name][0] * split.tensor_parallel_size
    if split.attention_names == "grouped_fused":
        rows = (rows - split.query_heads * split.head_size) // 2
    multiplier, rest = divmod(rows, split.key_value_heads * split.head_size)
    if rest or multiplier < 1:
        raise ConversionError(
            f"{folder}: {name} has {shape_of[name][0]} rows on each of {split.tensor_parallel_size} workers, which "
            f"does not fit {split.query_heads} query heads and {split.key_value_heads} key and value heads of "
            f"{split.head_size}, whatever kv_size_multiplier is. The configuration must be the one that was trained"
        )
    return multiplier
