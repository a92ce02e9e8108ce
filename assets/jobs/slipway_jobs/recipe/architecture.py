"""The models that the training code knows, by the names of the transformers library's configuration fields."""

from collections.abc import Mapping
from dataclasses import dataclass
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


@dataclass(frozen=True)
class Features:
    """What a decoder of the Llama family has that Llama has not, and which of its fields it knows."""

    query_key_value_bias: bool = False
    """Whether queries, keys and values have a bias."""

    query_key_norm: bool = False
    """Whether the heads of queries and keys are normed before they are turned by their positions."""

    head_dim: bool = True
    """Whether the width of a head may be another than hidden_size / num_attention_heads."""

    rope_scaling: bool = True
    """Whether its rotary position embedding may be stretched."""

    sliding_window: bool = False
    """Whether it may have a sliding window."""


FEATURES: Mapping[str, Features] = {
    "llama": Features(),
    "mistral": Features(rope_scaling=False, sliding_window=True),
    "qwen2": Features(query_key_value_bias=True, head_dim=False),
    "qwen3": Features(query_key_norm=True),
}
"""The family. Source: transformers 4.51.3, models/*/modeling_*.py and configuration_*.py of these names."""


class Llama(Section):
    """A decoder of the Llama family (transformers: `LlamaConfig` and so on); Tanuki-8B is a Llama."""

    architecture: Literal["llama", "mistral", "qwen2", "qwen3"]
    """`llama`, `mistral` (v0.2 and later, without sliding window), `qwen2` (Qwen2.5 too) or `qwen3`."""

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

    head_dim: PositiveInt | None = None
    """Width of a head; left out, hidden_size / num_attention_heads. Not for `qwen2`."""

    max_position_embeddings: PositiveInt
    """Longest sequence in tokens."""

    rope_theta: Annotated[float, Field(gt=0)] = 10000.0
    """Base of the rotary position embedding."""

    rope_scaling: RopeScaling | None = None
    """Llama 3.1's stretch of it."""

    sliding_window: PositiveInt | None = None
    """Tokens that a token attends to, for `mistral`. Not shorter than the samples: all of theirs are attended to."""

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

    @property
    def features(self) -> Features:
        """How it differs from Llama."""
        return FEATURES[self.architecture]

    @property
    def head_size(self) -> int:
        """Width of a head."""
        return self.head_dim or self.hidden_size // self.num_attention_heads

    @property
    def query_size(self) -> int:
        """Width of a token's queries."""
        return self.num_attention_heads * self.head_size

    @property
    def key_value_size(self) -> int:
        """Width of a token's keys, and of its values."""
        return self.num_key_value_heads * self.head_size


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
