"""What a model's folder holds beside its weights: configuration and tokenizer."""

from __future__ import annotations

import json
import shutil
from pathlib import Path

import torch
from transformers import AutoTokenizer, GenerationConfig, PretrainedConfig

from slipway_conversion.problems import ConversionError
from slipway_jobs.recipe.architecture import FEATURES
from slipway_jobs.recipe.source_files import BYTE_LEVEL
from slipway_training.data.byte_level import byte_level_tokenizer
from slipway_training.models.transformers_configuration import LIBRARY_NAMES, configuration_class

CONFIGURATION_FILE = "config.json"
"""The transformers library's name for the configuration."""


_TOKENIZER_FILES = (
    "tokenizer.json",
    "tokenizer_config.json",
    "special_tokens_map.json",
    "added_tokens.json",
    "tokenizer.model",
    "spiece.model",
    "vocab.txt",
    "vocab.json",
    "merges.txt",
    "chat_template.jinja",
    "chat_template.json",
)
"""What the transformers library reads a tokenizer from."""


def read_configuration(file: Path) -> PretrainedConfig:
    """Read a `config.json`.

    Raises:
        ConversionError: it is none, or is of a model that is not converted.
    """
    try:
        fields = json.loads(file.read_text(encoding="utf-8"))
        kind = fields["model_type"]
        configuration: PretrainedConfig = configuration_class(kind).from_dict(fields)
    except OSError as error:
        raise ConversionError(f"{file} cannot be read: {error.strerror}. Name the model's config.json") from error
    except (ValueError, TypeError, KeyError) as error:
        raise ConversionError(
            f"{file} is not a configuration of a model that is converted ({', '.join(LIBRARY_NAMES)}): {error!r}"
        ) from error
    return configuration


def write_configuration(folder: Path, configuration: PretrainedConfig, dtype: torch.dtype) -> None:
    """Write `config.json`, and for a model that generates text `generation_config.json`.

    Raises:
        OSError: the folder cannot be written.
    """
    configuration.torch_dtype = dtype
    configuration.save_pretrained(folder)
    if configuration.model_type in FEATURES:
        GenerationConfig.from_model_config(configuration).save_pretrained(folder)


def write_tokenizer(folder: Path, tokenizer: str, configuration: PretrainedConfig) -> None:
    """Put the tokenizer's files beside the model.

    Args:
        folder: the model's folder.
        tokenizer: a folder, `byte-level`, or a name on the Hugging Face Hub (from the local cache where it is there).
        configuration: the model's.

    Raises:
        ConversionError: there is no such tokenizer.
        OSError: a file cannot be copied.
    """
    source = Path(tokenizer)
    if tokenizer == BYTE_LEVEL:
        made = byte_level_tokenizer(encoder=configuration.model_type == "bert")
        made.model_max_length = configuration.max_position_embeddings
        made.save_pretrained(folder)
    elif source.is_dir():
        present = [source / name for name in _TOKENIZER_FILES if (source / name).is_file()]
        if not present:
            raise ConversionError(f"{source} holds no tokenizer: none of {', '.join(_TOKENIZER_FILES)}")
        for file in present:
            shutil.copyfile(file, folder / file.name)
    elif source.is_absolute():
        raise ConversionError(f"{source} is not a folder: name the folder of a tokenizer")
    else:
        try:
            AutoTokenizer.from_pretrained(tokenizer).save_pretrained(folder)
        except (OSError, ValueError) as error:
            reason = str(error).strip().splitlines()[0]
            raise ConversionError(f"tokenizer {tokenizer} cannot be had: {reason}. Name a folder instead") from error
