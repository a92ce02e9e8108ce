"""Tensor and pipeline parallelism with ZeRO-1 on processors, over gloo."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from copy import deepcopy
from pathlib import Path

import torch
import torch.distributed as dist
from torch import Tensor
from torch.distributed.algorithms._checkpoint.checkpoint_wrapper import (
    apply_activation_checkpointing,
    checkpoint_wrapper,
)
from torch.distributed.pipelining import PipelineStage, Schedule1F1B
from torch.distributed.pipelining.schedules import PipelineScheduleSingle

from slipway_jobs.recipe.architecture import Llama as LlamaConfiguration
from slipway_jobs.recipe.attention_order import attention_order
from slipway_jobs.recipe.model import Recipe
from slipway_jobs.run import TrainingRun
from slipway_training.models.llama import Llama, Stage
from slipway_training.models.llama_initialization import HeadOrder
from slipway_training.models.pipeline_stages import stage_layers
from slipway_training.strategies.tensor_parallel.gloo_groups import Groups, make_groups
from slipway_training.strategies.tensor_parallel.gloo_layers import GlooLayers
from slipway_training.strategies.tensor_parallel.precision import precision
from slipway_training.strategies.tensor_parallel.recomputation import recomputed_classes
from slipway_training.strategies.tensor_parallel.shard_files import Place, load_model, read
from slipway_training.strategies.tensor_parallel.zero import ZeroAdamW
from slipway_training.strategy import MicroBatch, Snapshot


class GlooTensorParallel:
    """A Llama divided over processors (slipway_training.strategy.Strategy).

    It takes the same steps as the Neuron strategy and writes the same model files, so that a recipe can be tried out
    and its checkpoint converted anywhere. Proven by tests: the losses of all splits equal each other and those of
    transformers' LlamaForCausalLM.
    """

    checkpoint_format = "nxd"

    def __init__(self, run: TrainingRun, weights: Path | None) -> None:
        recipe = run.recipe
        self.recipe = recipe
        self.groups = make_groups(recipe.parallelism, attention_order(recipe.hardware))
        self.data_parallel_rank = self.groups.data.rank
        self.data_parallel_size = self.groups.data.size
        self.place = Place(self.groups.data.rank, self.groups.tensor.rank, self.groups.pipeline.rank)
        self.model = build_model(recipe, self.groups)
        if weights:
            load_model(self.model, weights / self.place.model_file)
        self.optimizer = ZeroAdamW(list(self.model.named_parameters()), recipe.optimizer, self.groups)
        self.schedule = self._schedule() if self.groups.pipeline.size > 1 else None

    def train_step(self, micro_batches: Sequence[MicroBatch], learning_rate: float) -> Tensor:
        """Take one optimizer step and return the loss, averaged over all samples of the step on all workers."""
        if self.schedule:
            loss = self._pipeline_losses(micro_batches, self.schedule.step)
        else:
            loss = self._losses(micro_batches)
        self.gradient_norm = self.optimizer.step(learning_rate)
        dist.all_reduce(loss, group=self.groups.data.workers)
        return loss / self.data_parallel_size

    def measure(self, micro_batches: Sequence[MicroBatch]) -> Tensor:
        """Return the loss; see `Strategy`. A Llama has no dropout."""
        with torch.no_grad():
            if self.schedule:
                loss = self._pipeline_losses(micro_batches, self.schedule.eval)
            else:
                loss = torch.stack([self.model(one["input_ids"], one["labels"]) for one in micro_batches]).mean()
        dist.all_reduce(loss, group=self.groups.data.workers)
        return loss / self.data_parallel_size

    def _losses(self, micro_batches: Sequence[MicroBatch]) -> Tensor:
        total = torch.zeros(())
        for micro_batch in micro_batches:
            loss = self.model(micro_batch["input_ids"], micro_batch["labels"]) / len(micro_batches)
            loss.backward()
            total += loss.detach()
        return total

    def _pipeline_losses(self, micro_batches: Sequence[MicroBatch], run: Callable[..., object]) -> Tensor:
        losses: list[Tensor] = []
        arguments = [torch.cat([batch["input_ids"] for batch in micro_batches])] if self.model.stage.first else []
        labels = torch.cat([batch["labels"] for batch in micro_batches]) if self.model.stage.last else None
        run(*arguments, target=labels, losses=losses if self.model.stage.last else None)
        loss = torch.stack([loss.detach() for loss in losses]).mean() if losses else torch.zeros(())
        # Only the last stage has a loss: the sum is its.
        dist.all_reduce(loss, group=self.groups.pipeline.workers)
        return loss

    def _schedule(self) -> PipelineScheduleSingle:
        """Make the schedule of pipeline steps (1F1B, as NeuronX Distributed's); shapes are given, so none is traced."""
        recipe, tensor, pipeline = self.recipe, self.groups.tensor, self.groups.pipeline
        model, batch, length = recipe.model, recipe.batch.micro_size, recipe.data.sequence_length
        assert isinstance(model, LlamaConfiguration)
        states = torch.empty(
            (length // tensor.size, batch, model.hidden_size),
            dtype=precision(recipe),
            requires_grad=True,
            device="meta",
        )
        logits = torch.empty(
            (length, batch, model.vocab_size // tensor.size), dtype=precision(recipe), requires_grad=True, device="meta"
        )
        tokens = torch.empty((batch, length), dtype=torch.int64, device="meta")
        stage = _GlooStage(
            self.model,
            pipeline.rank,
            pipeline.size,
            torch.device("cpu"),
            input_args=tokens if self.model.stage.first else states,
            output_args=logits if self.model.stage.last else states,
            group=pipeline.workers,
        )
        micro_batches = recipe.batch.global_size // (batch * self.data_parallel_size)
        loss = self.model.loss if self.model.stage.last else _no_loss
        return Schedule1F1B(stage, micro_batches, loss_fn=loss)

    def reload(self) -> None:
        """Do nothing: no graph is compiled here."""

    def snapshot(self) -> Snapshot:
        """Copy weights and this worker's share of the optimizer's state; see `Strategy`."""
        model = deepcopy(self.model.state_dict()) if self.data_parallel_rank == 0 else None
        return self.place.writer(model, deepcopy(self.optimizer.state_dict()))

    def load(self, directory: Path) -> None:
        """Read what a snapshot wrote with the same split and the same number of replicas.

        Raises:
            OSError: a file is missing or cannot be read.
            ValueError: the files are of another model, split or device.
        """
        load_model(self.model, directory / self.place.model_file)
        file = directory / self.place.optimizer_file
        try:
            self.optimizer.load_state_dict(read(file))
        except ValueError as error:
            raise ValueError(f"{file}: {error}") from error


class _GlooStage(PipelineStage):
    """A stage that does not warm its connections up: gloo needs none.

    PyTorch 2.9's warm-up sends 8 bytes where the neighbour expects 4, at which gloo ends the process.
    """

    def _get_init_p2p_neighbors_ops(self) -> list[dist.P2POp]:
        return []


def build_model(recipe: Recipe, groups: Groups) -> Llama:
    """Make this worker's part of the model, with random weights."""
    model, parallelism = recipe.model, recipe.parallelism
    assert isinstance(model, LlamaConfiguration)
    heads = HeadOrder(attention_order(recipe.hardware), model.num_key_value_heads, parallelism.kv_size_multiplier)
    layers = GlooLayers(groups, heads, precision(recipe), fuse_qkv=parallelism.fuse_qkv)
    number, stages = groups.pipeline.rank, groups.pipeline.size
    stage = Stage(stage_layers(model.num_hidden_layers, stages)[number], number == 0, number == stages - 1)
    llama = Llama(model, layers, stage, recipe.data.seed)
    recomputed = recomputed_classes(parallelism)
    if recomputed:
        apply_activation_checkpointing(
            llama, checkpoint_wrapper_fn=checkpoint_wrapper, check_fn=lambda module: isinstance(module, recomputed)
        )
    return llama


def _no_loss(_output: Tensor, _labels: Tensor) -> Tensor:
    """Stand in for the loss on stages that have none: the schedule asks for one to know that it trains."""
    raise AssertionError("only the last stage has a loss")
