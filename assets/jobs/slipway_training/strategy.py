"""What the training loop asks of a way to split a model over workers."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Protocol

import torch

MicroBatch = Mapping[str, torch.Tensor]
"""Tensors of shape (micro_size, sequence_length) in host memory: `input_ids` and `labels`; -100 is no label. A decoder
shifts the labels itself, as transformers' models do. For an encoder also `attention_mask`, `token_type_ids` and, of
shape (micro_size,), `next_sentence_label`."""


Snapshot = Callable[[Path], None]
"""Writes a copy of the state below a checkpoint's folder, which is there and empty; in another thread, while training
goes on. The files are on the disk when it returns (`slipway_training.durable`). It raises OSError where the disk is
full or the folder cannot be written to. The loop writes what else belongs there."""


class Strategy(Protocol):
    """A model, its optimizer and their places on the workers. All workers call each method at the same time."""

    data_parallel_rank: int
    """Which share of a step's samples this worker reads; equal on the workers of one model replica."""

    data_parallel_size: int
    """Number of model replicas."""

    checkpoint_format: str
    """`nxd` (NeuronX Distributed's files) or `dcp` (torch.distributed.checkpoint)."""

    gradient_norm: torch.Tensor
    """Norm of the whole gradient of the last step, before it was clipped; it may still be on the device."""

    def train_step(self, micro_batches: Sequence[MicroBatch], learning_rate: float) -> torch.Tensor:
        """Take one optimizer step and return the loss, averaged over all samples of the step on all workers.

        The tensor may still be on the device: reading it waits for the step.
        """
        ...

    def measure(self, micro_batches: Sequence[MicroBatch]) -> torch.Tensor:
        """Return the loss, averaged as in `train_step`, without gradients or dropout; training goes on as without it.

        The tensor may still be on the device.
        """
        ...

    def reload(self) -> None:
        """Take the state to host memory and back, as a resume does.

        PyTorch/XLA compiles another graph for the first step after that. It lets the compile job meet it.
        """
        ...

    def snapshot(self) -> Snapshot:
        """Copy model and optimizer state to host memory, and return what writes the copy.

        Training may go on meanwhile: the copy keeps the state of this moment.
        """
        ...

    def load(self, directory: Path) -> None:
        """Read what a snapshot wrote, with the same split.

        Raises:
            OSError: a file is missing or cannot be read.
            ValueError: the files are of another model or split.
        """
        ...
