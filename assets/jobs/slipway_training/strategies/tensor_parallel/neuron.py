"""Tensor and pipeline parallelism with ZeRO-1 on Trainium, by NeuronX Distributed 0.17 (PyTorch/XLA)."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import neuronx_distributed as nxd
import torch
import torch_xla
import torch_xla.core.xla_model as xm
from neuronx_distributed.parallel_layers import parallel_state
from neuronx_distributed.parallel_layers.utils import move_all_tensor_to_cpu
from neuronx_distributed.utils.model_utils import get_platform_lnc
from torch import Tensor

from slipway_jobs.recipe.architecture import Llama as LlamaConfiguration
from slipway_jobs.recipe.attention_order import attention_order
from slipway_jobs.recipe.model import Recipe
from slipway_jobs.run import TrainingRun
from slipway_training.models.llama import DecoderLayer, Llama, NextTokenLoss, Stage
from slipway_training.models.llama_initialization import HeadOrder
from slipway_training.models.parallel_layers import RMSNorm
from slipway_training.schedule import set_learning_rate
from slipway_training.strategies.tensor_parallel.neuron_layers import NeuronLayers, initialize
from slipway_training.strategies.tensor_parallel.precision import precision
from slipway_training.strategies.tensor_parallel.recomputation import recomputed_classes
from slipway_training.strategies.tensor_parallel.shard_files import Place, load_model, read
from slipway_training.strategies.tensor_parallel.weight_decay import decays
from slipway_training.strategy import MicroBatch, Snapshot


class NeuronTensorParallel:
    """A Llama divided over NeuronCores (slipway_training.strategy.Strategy).

    Weights and computation are in the recipe's precision; gradients are summed, and master weights and AdamW's states
    kept, in float32. The gradient's norm counts repeated key and value heads as often as they are repeated, as NeuronX
    Distributed does, so that clipping begins a little earlier than on processors.

    Proven with NeuronX Distributed's own Python code over gloo: every call here, the losses of all splits (equal to
    those on processors), saving, loading, and that NeuronX Distributed reads the files. Not proven without Trainium:
    that the graphs compile, and what they cost.
    """

    checkpoint_format = "nxd"

    def __init__(self, run: TrainingRun, weights: Path | None) -> None:
        recipe = run.recipe
        replicas = run.world_size // (
            recipe.parallelism.tensor_parallel_size * recipe.parallelism.pipeline_parallel_size
        )
        configuration = _configuration(recipe, recipe.batch.global_size // (recipe.batch.micro_size * replicas))
        self.data_parallel_rank: int = parallel_state.get_data_parallel_rank()
        self.data_parallel_size: int = parallel_state.get_data_parallel_size()
        self.pipelined = recipe.parallelism.pipeline_parallel_size > 1
        self.place = Place(
            self.data_parallel_rank,
            parallel_state.get_tensor_model_parallel_rank(),
            parallel_state.get_pipeline_model_parallel_rank(),
        )
        self.model = nxd.initialize_parallel_model(configuration, lambda: _model(recipe))
        if not self.pipelined:
            # Moved to an XLA device, a shared weight becomes two; NeuronX Distributed ties again what its
            # `analyze_shared_parameters` finds, which is nothing where the root module has no weights of its own.
            self.model.original_module().tie_weights()
        if weights:
            # In front of the optimizer, which copies them as its master weights.
            load_model(self.model, weights / self.place.model_file)
        self.optimizer = _optimizer(configuration, recipe, self.model)

    def train_step(self, micro_batches: Sequence[MicroBatch], learning_rate: float) -> Tensor:
        """Take one optimizer step and return the loss, averaged over all samples of the step on all workers."""
        if self.pipelined:
            loss: Tensor = self.model.run_train(**_joined(micro_batches))
        else:
            loss = self._loss(micro_batches)
        set_learning_rate(self.optimizer, learning_rate, xm.xla_device())
        self.optimizer.step()
        self.gradient_norm = self.optimizer.grad_norm
        self.optimizer.zero_grad()
        torch_xla.sync()
        return loss

    def measure(self, micro_batches: Sequence[MicroBatch]) -> Tensor:
        """Return the loss; see `Strategy`. A Llama has no dropout."""
        with torch.no_grad():
            loss: Tensor = (
                self.model.run_eval(**_joined(micro_batches)) if self.pipelined else self._loss(micro_batches)
            )
        torch_xla.sync()
        return loss

    def _loss(self, micro_batches: Sequence[MicroBatch]) -> Tensor:
        device = xm.xla_device()
        total = torch.zeros((), device=device)
        for micro_batch in micro_batches:
            tokens, labels = (micro_batch[name].to(device) for name in ("input_ids", "labels"))
            loss = self.model(tokens, labels) / len(micro_batches)
            if torch.is_grad_enabled():
                loss.backward()
            total += loss.detach()
            # One graph for each micro-batch: all of them have the same one.
            torch_xla.sync()
        replicas = parallel_state.get_data_parallel_replica_groups()
        xm.all_reduce(xm.REDUCE_SUM, [total], scale=1.0 / self.data_parallel_size, groups=replicas, pin_layout=False)
        return total

    def reload(self) -> None:
        """Take the state to host memory and back; see `Strategy`."""
        torch_xla.sync()
        self.model.load_state_dict(move_all_tensor_to_cpu(self.model.state_dict()))
        self.optimizer.load_state_dict(move_all_tensor_to_cpu(self.optimizer.state_dict()))
        torch_xla.sync()

    def snapshot(self) -> Snapshot:
        """Copy weights and this worker's share of the optimizer's state; see `Strategy`.

        Not NeuronX Distributed's `async_save` (trainer/checkpoint.py of v2.28.0), though it uses a thread too. `done`
        comes there only when the next checkpoint begins, so that a worker which dies before that loses the last one.
        And where one worker cannot write, the others wait for it forever.
        """
        torch_xla.sync()
        model = move_all_tensor_to_cpu(self.model.state_dict()) if self.data_parallel_rank == 0 else None
        return self.place.writer(model, move_all_tensor_to_cpu(self.optimizer.state_dict()))

    def load(self, directory: Path) -> None:
        """Read what a snapshot wrote with the same split and the same number of replicas.

        Raises:
            OSError: a file is missing or cannot be read.
            ValueError: the files are of another model, split or device.
        """
        load_model(self.model, directory / self.place.model_file)
        file = directory / self.place.optimizer_file
        state = read(file)
        if "sharded_master_weights" not in state:
            raise ValueError(f"{file}: the optimizer file was not written by training on Trainium")
        try:
            self.optimizer.load_state_dict(state)
        except (ValueError, RuntimeError, KeyError) as error:
            raise ValueError(f"{file}: {error}") from error
        torch_xla.sync()


def _joined(micro_batches: Sequence[MicroBatch]) -> dict[str, Tensor]:
    """Return what a pipeline divides into micro-batches itself."""
    return {name: torch.cat([part[name] for part in micro_batches]) for name in ("input_ids", "labels")}


def _configuration(recipe: Recipe, micro_batches: int) -> dict[str, Any]:
    """Return NeuronX Distributed's configuration; making it sets up the groups of workers."""
    parallelism = recipe.parallelism
    pipelined = parallelism.pipeline_parallel_size > 1
    configuration: dict[str, Any] = nxd.neuronx_distributed_config(
        tensor_parallel_size=parallelism.tensor_parallel_size,
        pipeline_parallel_size=parallelism.pipeline_parallel_size,
        pipeline_config=_pipeline(micro_batches) if pipelined else None,
        optimizer_config={
            "zero_one_enabled": True,
            "grad_clipping": True,
            "max_grad_norm": recipe.optimizer.gradient_clipping,
        },
        activation_checkpoint_config=recomputed_classes(parallelism) or None,
        sequence_parallel=parallelism.tensor_parallel_size > 1,
        # Each worker would hold the whole model while it is divided into stages.
        model_init_config={"meta_device_init": True, "param_init_fn": initialize} if pipelined else None,
        mixed_precision_config={
            "use_master_weights": True,
            "use_fp32_grad_acc": True,
            "use_master_weights_in_ckpt": True,
        },
        lnc_size=int(get_platform_lnc()),
    )
    return configuration


