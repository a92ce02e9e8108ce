"""Parameters and floating-point operations of a model, from its configuration."""

from __future__ import annotations

from dataclasses import dataclass

from slipway_jobs.recipe.architecture import Bert, Llama


@dataclass(frozen=True)
class ModelSize:
    """Counts of parameters, where pipeline stages can cut a model."""

    embedding: int
    """Parameters before the first layer."""

    layer: int
    """Parameters of one layer."""

    layers: int
    """Layers."""

    head: int
    """Parameters behind the last layer; an output layer that is tied to the embedding does not count again."""

    @property
    def total(self) -> int:
        """Parameters of the model."""
        return self.embedding + self.layers * self.layer + self.head


def model_size(model: Llama | Bert, kv_size_multiplier: int = 1) -> ModelSize:
    """Count the parameters of a model.

    Args:
        model: its configuration.
        kv_size_multiplier: how often the key and value heads are repeated.
    """
    if isinstance(model, Llama):
        return _llama(model, kv_size_multiplier)
    return _bert(model)


def kv_width(model: Llama, kv_size_multiplier: int = 1) -> int:
    """Return the width of a token's keys, which is that of its values, over all workers."""
    return model.key_value_size * kv_size_multiplier


def training_flops_per_token(model: Llama | Bert, sequence_length: int) -> float:
    """Count what one token costs in training, forward and backward, without what checkpointing computes again.

    6 operations for each weight that multiplies a token's state, and attention's two products: 12 x layers x width of
    all heads x sequence, half of it for a decoder, whose tokens see only those before them (Kaplan et al. 2020, PaLM
    appendix B).
    """
    layers, output_layer = model.num_hidden_layers, model.vocab_size * model.hidden_size
    weights = layers * model_size(model).layer + output_layer
    if isinstance(model, Llama):
        return 6 * weights + 6 * layers * model.query_size * sequence_length
    return 6 * weights + 12 * layers * model.hidden_size * sequence_length


def _llama(model: Llama, kv_size_multiplier: int) -> ModelSize:
    hidden = model.hidden_size
    query, keys = model.query_size, kv_width(model, kv_size_multiplier)
    attention = 2 * hidden * query + 2 * hidden * keys
    if model.features.query_key_value_bias:
        attention += query + 2 * keys
    if model.features.query_key_norm:
        attention += 2 * model.head_size
    output_layer = 0 if model.tie_word_embeddings else model.vocab_size * hidden
    return ModelSize(
        embedding=model.vocab_size * hidden,
        layer=attention + 3 * hidden * model.intermediate_size + 2 * hidden,
        layers=model.num_hidden_layers,
        head=output_layer + hidden,
    )


def _bert(model: Bert) -> ModelSize:
    """Count as transformers' BertForPreTraining has them: the decoder is the embedding, with a bias of its own."""
    hidden, norm = model.hidden_size, 2 * model.hidden_size
    dense = hidden * hidden + hidden
    feed_forward = 2 * hidden * model.intermediate_size + model.intermediate_size + hidden
    return ModelSize(
        embedding=(model.vocab_size + model.max_position_embeddings + 2) * hidden + norm,
        layer=4 * dense + feed_forward + 2 * norm,
        layers=model.num_hidden_layers,
        head=2 * dense + norm + model.vocab_size + 2 * hidden + 2,
    )
