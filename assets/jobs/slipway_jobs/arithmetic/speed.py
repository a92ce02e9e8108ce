"""Estimates how fast the nodes train: the model's operations against what the chips can do."""

from __future__ import annotations

from slipway_jobs.arithmetic.assumptions import Accelerator, Range, assumptions
from slipway_jobs.arithmetic.model_size import training_flops_per_token
from slipway_jobs.arithmetic.placement import Placement
from slipway_jobs.arithmetic.split import accumulation
from slipway_jobs.recipe.architecture import Llama
from slipway_jobs.recipe.model import Recipe

_FLOAT32 = 1 / 4
"""Trainium's float32 operations against its bfloat16 ones: 47.5 and 190 TFLOPS."""


def accelerator(placement: Placement) -> Accelerator | None:
    """Return what is known of the nodes' chips, none on processors."""
    return assumptions().accelerator(placement.instance_type) if placement.on_neuron else None


def peak_tokens_per_second(placement: Placement) -> float | None:
    """Return the tokens of a second if the NeuronCores in use did nothing but the model's operations, at their peak.

    What a training reaches of it is its model FLOPs utilization (PaLM, arXiv 2204.02311, appendix B). None where
    nothing is known of the chips.
    """
    chip = accelerator(placement)
    if chip is None:
        return None
    recipe = placement.recipe
    used = placement.workers_per_node / placement.instance.logical_neuron_cores
    flops = recipe.hardware.nodes * placement.instance.neuron_devices * used * chip.teraflops_per_device * 1e12
    if recipe.precision == "float32":
        flops *= _FLOAT32
    return flops / training_flops_per_token(recipe.model, recipe.data.sequence_length)


def tokens_per_second(placement: Placement) -> Range | None:
    """Estimate the tokens of a second over all nodes; none where nothing is known of the chips."""
    chip, peak = accelerator(placement), peak_tokens_per_second(placement)
    if chip is None or peak is None:
        return None
    # A backward pass takes two forward passes' time, and what is computed again takes its part of a third one.
    share = _filled(placement) * 3 / (3 + _recomputed(placement.recipe))
    return chip.utilization * (peak * share)


def tokens_per_step(placement: Placement) -> int:
    """Return the tokens of an optimizer step."""
    return placement.recipe.batch.global_size * placement.recipe.data.sequence_length


def step_seconds(placement: Placement) -> Range | None:
    """Estimate the time of an optimizer step."""
    speed = tokens_per_second(placement)
    tokens = tokens_per_step(placement)
    return speed and Range(low=tokens / speed.high, high=tokens / speed.low)


def measured_steps(recipe: Recipe) -> float:
    """Return how many steps' time a measurement of the validation loss takes: a forward pass is a third of a step."""
    return recipe.data.validation.batches / 3 if recipe.data.validation else 0.0


def measurement_count(recipe: Recipe) -> int:
    """Return how often the validation loss is measured; the last step has one too."""
    return -(-recipe.steps // recipe.data.validation.interval_steps) if recipe.data.validation else 0


def _recomputed(recipe: Recipe) -> float:
    """Share of a forward pass that is done twice. Attention's scores are a small part, and count as nothing."""
    if recipe.parallelism.activation_checkpointing == "full":
        return 1.0
    if isinstance(recipe.model, Llama) and recipe.parallelism.recomputes("mlp"):
        weights = recipe.model.num_hidden_layers * 3 * recipe.model.hidden_size * recipe.model.intermediate_size
        # Two operations for each weight; a forward pass is a third of a training step's.
        return 2 * weights / (training_flops_per_token(recipe.model, recipe.data.sequence_length) / 3)
    return 0.0


def _filled(placement: Placement) -> float:
    """Share of the time that a pipeline's stages work: m of m + p - 1."""
    micro_batches, stages = accumulation(placement), placement.recipe.parallelism.pipeline_parallel_size
    return micro_batches / (micro_batches + stages - 1)
