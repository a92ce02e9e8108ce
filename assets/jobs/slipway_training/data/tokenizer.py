"""The tokenizer that a recipe names."""

from __future__ import annotations

from typing import Any

from transformers import AutoTokenizer

from slipway_jobs.recipe.model import Recipe
from slipway_jobs.recipe.source_files import BYTE_LEVEL
from slipway_training.data.byte_level import byte_level_tokenizer


class TokenizerError(Exception):
    """The tokenizer does not fit the model, or is not there. The message is for the user."""


def load_tokenizer(recipe: Recipe) -> Any:
    """Return the recipe's tokenizer, checked against the model.

    Raises:
        TokenizerError: it cannot be read, has more tokens than the model, lacks one that the model needs, or ends a
            text with another token than the model does.
    """
    name, encoder = recipe.data.tokenizer, recipe.model.architecture == "bert"
    if name == BYTE_LEVEL:
        tokenizer: Any = byte_level_tokenizer(encoder=encoder)
    else:
        try:
            tokenizer = AutoTokenizer.from_pretrained(name)
        except (OSError, ValueError) as error:
            raise TokenizerError(f"data.tokenizer: cannot read {name}: {error}") from error
    tokenizer.model_max_length = 10**12  # texts are cut into samples, not cut off
    if wrong := _mistakes(recipe, tokenizer):
        raise TokenizerError("\n".join(f"data.tokenizer: {name} {mistake}" for mistake in wrong))
    return tokenizer


def _mistakes(recipe: Recipe, tokenizer: Any) -> list[str]:
    model = recipe.model
    found = []
    if len(tokenizer) > model.vocab_size:
        found.append(f"has {len(tokenizer)} tokens, the model only {model.vocab_size}: raise model.vocab_size")
    if model.architecture == "bert":
        needed = ("cls_token_id", "sep_token_id", "mask_token_id", "pad_token_id")
        return found + [f"has no {name}, which BERT needs" for name in needed if getattr(tokenizer, name) is None]
    if tokenizer.eos_token_id is None:
        found.append("has no token that ends a text (eos_token)")
    for name in ("bos_token_id", "eos_token_id"):
        token = getattr(tokenizer, name)
        # A tokenizer without a token to begin with puts none in front of a text; the model's is then not used.
        if token is not None and token != getattr(model, name):
            found.append(f"has {name} {token}, the model {getattr(model, name)}: write model.{name}: {token}")
    return found
