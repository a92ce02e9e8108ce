"""What tensors a model of the transformers library has, and what a checkpoint must offer to be converted to it."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Protocol

import torch
from transformers import BertForPreTraining, LlamaForCausalLM, PretrainedConfig
from transformers.modeling_utils import no_init_weights

from slipway_conversion.tensor_layout import Shape

MODEL_CLASSES = {"llama": LlamaForCausalLM, "bert": BertForPreTraining}
"""The library's model for each `model_type` of a configuration."""


class ModelTensors(Protocol):
    """A checkpoint whose files were checked, as the tensors of the transformers library."""

    @property
    def shapes(self) -> Mapping[str, Shape]:
        """All tensors in the order of the model; one that is tied to another is left out."""
        ...

    @property
    def dtype(self) -> torch.dtype:
        """Type that holds all of the checkpoint's values."""
        ...

    def pieces(self) -> Iterator[tuple[str, int, torch.Tensor]]:
        """Yield name, first row and rows, until each row of each tensor was there once."""
        ...


def _state_on_no_device(configuration: PretrainedConfig) -> dict[str, torch.Tensor]:
    """Return the library's own names and shapes: its model, made without memory for its weights."""
    with torch.device("meta"), no_init_weights():
        model = MODEL_CLASSES[configuration.model_type](configuration)
        model.tie_weights()
    state: dict[str, torch.Tensor] = model.state_dict(keep_vars=True)
    return state


def expected_shapes(configuration: PretrainedConfig) -> dict[str, Shape]:
    """Return names and shapes of all tensors of a model; a tied tensor only under its first name."""
    tied = tied_names(configuration)
    return {name: tuple(v.shape) for name, v in _state_on_no_device(configuration).items() if name not in tied}


def tied_names(configuration: PretrainedConfig) -> dict[str, str]:
    """Return for each name that is only another name of a tensor the one that the files have."""
    first: dict[int, str] = {}
    tied = {}
    for name, value in _state_on_no_device(configuration).items():
        if (known := first.setdefault(id(value), name)) != name:
            tied[name] = known
    return tied
