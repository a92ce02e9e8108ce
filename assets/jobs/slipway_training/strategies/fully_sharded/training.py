"""Trains a Llama with FSDP2 and tensor parallelism: its steps, and its checkpoints."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from contextlib import nullcontext
from pathlib import Path
from typing import TYPE_CHECKING, Any

import torch
import torch.distributed as dist
from torch import nn
from torch.distributed.checkpoint.api import CheckpointException
from torch.distributed.checkpoint.staging import BlockingAsyncStager
from torch.distributed.checkpoint.state_dict_loader import load as load_state
from torch.distributed.checkpoint.state_dict_saver import save as save_state
from torch.distributed.device_mesh import init_device_mesh
from torch.distributed.tensor import DTensor
from torch.distributed.tensor.parallel import loss_parallel

from slipway_jobs.recipe.architecture import Llama
from slipway_training.device import AGREEMENT_TIMEOUT
from slipway_training.strategies.fully_sharded.reader import CheckedReader
from slipway_training.strategies.fully_sharded.sharding import sharded_llama
from slipway_training.strategies.fully_sharded.weights import fill_at_random, fill_from_folder
from slipway_training.strategy import MicroBatch, Snapshot

if TYPE_CHECKING:
    from slipway_jobs.recipe.model import Recipe
    from slipway_jobs.run import TrainingRun
    from slipway_training.device import Workers

STATE = "state"
"""Folder of torch.distributed.checkpoint in a checkpoint."""

NO_LABEL = -100
"""Label of a position whose prediction does not count."""

COMPILERS = {"neuron": "neuron", "cpu": None}
"""Backend of torch.compile on each device."""


def build(run: TrainingRun, workers: Workers, weights: Path | None) -> FullySharded:
    """Make the strategy; see `slipway_training.strategies.build`.

    Raises:
        ValueError: files of the weights are missing or of another model, or the recipe cannot be split this way.
    """
    return FullySharded(run.recipe, workers, weights, compiler=COMPILERS[run.recipe.hardware.device])


class FullySharded:
    """A Llama, split over tensor-parallel workers by matrices and over data-parallel ones by rows, and AdamW."""

    checkpoint_format = "dcp"

    def __init__(self, recipe: Recipe, workers: Workers, weights: Path | None, compiler: str | None) -> None:
        """Make model and optimizer on the workers' mesh: tensor-parallel neighbours have consecutive ranks.

        Args:
            recipe: What to train.
            workers: This process and its place among the others.
            weights: A model in the transformers format; None starts with random weights that follow from the seed.
            compiler: Backend of torch.compile; None computes eagerly.
        """
        llama = _checked_llama(recipe, workers.size)
        tensor_parallel_size = recipe.parallelism.tensor_parallel_size
        self._recipe = recipe
        self._workers = workers
        self._mesh = init_device_mesh(
            workers.device.type,
            (workers.size // tensor_parallel_size, tensor_parallel_size),
            mesh_dim_names=("dp", "tp"),
        )
        # One reduction for the gradient's norm instead of one in each dimension: DTensor finds the flattened mesh.
        self._mesh._flatten()
        self._writers = dist.new_group(backend="gloo", timeout=AGREEMENT_TIMEOUT)
        self.data_parallel_rank = self._mesh.get_local_rank("dp")
        self.data_parallel_size = self._mesh["dp"].size()
        self._model: Any = sharded_llama(recipe, llama, self._mesh, compiler)
        self._parameters: dict[str, DTensor] = dict(self._model.named_parameters())
        if weights is None:
            fill_at_random(self._parameters, recipe.data.seed, llama.initializer_range)
        else:
            fill_from_folder(self._parameters, weights, llama)
        self._optimizer = _adamw(self._parameters, recipe)

    def train_step(self, micro_batches: Sequence[MicroBatch], learning_rate: float) -> torch.Tensor:
        """Take one optimizer step and return the loss, averaged over all samples of the step on all workers.

        Gradients are added up over the workers after each micro-batch, so that a worker never keeps more of them than
        its own part; the communication overlaps with the backward pass.
        """
        for group in self._optimizer.param_groups:
            group["lr"] = learning_rate
        mean = torch.zeros((), device=self._workers.device)
        for number, micro_batch in enumerate(micro_batches, start=1):
            self._model.set_is_last_backward(number == len(micro_batches))
            with loss_parallel() if self._mesh["tp"].size() > 1 else nullcontext():
                loss = self._loss(micro_batch) / len(micro_batches)
                loss.backward()  # type: ignore[no-untyped-call]
            mean += _whole(loss.detach())
        self.gradient_norm = clip_gradients(self._parameters.values(), self._recipe.optimizer.gradient_clipping)
        self._optimizer.step()
        self._optimizer.zero_grad()
        dist.all_reduce(mean, group=self._mesh.get_group("dp"))
        return mean / self.data_parallel_size

    def measure(self, micro_batches: Sequence[MicroBatch]) -> torch.Tensor:
        """Return the loss; see `Strategy`."""
        mean = torch.zeros((), device=self._workers.device)
        with torch.no_grad(), loss_parallel() if self._mesh["tp"].size() > 1 else nullcontext():
            for micro_batch in micro_batches:
                mean += _whole(self._loss(micro_batch) / len(micro_batches))
        # The root's group stays gathered for a backward pass, which does not come.
        self._model.reshard()
        dist.all_reduce(mean, group=self._mesh.get_group("dp"))
        return mean / self.data_parallel_size

    def _loss(self, micro_batch: MicroBatch) -> torch.Tensor:
        """Return the mean cross-entropy of the next tokens, as transformers' ForCausalLMLoss: in float32."""
        device = self._workers.device
        tokens = micro_batch["input_ids"].to(device)
        following = nn.functional.pad(micro_batch["labels"][:, 1:], (0, 1), value=NO_LABEL).to(device)
        # Given, because the model would count them by its own states, which have a part of the sequence only.
        positions = torch.arange(tokens.shape[1], device=device)
        output = self._model(input_ids=tokens, position_ids=positions[None], cache_position=positions)
        logits = output.logits.flatten(0, 1).float()
        return nn.functional.cross_entropy(logits, following.flatten(), ignore_index=NO_LABEL)

    def reload(self) -> None:
        """Do nothing: no graph is compiled here."""

    def snapshot(self) -> Snapshot:
        """Copy the state for torch.distributed.checkpoint: every worker writes its own part, replicated parts once.

        Tensors only, so that nothing but tensors has to be read back. The optimizer's settings are the recipe's. Where
        a worker cannot write its part, writing raises OSError on all workers. They agree in a process group of their
        own: in the loop's, messages of two threads would be mixed up.
        """
        copied = BlockingAsyncStager().stage(self._state())

        def write(directory: Path) -> None:
            state = directory / STATE
            state.mkdir(parents=True, exist_ok=True)
            try:
                save_state(copied, checkpoint_id=state, process_group=self._writers)
            except CheckpointException as error:
                raise OSError(f"{state} cannot be written: {_causes(error)}") from error

        return write

    def load(self, directory: Path) -> None:
        """Read what a snapshot wrote with any number of data-parallel and tensor-parallel workers.

        Raises:
            OSError: a file is missing or cannot be read.
            ValueError: the files are of another model, damaged, or not to be trusted.
        """
        reader = CheckedReader(directory / STATE)
        state = self._state()
        expected = {f"{part}.{key}": tuple(value.shape) for part in state for key, value in state[part].items()}
        stored = {key: tensor.shape for key, tensor in reader.tensors.items()}
        if stored != expected:
            differing = sorted(key for key in stored.keys() | expected.keys() if stored.get(key) != expected.get(key))
            shown = "; ".join(f"{key}: {stored.get(key)}, the recipe's {expected.get(key)}" for key in differing[:5])
            raise ValueError(f"{directory} is of another model: {len(differing)} tensors differ: {shown}")
        try:
            load_state(state, storage_reader=reader, process_group=self._workers.control)
        except CheckpointException as error:
            kind = OSError if any(isinstance(cause[0], OSError) for cause in error.failures.values()) else ValueError
            raise kind(f"{directory} cannot be read: {_causes(error)}") from error
        for parameter_state in self._optimizer.state.values():
            parameter_state["step"].copy_(state["optim"]["step"])

    def _state(self) -> dict[str, dict[str, torch.Tensor]]:
        """Return the tensors of a checkpoint; they are the ones that train, not copies, except for the step."""
        optim: dict[str, torch.Tensor] = {}
        for name, parameter in self._parameters.items():
            optim |= {f"{name}.{part}": self._optimizer.state[parameter][part] for part in ("exp_avg", "exp_avg_sq")}
            optim["step"] = self._optimizer.state[parameter]["step"].clone()
        return {"model": dict(self._parameters), "optim": optim}


