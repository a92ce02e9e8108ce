"""What tensors a model of the transformers library has, and what a checkpoint must offer to be converted to it."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Protocol

import torch
from transformers import PretrainedConfig
from transformers.modeling_utils import no_init_weights

from slipway_conversion.tensor_layout import Shape
from slipway_training.models.transformers_configuration import model_class


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

    @property
    def drifted(self) -> Mapping[str, float]:
        """Tensors of which several workers hold copies that differ a little, after `pieces`: the largest difference."""
        ...

    def pieces(self) -> Iterator[tuple[str, int, torch.Tensor]]:
        """Yield name, first row and rows, until each row of each tensor was there once."""
        ...


@dataclass(frozen=True)
class ModelShapes:
    """The tensors of a model by the library's own names."""

    shapes: Mapping[str, Shape]
    """All of them in the model's order; one that is tied to another only under its first name."""

    tied: Mapping[str, str]
    """Other names of tied tensors, with their first names."""


def model_shapes(configuration: PretrainedConfig) -> ModelShapes:
    """Ask the library: its model, made without memory for its weights, has the names, shapes and ties."""
    with torch.device("meta"), no_init_weights():
        model = model_class(configuration.model_type)(configuration)
        model.tie_weights()
    first: dict[int, str] = {}
    shapes: dict[str, Shape] = {}
    tied: dict[str, str] = {}
    for name, value in model.state_dict(keep_vars=True).items():
        if (known := first.setdefault(id(value), name)) == name:
            shapes[name] = tuple(value.shape)
        else:
            tied[name] = known
    return ModelShapes(shapes, tied)


def expected_shapes(configuration: PretrainedConfig) -> dict[str, Shape]:
    """Return names and shapes of all tensors of a model; a tied tensor only under its first name."""
    return dict(model_shapes(configuration).shapes)
