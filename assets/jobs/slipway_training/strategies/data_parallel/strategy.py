"""Data parallelism: the training step, and its checkpoints."""

from __future__ import annotations

from collections.abc import Sequence
from copy import deepcopy
from pathlib import Path
from typing import Any

import torch
from transformers import PreTrainedModel

from slipway_jobs.run import TrainingRun
from slipway_training.device import Workers
from slipway_training.durable import write_tensors
from slipway_training.schedule import set_learning_rate
from slipway_training.strategies.data_parallel.averaging import average_gradients, average_loss, end_graph
from slipway_training.strategies.data_parallel.models import make_model
from slipway_training.strategies.data_parallel.optimizer import make_optimizer
from slipway_training.strategies.data_parallel.weight_names import from_checkpoint, to_checkpoint
from slipway_training.strategy import MicroBatch, Snapshot

_FILE = "dp_rank_00_tp_rank_00_pp_rank_00.pt"
"""NeuronX Distributed's name for the only part of a model that is not split."""


def build(run: TrainingRun, workers: Workers, weights: Path | None) -> DataParallel:
    """Make the strategy; see `slipway_training.strategies.build`."""
    model = make_model(run.recipe, weights, workers.device)
    return DataParallel(run, workers, model)


class DataParallel:
    """Each worker has the whole model and its share of a step's samples."""

    checkpoint_format = "nxd"

    def __init__(self, run: TrainingRun, workers: Workers, model: PreTrainedModel) -> None:
        """Take a model that is on the worker's device and the same on all workers."""
        self.data_parallel_rank, self.data_parallel_size = workers.rank, workers.size
        self._recipe, self._workers, self._model = run.recipe, workers, model
        self._optimizer = make_optimizer(run.recipe.optimizer, model, workers.device)

    def train_step(self, micro_batches: Sequence[MicroBatch], learning_rate: float) -> torch.Tensor:
        """Take one optimizer step; see `Strategy`.

        On `xla` each micro-batch is one graph and the update another, the same ones in every step but the very first:
        two steps compile all. It can only be tried on Trainium.
        """
        device = self._workers.device
        set_learning_rate(self._optimizer, learning_rate, device)
        loss = torch.zeros((), dtype=torch.float32, device=device)
        for micro_batch in micro_batches:
            part = self._loss(micro_batch) / len(micro_batches)
            part.backward()  # type: ignore[no-untyped-call]
            loss = loss + part.detach().float()
            end_graph(device)
        # All workers' gradients are averaged before they are clipped: it is the norm of the average that counts.
        average_gradients(self._optimizer, self._workers)
        clipping = self._recipe.optimizer.gradient_clipping
        self.gradient_norm = torch.nn.utils.clip_grad_norm_(self._model.parameters(), clipping)
        self._optimizer.step()
        self._optimizer.zero_grad()
        loss = average_loss(loss, self._workers)
        end_graph(device)
        return loss

    def measure(self, micro_batches: Sequence[MicroBatch]) -> torch.Tensor:
        """Return the loss; see `Strategy`."""
        device = self._workers.device
        loss = torch.zeros((), dtype=torch.float32, device=device)
        self._model.eval()
        with torch.no_grad():
            for micro_batch in micro_batches:
                loss = loss + (self._loss(micro_batch) / len(micro_batches)).float()
                end_graph(device)
        self._model.train()
        loss = average_loss(loss, self._workers)
        end_graph(device)
        return loss

    def _loss(self, micro_batch: MicroBatch) -> torch.Tensor:
        device = self._workers.device
        inputs = {name: tensor.to(device) for name, tensor in micro_batch.items()}
        # Weights stay in float32, autocast computes the products of matrices in bfloat16 (on `xla` as upstream's
        # --enable_pt_autocast does).
        with torch.autocast(device.type, torch.bfloat16, enabled=self._recipe.precision == "bfloat16"):
            loss: torch.Tensor = self._model(**inputs).loss
        return loss

    def reload(self) -> None:
        """Take the state to host memory and back; see `Strategy`."""
        self._restore(_on_host(self._model.state_dict()), _on_host(self._optimizer.state_dict()))

    def snapshot(self) -> Snapshot:
        """Copy the state; all workers have the same, and worker 0 writes it. See `Strategy`."""
        if self._workers.rank != 0:
            return _write_nothing
        end_graph(self._workers.device)
        model = to_checkpoint(_on_host(self._model.state_dict()), self._recipe)
        parts = (("model", model), ("optim", _on_host(self._optimizer.state_dict())))
        if self._workers.device.type == "cpu":
            parts = deepcopy(parts)  # host memory is where it trains

        def write(directory: Path) -> None:
            for name, state in parts:
                (directory / name).mkdir(exist_ok=True)
                write_tensors(directory / name / _FILE, state)

        return write

    def load(self, directory: Path) -> None:
        """Read the state; see `Strategy`. The files are mapped: the workers of a node share the memory."""
        try:
            model = torch.load(directory / "model" / _FILE, map_location="cpu", weights_only=True, mmap=True)
            optimizer = torch.load(directory / "optim" / _FILE, map_location="cpu", weights_only=True, mmap=True)
            self._restore(from_checkpoint(model, self._recipe), optimizer)
        except (RuntimeError, KeyError) as error:
            raise ValueError(f"{directory} is not a checkpoint of this model: {error}") from error

    def _restore(self, model: dict[str, torch.Tensor], optimizer: dict[str, Any]) -> None:
        self._model.load_state_dict(model)
        self._optimizer.load_state_dict(optimizer)
        end_graph(self._workers.device)


def _write_nothing(_directory: Path) -> None:
    """Write what workers other than 0 do."""


def _on_host(state: Any) -> Any:
    """Return a state with its tensors in host memory."""
    if isinstance(state, torch.Tensor):
        return state.detach().cpu()
    if isinstance(state, dict):
        return {key: _on_host(value) for key, value in state.items()}
    if isinstance(state, list):
        return [_on_host(value) for value in state]
    return state
