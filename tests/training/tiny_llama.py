"""A Llama small enough for a test, its recipe for fully sharded training, and samples."""

import json
from typing import Any

import torch

from slipway_jobs.recipe.model import Recipe
from slipway_training.strategies.fully_sharded import FullySharded
from slipway_training.strategy import MicroBatch

SAMPLES = 12
"""Of a step; divisible by all numbers of workers that tests use."""

LEARNING_RATE = 3e-3

RECIPE: dict[str, Any] = {
    "name": "tiny",
    "model": {
        "architecture": "llama",
        "vocab_size": 96,
        "hidden_size": 32,
        "intermediate_size": 64,
        "num_hidden_layers": 2,
        "num_attention_heads": 4,
        "num_key_value_heads": 2,
        "max_position_embeddings": 32,
    },
    "hardware": {"device": "cpu", "framework": "native", "nodes": 1, "workers_per_node": 1},
    "data": {"source": "/none", "tokenizer": "byte-level", "sequence_length": 16},
    "parallelism": {"strategy": "fully_sharded", "activation_checkpointing": "none"},
    "precision": "float32",
    "batch": {"global_size": SAMPLES, "micro_size": 2},
    "steps": 10,
    "optimizer": {"learning_rate": LEARNING_RATE, "gradient_clipping": 0.5},
    "checkpoint": {"interval_steps": 5},
}


def make_recipe(**sections: Any) -> Recipe:
    """Make the recipe. A section given as a mapping changes only the keys in it."""
    recipe = dict(RECIPE)
    for key, value in sections.items():
        recipe[key] = {**recipe[key], **value} if isinstance(value, dict) else value
    return Recipe.model_validate_json(json.dumps(recipe))


def step_tokens(step: int) -> torch.Tensor:
    """Return the tokens of a step's samples; every other step has the same."""
    return torch.randint(0, 96, (SAMPLES, 16), generator=torch.Generator().manual_seed(step % 2))


def as_micro_batch(tokens: torch.Tensor) -> MicroBatch:
    """Return samples as the training loop gives them."""
    return {"input_ids": tokens, "labels": tokens}


def take_steps(strategy: FullySharded, first: int, last: int) -> list[float]:
    """Train with the samples of some steps, two micro-batches each, and return the losses."""
    losses = []
    for step in range(first, last):
        mine = step_tokens(step)[strategy.data_parallel_rank :: strategy.data_parallel_size]
        micro_batches = [as_micro_batch(tokens) for tokens in mine.chunk(2)]
        losses.append(strategy.train_step(micro_batches, LEARNING_RATE).item())
    return losses