def _causes(error: CheckpointException) -> str:
    """Return what went wrong on which worker; PyTorch's exception is no `Exception` and shows traces."""
    return "; ".join(f"worker {rank}: {cause[0]}" for rank, cause in sorted(error.failures.items()))


def _checked_llama(recipe: Recipe, workers: int) -> Llama:
    """Return the recipe's model.

    Raises:
        ValueError: it cannot be split; `slipway-job check` finds the same before a job starts.
    """
    llama, split = recipe.model, recipe.parallelism
    if not isinstance(llama, Llama) or split.pipeline_parallel_size > 1 or recipe.optimizer.name != "adamw":
        raise ValueError("fully_sharded trains Llama models with AdamW, without pipeline parallelism")
    divided = {
        "workers": workers,
        "num_attention_heads": llama.num_attention_heads,
        "num_key_value_heads": llama.num_key_value_heads,
        "intermediate_size": llama.intermediate_size,
        "vocab_size": llama.vocab_size,
        "sequence_length": recipe.data.sequence_length,
    }
    wrong = [f"{name} {number}" for name, number in divided.items() if number % split.tensor_parallel_size]
    if wrong:
        raise ValueError(f"tensor_parallel_size {split.tensor_parallel_size} does not divide {', '.join(wrong)}")
    return llama


