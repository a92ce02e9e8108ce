"""Converts a checkpoint to a folder that the transformers library reads."""

from __future__ import annotations

import shutil
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Literal

import torch
from transformers import PretrainedConfig

from slipway_conversion.finished_folder import DONE, finished_folder
from slipway_conversion.model_folder import write_configuration, write_tokenizer
from slipway_conversion.nxd_split import ToldSplit, open_nxd
from slipway_conversion.origin import ORIGIN_FILE, Origin, Precision, read_origin
from slipway_conversion.problems import ConversionError
from slipway_conversion.safetensors_folder import GIB, SHARD_BYTES, PlannedTensor, SafetensorsFolder
from slipway_jobs.recipe.architecture import Architecture, Llama

if TYPE_CHECKING:
    from slipway_conversion.model_tensors import ModelTensors

Report = Callable[[str], None]
"""Takes one line of progress."""

DTYPES: dict[str, torch.dtype] = {"bfloat16": torch.bfloat16, "float32": torch.float32, "float16": torch.float16}
"""Types by their names."""


@dataclass(frozen=True)
class Conversion:
    """One checkpoint to convert."""

    checkpoint: Path
    """Its folder."""

    output: Path
    """The folder to make."""

    configuration: PretrainedConfig
    """The model's."""

    split: ToldSplit
    """What is known of how it is split."""

    format: Literal["nxd", "dcp"] = "nxd"
    """Format of the checkpoint."""

    model: Architecture | None = None
    """The recipe's model section; none for a checkpoint from elsewhere."""

    precision: Precision | None = None
    """Type of the weights; none for that of the checkpoint."""

    tokenizer: str | None = None
    """Folder or name of the tokenizer that goes with the model."""

    run: str | None = None
    """Name of the run; its folder may be replaced by a later step's."""

    step: int | None = None
    """Optimizer steps that were taken."""

    shard_bytes: int = SHARD_BYTES
    """Size of a file of weights at most."""


def to_transformers(conversion: Conversion, report: Report) -> bool:
    """Convert a checkpoint; do nothing when the folder is there already.

    Returns:
        Whether there was something to do.

    Raises:
        ConversionError: the checkpoint cannot be converted, or the folder holds something else.
        OSError: the disk is full or cannot be written.
    """
    if _is_there(conversion):
        return False
    tensors, split = _open(conversion)
    dtype = DTYPES[conversion.precision] if conversion.precision else tensors.dtype
    planned = [PlannedTensor(name, shape, dtype) for name, shape in tensors.shapes.items()]
    _check_space(conversion.output, sum(tensor.size for tensor in planned))
    with finished_folder(conversion.output) as folder:
        write_configuration(folder, conversion.configuration, dtype)
        if conversion.tokenizer:
            write_tokenizer(folder, conversion.tokenizer, conversion.configuration)
        with SafetensorsFolder(folder, planned, conversion.shard_bytes) as writer:
            _write(tensors, writer, planned, report)
        origin = _origin(conversion, dtype, split)
        (folder / ORIGIN_FILE).write_text(origin.model_dump_json(indent=2) + "\n", encoding="utf-8")
    return True


def _open(conversion: Conversion) -> tuple[ModelTensors, ToldSplit | None]:
    """Check the checkpoint's files and return its tensors."""
    if conversion.format == "nxd":
        return open_nxd(conversion.checkpoint, conversion.configuration, conversion.split)
    # Only these checkpoints need torch.distributed.
    from slipway_conversion.dcp import read_layout  # noqa: PLC0415

    if not isinstance(conversion.model, Llama):
        raise ConversionError(f"{conversion.checkpoint}: only a Llama is trained in the format dcp")
    return read_layout(conversion.checkpoint, conversion.model), None


def _write(tensors: ModelTensors, writer: SafetensorsFolder, planned: list[PlannedTensor], report: Report) -> None:
    """Write all tensors; report each time another tenth is done."""
    row_bytes = {tensor.name: tensor.size // max(1, tensor.shape[0] if tensor.shape else 1) for tensor in planned}
    total = sum(tensor.size for tensor in planned)
    written, reported = 0, 0
    for name, first_row, rows in _finite(tensors):
        writer.write_rows(name, first_row, rows) if rows.dim() else writer.write(name, rows)
        written += row_bytes[name] * (rows.shape[0] if rows.dim() else 1)
        if (tenths := written * 10 // max(1, total)) > reported:
            reported = tenths
            report(f"{tenths * 10} % of {total / GIB:.1f} GiB written, last {name}")
    if tensors.drifted:
        name, most = max(tensors.drifted.items(), key=lambda item: item[1])
        report(
            f"warning: in {len(tensors.drifted)} tensors the copies of several workers differ by up to {most:.2%} "
            f"({name}); the first worker's are taken"
        )


def _finite(tensors: ModelTensors) -> Iterator[tuple[str, int, torch.Tensor]]:
    """Pass tensors on as long as all their values are numbers."""
    for name, first_row, rows in tensors.pieces():
        # The sum needs no memory, and is finite only if all values are; a large one may overflow without need.
        if not torch.isfinite(rows.sum()) and not torch.isfinite(rows).all():
            raise ConversionError(
                f"{name} holds values that are not finite numbers: the training has diverged. Convert an earlier "
                "checkpoint, and look at the loss in the run's metrics"
            )
        yield name, first_row, rows


def _origin(conversion: Conversion, dtype: torch.dtype, split: ToldSplit | None) -> Origin:
    return Origin(
        run=conversion.run,
        step=conversion.step,
        checkpoint=str(conversion.checkpoint),
        format=conversion.format,
        precision=str(dtype).removeprefix("torch."),
        tensor_parallel_size=split.tensor_parallel_size if split else None,
        pipeline_parallel_size=split.pipeline_parallel_size if split else None,
        kv_size_multiplier=split.kv_size_multiplier if split else None,
        attention_order=split.attention_order if split else None,
    )


def _is_there(conversion: Conversion) -> bool:
    """Return whether the folder is the conversion's result already.

    Raises:
        ConversionError: it holds something that must not be replaced.
    """
    output = conversion.output
    if not output.exists() or (output.is_dir() and not any(output.iterdir())):
        return False
    origin = read_origin(output) if (output / DONE).is_file() else None
    if (
        origin is not None
        and (origin.run, origin.step, origin.checkpoint)
        == (conversion.run, conversion.step, str(conversion.checkpoint))
        and conversion.precision in (None, origin.precision)
    ):
        return True
    if origin is not None and conversion.run is not None and origin.run == conversion.run:
        return False
    raise ConversionError(f"{output} exists and is not this checkpoint's model: remove it, or name another folder")


def _check_space(output: Path, needed: int) -> None:
    """Refuse to start what the disk cannot hold."""
    parent = next(folder for folder in output.parents if folder.exists())
    if (free := shutil.disk_usage(parent).free) < needed:
        raise ConversionError(f"{parent} has {free / GIB:.1f} GiB free, the model needs {needed / GIB:.1f} GiB")
