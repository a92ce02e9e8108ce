"""Device memory that a forward pass leaves for the backward pass, on one worker."""

from __future__ import annotations

from slipway_jobs.arithmetic.assumptions import Range
from slipway_jobs.arithmetic.model_size import kv_width
from slipway_jobs.recipe.architecture import Llama
from slipway_jobs.recipe.model import Recipe

_FLOAT32 = 4


def activations(recipe: Recipe) -> Range:
    """Bytes of a micro-batch for all layers, divided by TP: sequence parallelism cuts what heads do not."""
    parallelism, layers = recipe.parallelism, recipe.model.num_hidden_layers
    tokens = recipe.batch.micro_size * recipe.data.sequence_length / parallelism.tensor_parallel_size
    whole = _layer(recipe)
    if parallelism.activation_checkpointing == "full":
        # The input of each layer, and one layer in full while it is computed again.
        kept = layers * recipe.model.hidden_size * _width(recipe)
        return Range(low=tokens * (kept + whole.low), high=tokens * (kept + whole.high))
    if isinstance(recipe.model, Llama) and parallelism.recomputes("mlp"):
        # Of all layers but the one whose feed-forward part is computed again.
        spared = _feed_forward(recipe) * (layers - 1) / layers
        whole = whole + Range(low=-spared, high=-spared)
    return whole * (tokens * layers) + _kept_scores(recipe)


def scores(recipe: Recipe) -> Range:
    """Bytes of the attention scores of one layer; none where attention never writes them (flash attention)."""
    size = _score_count(recipe) * (_width(recipe) + _FLOAT32)
    return Range(low=0, high=size)


def logits(recipe: Recipe) -> Range:
    """Bytes of the logits: as computed, in float32 for the loss, and their gradient."""
    tokens = recipe.batch.micro_size * recipe.data.sequence_length
    count = tokens * recipe.model.vocab_size / recipe.parallelism.tensor_parallel_size
    return Range(low=count * (_width(recipe) + _FLOAT32), high=count * (_width(recipe) + 2 * _FLOAT32))


def _feed_forward(recipe: Recipe) -> int:
    """Bytes of a Llama layer's gate, up, their activation and product for each token."""
    return 4 * recipe.model.intermediate_size * _width(recipe)


def _layer(recipe: Recipe) -> Range:
    """Bytes of one layer for each token, without the attention scores."""
    model, width = recipe.model, _width(recipe)
    if isinstance(model, Llama):
        # Inputs and outputs of both norms, queries, attention, output projection; keys and values; the feed-forward
        # part. High: the norms' float32 copies stay too.
        keys = kv_width(model, recipe.parallelism.kv_size_multiplier)
        states = 5 * model.hidden_size + 2 * model.query_size + 2 * keys
        if model.features.query_key_norm:
            states += model.query_size + keys
        kept = states * width + _feed_forward(recipe)
        return Range(low=kept, high=kept + 2 * model.hidden_size * _FLOAT32)
    # 34 x hidden bytes with 16-bit states and dropout's masks, for a feed-forward layer of 4 x hidden.
    return Range(low=26 * model.hidden_size * width / 2, high=34 * model.hidden_size * width / 2)


def _kept_scores(recipe: Recipe) -> Range:
    """Without checkpointing of attention, softmax, dropout's mask and its result stay in each layer."""
    if recipe.parallelism.recomputes("attention"):
        return Range(low=0, high=0)
    kept = _score_count(recipe) * (2 * _width(recipe) + 1) * recipe.model.num_hidden_layers
    return Range(low=0 if isinstance(recipe.model, Llama) else kept, high=kept)


def _score_count(recipe: Recipe) -> float:
    heads = recipe.model.num_attention_heads / recipe.parallelism.tensor_parallel_size
    return float(recipe.batch.micro_size * heads * recipe.data.sequence_length**2)


def _width(recipe: Recipe) -> int:
    """Bytes of a number of the computation."""
    return 2 if recipe.precision == "bfloat16" else 4
