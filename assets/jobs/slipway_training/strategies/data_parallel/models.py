"""The models of data parallelism: transformers' own, on one device."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

import torch
import torch.utils.checkpoint
from transformers import BertForPreTraining, PreTrainedModel

from slipway_jobs.recipe.model import Recipe
from slipway_training.models.transformers_configuration import LIBRARY_NAMES, model_class, transformers_configuration

_RECOMPUTED = {"none": (), "selective": ("Attention",), "full": ("Layer", "DecoderLayer")}
"""What is computed again: ends of the names of the library's classes."""


def make_model(recipe: Recipe, weights: Path | None, device: torch.device) -> PreTrainedModel:
    """Return the recipe's model on a device, in training mode, with weights in float32.

    Args:
        recipe: The recipe.
        weights: A model in the transformers format; none for random weights, the same on all workers.
        device: Where to.

    Raises:
        OSError: a file of the weights is missing.
        ValueError: the weights are of another model.
    """
    torch.manual_seed(recipe.data.seed)
    kind: Any = model_class(recipe.model.architecture)
    configuration = transformers_configuration(recipe.model)
    # Plain matrix products: PyTorch/XLA has no scaled_dot_product_attention of its own.
    configuration._attn_implementation = "eager"
    configuration.use_cache = False
    model = kind(configuration) if weights is None else _pretrained(kind, configuration, weights)
    model.float().to(device)
    # Moved to an XLA device, a shared parameter becomes two (aws-neuron-samples: dp_bert_large_hf_pretrain_hdf5.py).
    model.tie_weights()
    if isinstance(model, BertForPreTraining):
        model.cls.predictions.decoder.bias = model.cls.predictions.bias
    prefix = LIBRARY_NAMES[recipe.model.architecture]
    _recompute(model, {f"{prefix}{end}" for end in _RECOMPUTED[recipe.parallelism.activation_checkpointing]}, device)
    trained: PreTrainedModel = model.train()
    return trained


def _pretrained(kind: Any, configuration: Any, weights: Path) -> PreTrainedModel:
    try:
        model, found = kind.from_pretrained(
            weights, config=configuration, torch_dtype=torch.float32, local_files_only=True, output_loading_info=True
        )
    except RuntimeError as error:
        first = "\n".join(line.strip() for line in str(error).splitlines()[:5])
        raise ValueError(f"initial_weights: {weights} does not fit the recipe's model: {first}") from error
    wrong = [f"{name} is missing" for name in found["missing_keys"]]
    wrong += [f"{name} is not in the recipe's model" for name in found["unexpected_keys"] if "position_ids" not in name]
    if wrong:
        more = [f"and {len(wrong) - 5} more"] if len(wrong) > 5 else []
        raise ValueError("\n".join([f"initial_weights: {weights} does not fit the recipe's model:", *wrong[:5], *more]))
    loaded: PreTrainedModel = model
    return loaded


def _recompute(model: PreTrainedModel, classes: set[str], device: torch.device) -> None:
    """Let parts of the model be computed again in the backward pass instead of keeping what they computed."""
    for module in model.modules():
        if type(module).__name__ in classes:
            module.forward = partial(_checkpoint(device), module.forward, use_reentrant=False)


def _checkpoint(device: torch.device) -> Callable[..., Any]:
    if device.type != "xla":
        return torch.utils.checkpoint.checkpoint
    # torch_xla's one keeps the compiler from merging the second computation with the first.
    from torch_xla.utils.checkpoint import checkpoint  # noqa: PLC0415

    function: Callable[..., Any] = checkpoint
    return function
