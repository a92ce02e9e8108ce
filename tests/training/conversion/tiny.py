"""Tiny models of the transformers library, and what the tests ask of them."""

from __future__ import annotations

from functools import cache
from pathlib import Path
from typing import Any

import torch
from safetensors.torch import load_file
from transformers import LlamaConfig, LlamaForCausalLM, PreTrainedModel

from slipway_conversion.nxd_split import ToldSplit
from slipway_conversion.to_transformers import Conversion, to_transformers
from slipway_jobs.recipe.architecture import Llama
from slipway_training.models.transformers_configuration import model_class, transformers_configuration
from tests.training.conversion.sharder import Heads, Layout, save_checkpoint

QUERY_HEADS = 8
LAYERS = 2
TOKENS = torch.arange(24).reshape(2, 12) * 7 % 40


def configuration(key_value_heads: int, **fields: Any) -> LlamaConfig:
    values: dict[str, Any] = {
        "vocab_size": 40,
        "hidden_size": 16,
        "intermediate_size": 24,
        "num_hidden_layers": LAYERS,
        "num_attention_heads": QUERY_HEADS,
        "max_position_embeddings": 32,
        "initializer_range": 0.5,
        "architectures": ["LlamaForCausalLM"],
    }
    return LlamaConfig(**(values | {"num_key_value_heads": key_value_heads} | fields))


@cache
def llama(key_value_heads: int, tie_word_embeddings: bool = False, layers: int = LAYERS) -> LlamaForCausalLM:
    """Return a model with weights of its own; norms too, so that mixed-up ones are seen."""
    torch.manual_seed(key_value_heads)
    model = LlamaForCausalLM(
        configuration(key_value_heads, tie_word_embeddings=tie_word_embeddings, num_hidden_layers=layers)
    ).eval()
    with torch.no_grad():
        for name, weight in model.named_parameters():
            if "norm" in name:
                weight.copy_(torch.rand_like(weight) + 0.5)
    return model


def of_family(**fields: Any) -> PreTrainedModel:
    """Return a decoder of the Llama family with weights, biases and norms of its own."""
    sizes = {"vocab_size": 40, "hidden_size": 16, "intermediate_size": 24, "num_hidden_layers": 3}
    heads = {"num_attention_heads": QUERY_HEADS, "num_key_value_heads": 2, "max_position_embeddings": 32}
    described = Llama.model_validate({**sizes, **heads, "initializer_range": 0.5, **fields})
    torch.manual_seed(7)
    model: PreTrainedModel = model_class(described.architecture)(transformers_configuration(described)).eval()
    with torch.no_grad():
        for weight in model.parameters():
            if weight.ndim == 1:
                weight.copy_(torch.rand_like(weight) + 0.5)
    return model


def heads(model: Any) -> Heads:
    config = model.config
    return Heads(config.num_attention_heads, config.num_key_value_heads, config.num_hidden_layers)


def weights(model: PreTrainedModel) -> dict[str, torch.Tensor]:
    return {name: value.detach().clone() for name, value in model.state_dict().items()}


@torch.no_grad()
def logits(model: Any) -> torch.Tensor:
    result: torch.Tensor = model(input_ids=TOKENS).logits
    return result


def checkpoint(folder: Path, model: PreTrainedModel, layout: Layout) -> Path:
    return save_checkpoint(folder, weights(model), heads(model), layout)


def convert(source: Path, output: Path, model: PreTrainedModel, **fields: Any) -> list[str]:
    """Convert without a checkpoint.json, and return the lines of progress."""
    lines: list[str] = []
    split = fields.pop("split", ToldSplit())
    to_transformers(Conversion(source, output, model.config, split, **fields), lines.append)
    return lines


def loaded(folder: Path) -> dict[str, torch.Tensor]:
    return {name: value for file in sorted(folder.glob("*.safetensors")) for name, value in load_file(file).items()}
