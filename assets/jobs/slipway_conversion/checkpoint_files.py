"""Finds the files of a NeuronX Distributed checkpoint and says what is missing."""

from __future__ import annotations

import re
from dataclasses import dataclass
from pathlib import Path

from slipway_conversion.problems import ConversionError, some

DONE = "done"
_FILE = re.compile(r"dp_rank_(\d+)(?:_ep_rank_(\d+))?_tp_rank_(\d+)_pp_rank_(\d+)\.pt")


@dataclass(frozen=True)
class CheckpointFiles:
    """The model's files of a checkpoint."""

    checkpoint: Path
    """Its folder."""

    stages: tuple[tuple[Path, ...], ...]
    """For each pipeline stage the files of its tensor-parallel workers."""

    @property
    def tensor_parallel_size(self) -> int:
        """Workers that share each layer."""
        return len(self.stages[0])


def shard_name(tp_rank: int, pp_rank: int) -> str:
    """Return the name of a worker's file of the model."""
    return f"dp_rank_00_tp_rank_{tp_rank:02d}_pp_rank_{pp_rank:02d}.pt"


def find_files(
    checkpoint: Path, tensor_parallel_size: int | None, pipeline_parallel_size: int | None
) -> CheckpointFiles:
    """Find the files of all workers.

    Args:
        checkpoint: its folder, which holds `model/` and `done`.
        tensor_parallel_size: how many workers share a layer; none to go by the files.
        pipeline_parallel_size: how many stages there are; none to go by the files.

    Raises:
        ConversionError: the checkpoint is not complete, or has files of another split.
    """
    model = checkpoint / "model"
    if not model.is_dir():
        raise ConversionError(f"{checkpoint} is no checkpoint: it has no folder model/. Name the folder of one step")
    if not (checkpoint / DONE).is_file():
        raise ConversionError(
            f"{checkpoint} has no file {DONE}: it was not saved to the end. Use an earlier checkpoint; only if you "
            f"know that all of it is there, make an empty {checkpoint / DONE}"
        )
    found = _files_by_rank(model)
    ranks = tensor_parallel_size or max(tp for tp, _ in found) + 1
    stages = pipeline_parallel_size or max(pp for _, pp in found) + 1
    wanted = [(tp, pp) for pp in range(stages) for tp in range(ranks)]
    if missing := [shard_name(*place) for place in wanted if place not in found]:
        raise ConversionError(
            f"{model}: {len(missing)} of {len(wanted)} files are missing for {ranks} tensor-parallel workers and "
            f"{stages} pipeline stages: {some(missing)}. Copy the checkpoint again, or use another one"
        )
    if extra := sorted(found[place].name for place in set(found) - set(wanted)):
        raise ConversionError(
            f"{model}: more files than {ranks} tensor-parallel workers and {stages} pipeline stages have: "
            f"{some(extra)}. Two checkpoints of different splits seem to be in one folder"
        )
    return CheckpointFiles(checkpoint, tuple(tuple(found[tp, pp] for tp in range(ranks)) for pp in range(stages)))


def _files_by_rank(model: Path) -> dict[tuple[int, int], Path]:
    """Return the files by tensor- and pipeline-parallel rank; other data-parallel replicas hold the same."""
    found: dict[tuple[int, int], Path] = {}
    for file in sorted(model.iterdir()):
        match = _FILE.fullmatch(file.name)
        if match is None or int(match[1]) > 0:
            continue
        if int(match[2] or 0) > 0:
            raise ConversionError(f"{file}: the model has experts (ep_rank {match[2]}), which are not converted")
        place = (int(match[3]), int(match[4]))
        if place in found:
            raise ConversionError(
                f"{found[place]} and {file} are of the same worker: remove the one that is not wanted"
            )
        found[place] = file
    if not found:
        raise ConversionError(f"{model} holds no file like {shard_name(0, 0)}: this is no checkpoint of the model")
    return found
