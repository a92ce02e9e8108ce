"""The files of a checkpoint: one for each worker that holds something of its own, named as NeuronX Distributed does.

Plain `torch.save`, not torch_xla's serialization (`use_xser`): one file for each worker, which any PyTorch reads with
`weights_only`; NeuronX Distributed's `load_checkpoint` reads them too. The price, one copy of a worker's part in host
memory, is small against what the nodes have.
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any

import torch
from torch import nn

from slipway_training.durable import sync_folder, write_tensors
from slipway_training.strategy import Snapshot


@dataclass(frozen=True)
class Place:
    """A worker's place in the split model."""

    data: int
    """Which replica."""

    tensor: int
    """Which share of each layer."""

    pipeline: int
    """Which stage."""

    @property
    def model_file(self) -> str:
        """Its weights, below the checkpoint; replicas hold the same, and the first one writes."""
        return f"model/dp_rank_00_tp_rank_{self.tensor:02d}_pp_rank_{self.pipeline:02d}.pt"

    @property
    def optimizer_file(self) -> str:
        """Its share of the optimizer's state, below the checkpoint."""
        return f"optim/dp_rank_{self.data:02d}_tp_rank_{self.tensor:02d}_pp_rank_{self.pipeline:02d}.pt"

    def writer(self, model: dict[str, Any] | None, optimizer: dict[str, Any]) -> Snapshot:
        """Return what writes this worker's files: its weights, where it has to write any, and its optimizer's state."""

        def write_files(directory: Path) -> None:
            if model is not None:
                write(directory / self.model_file, model)
            write(directory / self.optimizer_file, optimizer)

        return write_files


def write(file: Path, state: dict[str, Any]) -> None:
    """Write a state dictionary whose tensors are in host memory.

    Raises:
        OSError: it cannot be written.
    """
    file.parent.mkdir(parents=True, exist_ok=True)
    write_tensors(file, state)
    sync_folder(file.parent)


def read(file: Path) -> dict[str, Any]:
    """Read a state dictionary.

    Raises:
        OSError: it cannot be read.
        ValueError: it is no state dictionary.
    """
    try:
        state: dict[str, Any] = torch.load(file, map_location="cpu", weights_only=True)
    except OSError:
        raise
    except Exception as error:
        raise ValueError(f"{file}: not a file of a checkpoint: {error}") from error
    return state


def load_model(model: nn.Module, file: Path) -> None:
    """Read a worker's weights.

    Raises:
        OSError: the file cannot be read.
        ValueError: it is of another model or split.
    """
    try:
        model.load_state_dict(read(file))
    except RuntimeError as error:
        raise ValueError(f"{file}: weights of another model or split: {error}") from error
