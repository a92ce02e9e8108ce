"""The models that the training code knows, by the names of the transformers library's configuration fields."""

from typing import Annotated, Literal

from pydantic import Field

from slipway_jobs.recipe.section import Section

PositiveInt = Annotated[int, Field(ge=1)]


class RopeScaling(Section):
    """Llama 3.1's stretch of the rotary position embedding."""

    rope_type: Literal["llama3"]
    """Always `llama3`."""

    factor: Annotated[float, Field(gt=0)]
    """Stretch of the low frequencies."""

    low_freq_factor: Annotated[float, Field(gt=0)]
    """Wavelengths longer than the original length divided by it are stretched."""

    high_freq_factor: Annotated[float, Field(gt=0)]
    """Wavelengths shorter than the original length divided by it stay."""

    original_max_position_embeddings: PositiveInt
    """Sequence length, in tokens, that the model was first trained with."""


class Llama(Section):
    """A decoder of the Llama family (transformers: `LlamaConfig`); Tanuki-8B is one."""

    architecture: Literal["llama"]
    """Always `llama`."""

    vocab_size: PositiveInt
    """Rows of the embedding."""

    hidden_size: PositiveInt
    """Width of a token's state."""

    intermediate_size: PositiveInt
    """Width of the feed-forward layers."""

    num_hidden_layers: PositiveInt
    """Decoder layers."""

    num_attention_heads: PositiveInt
    """Query heads."""

    num_key_value_heads: PositiveInt
    """Key and value heads; fewer than the query heads is grouped-query attention."""

    max_position_embeddings: PositiveInt
    """Longest sequence in tokens."""

    rope_theta: Annotated[float, Field(gt=0)] = 10000.0
    """Base of the rotary position embedding."""

    rope_scaling: RopeScaling | None = None
    """Llama 3.1's stretch of it."""

    rms_norm_eps: Annotated[float, Field(gt=0)] = 1e-5
    """Epsilon of the norms."""

    initializer_range: Annotated[float, Field(gt=0)] = 0.02
    """Standard deviation of the weights at the start."""

    tie_word_embeddings: bool = False
    """Whether input embedding and output layer are one matrix."""

    bos_token_id: int = 1
    """Token that begins a text."""

    eos_token_id: int = 2
    """Token that ends a text."""


class Bert(Section):
    """An encoder with masked-language and next-sentence heads (transformers: `BertForPreTraining`)."""

    architecture: Literal["bert"]
    """Always `bert`."""

    vocab_size: PositiveInt
    """Rows of the embedding."""

    hidden_size: PositiveInt
    """Width of a token's state."""

    intermediate_size: PositiveInt
    """Width of the feed-forward layers."""

    num_hidden_layers: PositiveInt
    """Encoder layers."""

    num_attention_heads: PositiveInt
    """Attention heads."""

    max_position_embeddings: PositiveInt
    """Longest sequence in tokens."""

    hidden_dropout_prob: Annotated[float, Field(ge=0, lt=1)] = 0.1
    """Dropout of states."""

    attention_probs_dropout_prob: Annotated[float, Field(ge=0, lt=1)] = 0.1
    """Dropout of attention weights."""


Architecture = Annotated[Llama | Bert, Field(discriminator="architecture")]
"""One of the models."""