def _pipeline(micro_batches: int) -> dict[str, Any]:
    return {
        "transformer_layer_cls": DecoderLayer,
        "num_microbatches": micro_batches,
        "output_loss_value_spec": True,
        "input_names": ["input_ids", "labels"],
        "auto_partition": True,
        "leaf_module_cls": [RMSNorm.__name__, NextTokenLoss.__name__],
        "broadcast_and_average_loss": True,
        "use_zero1_optimizer": True,
        "use_optimizer_wrapper": True,
    }


def _model(recipe: Recipe) -> Llama:
    model, parallelism = recipe.model, recipe.parallelism
    assert isinstance(model, LlamaConfiguration)
    heads = HeadOrder(attention_order(recipe.hardware), model.num_key_value_heads, parallelism.kv_size_multiplier)
    layers = NeuronLayers(heads, precision(recipe), recipe.data.sequence_length, fuse_qkv=parallelism.fuse_qkv)
    return Llama(model, layers, Stage(range(model.num_hidden_layers)), recipe.data.seed)


def _optimizer(configuration: dict[str, Any], recipe: Recipe, model: Any) -> Any:
    settings = recipe.optimizer
    named = list(model.named_parameters())
    groups = [
        {"params": [weight for name, weight in named if decays(name)], "weight_decay": settings.weight_decay},
        {"params": [weight for name, weight in named if not decays(name)], "weight_decay": 0.0},
    ]
    return nxd.initialize_parallel_optimizer(
        configuration,
        torch.optim.AdamW,
        [group for group in groups if group["params"]],
        lr=settings.learning_rate,
        betas=(settings.beta1, settings.beta2),
        eps=settings.epsilon,
        # Bias corrections as tensors: as numbers they are part of the graph, which is compiled again when they change.
        capturable=True,
        # With ZeRO-1 NeuronX Distributed does not pass `max_grad_norm` on, and would clip at 1.
        max_norm=settings.gradient_clipping,
    )
