"""A model in the transformers format, as far as publishing must know it."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from pydantic import AliasChoices, BaseModel, ConfigDict, Field, ValidationError

from slipway_jobs.publishing.refusal import PublishRefused

BYTES_OF = {"float32": 4, "bfloat16": 2, "float16": 2}
"""Bytes of a weight by its data type."""

WEIGHTS = "*.safetensors"
"""Files of weights. Others can hold code that runs when they are loaded."""

CONFIGURATION = "config.json"
"""What describes the model."""

INDEX = "model.safetensors.index.json"
"""What says which file holds which weight, where there are several."""


class Configuration(BaseModel):
    """What a model's config.json says, with the keys of the transformers library."""

    model_config = ConfigDict(frozen=True, strict=True, extra="ignore", protected_namespaces=())

    model_type: str
    """Its architecture, for example `llama`."""

    # transformers 5 writes `dtype`.
    precision: str = Field(validation_alias=AliasChoices("torch_dtype", "dtype"))
    """Data type of its weights."""

    max_position_embeddings: int
    """Longest sequence in tokens."""

    hidden_size: int
    """Width of a layer."""

    intermediate_size: int
    """Width of its MLP."""

    num_hidden_layers: int
    """Layers."""

    num_attention_heads: int
    """Query heads."""

    num_key_value_heads: int | None = None
    """Key and value heads, or None if every query head has its own."""

    head_dim: int | None = None
    """Width of a head, or None if it is `hidden_size` divided by the number of heads."""

    quantization_config: dict[str, Any] | None = None
    """How the weights are quantized, or None if they are not."""


@dataclass(frozen=True)
class Model:
    """A model that may be served.

    Attributes:
        configuration: what its config.json says.
        weight_bytes: bytes of its files of weights.
    """

    configuration: Configuration
    weight_bytes: int

    def resident_bytes(self, precision: str) -> int:
        """Return the bytes of all weights in another data type."""
        return self.weight_bytes * BYTES_OF[precision] // BYTES_OF[self.configuration.precision]


@dataclass(frozen=True)
class ModelFolder:
    """A complete model in a folder.

    Attributes:
        path: the folder.
        step: optimizer step of the checkpoint that it was made from; or None for a model that others trained.
        model: the model.
    """

    path: Path
    step: int | None
    model: Model


def read_model_folder(path: Path) -> ModelFolder:
    """Read a model's folder.

    Raises:
        PublishRefused: a file is missing, or is not what the transformers library writes.
    """
    problems: list[str] = []
    weights = sorted(path.glob(WEIGHTS))
    if not weights:
        problems.append(f"{path} has no {WEIGHTS}")
    if (path / INDEX).is_file():
        named = set(_json(path / INDEX, problems).get("weight_map", {}).values())
        missing = sorted(named - {file.name for file in weights})
        problems += [f"{path / INDEX} names {name}, which is missing" for name in missing]
        # Beside them, a repository may hold the same weights for another library.
        weights = [file for file in weights if file.name in named]
    configuration = _configuration(path / CONFIGURATION, problems)
    origin = _json(path / "slipway.json", problems) if (path / "slipway.json").is_file() else {}
    if problems or configuration is None:
        raise PublishRefused(problems)
    return ModelFolder(path, origin.get("step"), Model(configuration, sum(file.stat().st_size for file in weights)))


def parse_configuration(content: Mapping[str, Any], file: str) -> Configuration:
    """Return what a config.json says.

    Args:
        content: the file's content.
        file: how problems name it.

    Raises:
        PublishRefused: a key is missing or has another type, or the data type is not one that can be published.
    """
    try:
        found = Configuration.model_validate(content)
    except ValidationError as error:
        raise PublishRefused([f"{file} has no {_key(one['loc'])} that can be read" for one in error.errors()]) from None
    if found.precision not in BYTES_OF:
        raise PublishRefused([f"{file}: torch_dtype is {found.precision!r}; {', '.join(BYTES_OF)} can be published"])
    return found


def _key(place: tuple[int | str, ...]) -> str:
    return ".".join(str(part) for part in place)


def _configuration(file: Path, problems: list[str]) -> Configuration | None:
    if not (content := _json(file, problems)):
        return None
    try:
        return parse_configuration(content, str(file))
    except PublishRefused as refused:
        problems += refused.problems
        return None


def _json(file: Path, problems: list[str]) -> dict[str, Any]:
    try:
        content = json.loads(file.read_text(encoding="utf-8"))
    except (OSError, ValueError) as error:
        problems.append(f"{file} cannot be read: {error}")
        return {}
    if not isinstance(content, dict):
        problems.append(f"{file} is not a JSON object")
        return {}
    return content
