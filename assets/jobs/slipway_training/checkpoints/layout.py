"""What a run's folder of checkpoints looks like. Read by the kit and the converter too: nothing of PyTorch here."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Annotated, Literal

from pydantic import Field

from slipway_jobs.recipe.architecture import Architecture, PositiveInt
from slipway_jobs.recipe.section import Section

CHECKPOINT_FILE = "checkpoint.json"
"""Name of the file in each checkpoint that says what it is."""

DONE = "done"
"""Name of the file that is written last, with the sizes of the others: a folder without it is no checkpoint. A work
folder that is renamed would do as well, but /fsx would copy its files to the bucket twice, once by each name."""

DAMAGED = "damaged"
"""Name that `done` gets when a file is not what was written: the folder stays and is no checkpoint any more."""

INITIAL = "initial"
"""Name of the folder with the converted initial weights, beside the steps' folders."""

_STEP = re.compile(r"step_(\d{8,})")


class CheckpointFile(Section):
    """What a checkpoint is of and how it is split: `checkpoint.json`."""

    format: Literal["nxd", "dcp"]
    """`nxd`: NeuronX Distributed's files, `model/` and `optim/`; `dcp`: torch.distributed.checkpoint, `state/`."""

    step: Annotated[int, Field(ge=0)]
    """Optimizer steps that were taken; 0 for initial weights."""

    run: str
    """The run's name."""

    model: Architecture
    """The model."""

    tensor_parallel_size: PositiveInt = 1
    """Workers that share each layer."""

    pipeline_parallel_size: PositiveInt = 1
    """Stages that the layers are divided into."""

    data_parallel_size: PositiveInt = 1
    """Model replicas; each has its own optimizer file under ZeRO-1."""

    kv_size_multiplier: PositiveInt = 1
    """How often key and value heads are repeated."""

    fuse_qkv: bool = False
    """Whether query, key and value weights are one matrix."""

    attention_order: Literal["trn1", "trn2"] = "trn1"
    """In which order repeated key and value heads, and the query heads, lie on the workers."""


def step_directory(directory: Path, step: int) -> Path:
    """Return the folder of a step's checkpoint below a run's folder of checkpoints."""
    return directory / f"step_{step:08d}"


def step_of(checkpoint: Path) -> int | None:
    """Return the step that a checkpoint's folder is named for; none if it is no step's folder."""
    match = _STEP.fullmatch(checkpoint.name)
    return int(match[1]) if match else None


def complete_checkpoints(directory: Path) -> list[Path]:
    """Return the complete checkpoints of a run by rising step. What has no `done`, and what is no step, is left out."""
    if not directory.is_dir():
        return []
    found = [(step, path) for path in directory.iterdir() if (step := step_of(path)) is not None]
    return [path for _, path in sorted(found) if (path / DONE).is_file()]


def latest_complete(directory: Path) -> Path | None:
    """Return the complete checkpoint of the highest step; by its name, not by a file's time, which copying changes."""
    checkpoints = complete_checkpoints(directory)
    return checkpoints[-1] if checkpoints else None


def read_checkpoint_file(checkpoint: Path) -> CheckpointFile:
    """Read what a checkpoint says of itself.

    Raises:
        OSError: it cannot be read.
        pydantic.ValidationError: it is not such a file.
    """
    return CheckpointFile.model_validate_json((checkpoint / CHECKPOINT_FILE).read_text(encoding="utf-8"))
