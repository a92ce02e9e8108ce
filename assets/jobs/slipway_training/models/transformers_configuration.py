"""A recipe's model as a configuration of the transformers library."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from slipway_jobs.recipe.architecture import Architecture, Llama

if TYPE_CHECKING:
    from transformers import PretrainedConfig

LIBRARY_NAMES = {"llama": "Llama", "mistral": "Mistral", "qwen2": "Qwen2", "qwen3": "Qwen3", "bert": "Bert"}
"""What the names of the library's classes begin with, for each `model_type`."""


_NO_FIELDS = {
    "llama": ("sliding_window", "use_sliding_window"),
    "mistral": ("attention_bias", "mlp_bias", "use_sliding_window", "rope_scaling"),
    "qwen2": ("attention_bias", "mlp_bias", "head_dim"),
    "qwen3": ("mlp_bias",),
}
"""Fields that the library's configuration of a decoder has not."""


def configuration_class(model_type: str) -> Any:
    """Return the library's configuration.

    Raises:
        KeyError: the model is not trained here.
    """
    import transformers  # noqa: PLC0415  takes seconds, and most importers of this module only pass the function on

    return getattr(transformers, f"{LIBRARY_NAMES[model_type]}Config")


def model_class(model_type: str) -> Any:
    """Return the library's model.

    Raises:
        KeyError: the model is not trained here.
    """
    import transformers  # noqa: PLC0415

    return getattr(transformers, _model_name(model_type))


def transformers_configuration(model: Architecture) -> PretrainedConfig:
    """Return the configuration that makes the recipe's model in the transformers library.

    The fields have the same names there. `architectures` is set, so that the configuration alone says which class to
    load; types of weights and implementations of attention are for the caller.
    """
    fields: dict[str, Any] = model.model_dump(exclude={"architecture"})
    if isinstance(model, Llama):
        # Said, because the library's own defaults are those of a published model: a window, the width of a head.
        fields |= {"hidden_act": "silu", "head_dim": model.head_size}
        fields |= dict.fromkeys(("attention_bias", "mlp_bias", "use_sliding_window"), False)
        for name in _NO_FIELDS[model.architecture]:
            del fields[name]
    names = [_model_name(model.architecture)]
    configuration: PretrainedConfig = configuration_class(model.architecture)(**fields, architectures=names)
    return configuration


def _model_name(model_type: str) -> str:
    return f"{LIBRARY_NAMES[model_type]}{'ForPreTraining' if model_type == 'bert' else 'ForCausalLM'}"