def _adamw(parameters: Mapping[str, DTensor], recipe: Recipe) -> torch.optim.AdamW:
    """Make the optimizer with all its states, so that memory that is too small shows at the start."""
    settings = recipe.optimizer
    groups: list[dict[str, Any]] = [
        {"params": [p for p in parameters.values() if p.ndim > 1], "weight_decay": settings.weight_decay},
        {"params": [p for p in parameters.values() if p.ndim == 1], "weight_decay": 0.0},
    ]
    # One parameter after the other: fused and foreach kernels want all tensors on one mesh, and fused ones CUDA.
    optimizer = torch.optim.AdamW(
        groups,
        lr=settings.learning_rate,
        betas=(settings.beta1, settings.beta2),
        eps=settings.epsilon,
        foreach=False,
        fused=False,
    )
    for parameter in parameters.values():
        optimizer.state[parameter] = {
            "step": torch.zeros(()),  # on the host, where AdamW computes with it
            "exp_avg": torch.zeros_like(parameter),
            "exp_avg_sq": torch.zeros_like(parameter),
        }
    return optimizer


def clip_gradients(parameters: Iterable[DTensor], largest_norm: float) -> torch.Tensor:
    """Scale gradients down so that the norm of all of them, on all workers, is `largest_norm` at most.

    Returns the norm before.

    The norms of parts are added up over the mesh; nothing is read on the host.
    """
    with_gradient = [parameter for parameter in parameters if parameter.grad is not None]
    norm = _whole(nn.utils.get_total_norm((p.grad for p in with_gradient if p.grad is not None), foreach=False))
    nn.utils.clip_grads_with_norm_(with_gradient, largest_norm, norm, foreach=False)
    return norm


def _whole(value: torch.Tensor) -> torch.Tensor:
    """Return a number as every worker of its mesh has it."""
    return value.full_tensor() if isinstance(value, DTensor) else value
