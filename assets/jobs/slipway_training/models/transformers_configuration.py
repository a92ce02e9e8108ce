"""A recipe's model as a configuration of the transformers library."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from slipway_jobs.recipe.architecture import Architecture, Llama

if TYPE_CHECKING:
    from transformers import PretrainedConfig

_CLASSES = {"llama": ("LlamaConfig", "LlamaForCausalLM"), "bert": ("BertConfig", "BertForPreTraining")}
"""Configuration and model of each architecture."""


def transformers_configuration(model: Architecture) -> PretrainedConfig:
    """Return the configuration that makes the recipe's model in the transformers library.

    The fields have the same names there. `architectures` is set, so that the configuration alone says which class to
    load; types of weights and implementations of attention are for the caller.
    """
    import transformers  # noqa: PLC0415  takes seconds, and most importers of this module only pass the function on

    configuration_class, model_class = _CLASSES[model.architecture]
    fields: dict[str, Any] = model.model_dump(exclude={"architecture"})
    if isinstance(model, Llama):
        fields |= {"hidden_act": "silu", "attention_bias": False, "mlp_bias": False}
    configuration: PretrainedConfig = getattr(transformers, configuration_class)(**fields, architectures=[model_class])
    return configuration
