"""A configuration of the transformers library as a recipe's model, and what differs between the two."""

from __future__ import annotations

from pathlib import Path

from pydantic import TypeAdapter, ValidationError
from transformers import PretrainedConfig

from slipway_conversion.nxd_split import head_size
from slipway_conversion.problems import ConversionError
from slipway_jobs.recipe.architecture import FEATURES, Architecture, Bert, Llama

_ADAPTER: TypeAdapter[Llama | Bert] = TypeAdapter(Architecture)

_UNKNOWN = ("attention_bias", "mlp_bias", "use_sliding_window")
"""What the library's decoders may have and the recipe's have not."""

_TRAINING_ONLY = {
    "initializer_range",
    "hidden_dropout_prob",
    "attention_probs_dropout_prob",
    "max_position_embeddings",
    "bos_token_id",
    "eos_token_id",
    "head_dim",
}
"""What may differ between given weights and the recipe without making them another model."""


def recipe_model(configuration: PretrainedConfig, file: Path) -> Llama | Bert:
    """Return the recipe's model section of a configuration.

    Args:
        configuration: the transformers library's.
        file: where it was read from.

    Raises:
        ConversionError: the training code does not have such a model.
    """
    kind = configuration.model_type
    model = Bert if kind == "bert" else Llama
    fields = {name: getattr(configuration, name, None) for name in model.model_fields} | {"architecture": kind}
    if model is Llama:
        if strange := [name for name in _UNKNOWN if getattr(configuration, name, False)]:
            raise ConversionError(f"{file}: the training code has no {kind} with {' and '.join(strange)}")
        width = head_size(configuration)
        fields["head_dim"] = None if width * configuration.num_attention_heads == configuration.hidden_size else width
        if not FEATURES[kind].sliding_window:
            fields["sliding_window"] = None
    try:
        return _ADAPTER.validate_python(fields)
    except ValidationError as error:
        wrong = [f"{file}: {'.'.join(map(str, item['loc'][1:]))}: {item['msg']}" for item in error.errors()]
        raise ConversionError(*wrong) from error


def check_same_model(given: Llama | Bert, wanted: Llama | Bert, file: Path) -> None:
    """Refuse weights of another model than the recipe's.

    Raises:
        ConversionError: all differences.
    """
    ours, theirs = wanted.model_dump(), given.model_dump()
    if isinstance(given, Llama) and isinstance(wanted, Llama):
        ours["head_size"], theirs["head_size"] = wanted.head_size, given.head_size
    names = [name for name in ours if name not in _TRAINING_ONLY and theirs.get(name) != ours[name]]
    # Position embeddings are weights in BERT; in Llama the number is only a limit.
    if wanted.architecture == "bert" and given.max_position_embeddings != wanted.max_position_embeddings:
        names.append("max_position_embeddings")
    if names:
        raise ConversionError(
            *(f"{file}: {name} is {theirs.get(name)}, but the recipe's model has {ours[name]}" for name in names)
        )
