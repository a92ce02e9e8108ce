"""The converted model on /fsx, as far as publishing must know it."""

from __future__ import annotations

import json
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from slipway_jobs.publishing.refusal import PublishRefused

BYTES_OF = {"float32": 4, "bfloat16": 2, "float16": 2}
"""Bytes of a weight by `torch_dtype`."""

_WEIGHTS = "*.safetensors"


@dataclass(frozen=True)
class ModelFolder:
    """A complete converted model.

    Attributes:
        path: the folder.
        step: optimizer step of the checkpoint it was made from.
        precision: `torch_dtype` of its config.json.
        max_position_embeddings: longest sequence in tokens.
        weight_bytes: bytes of its safetensors files.
    """

    path: Path
    step: int
    precision: str
    max_position_embeddings: int
    weight_bytes: int

    def resident_bytes(self, precision: str) -> int:
        """Return the bytes of all weights in another data type."""
        return self.weight_bytes * BYTES_OF[precision] // BYTES_OF[self.precision]


def read_model_folder(path: Path) -> ModelFolder:
    """Read the folder that the convert stage left.

    Raises:
        PublishRefused: it is not complete, or not what the convert stage writes.
    """
    if not (path / "done").is_file():
        raise PublishRefused([f"{path} is not complete (it has no file 'done'): run the convert stage first"])
    weights = sorted(path.glob(_WEIGHTS))
    problems = [] if weights else [f"{path} has no {_WEIGHTS}"]
    configuration = _json(path / "config.json", problems)
    origin = _json(path / "slipway.json", problems)
    found = (
        _field(configuration, "torch_dtype", str, path / "config.json", problems),
        _field(configuration, "max_position_embeddings", int, path / "config.json", problems),
        _field(origin, "step", int, path / "slipway.json", problems),
    )
    if found[0] is not None and found[0] not in BYTES_OF:
        problems.append(f"{path / 'config.json'}: torch_dtype is {found[0]!r}; {', '.join(BYTES_OF)} can be published")
    index = path / "model.safetensors.index.json"
    if index.is_file():
        named = set(_json(index, problems).get("weight_map", {}).values())
        problems += [f"{index} names {name}, which is missing" for name in sorted(named - {w.name for w in weights})]
    if problems:
        raise PublishRefused(problems)
    return ModelFolder(path, found[2], found[0], found[1], sum(file.stat().st_size for file in weights))


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


def _field(content: dict[str, Any], key: str, kind: type, file: Path, problems: list[str]) -> Any:
    value = content.get(key)
    if content and not isinstance(value, kind):
        problems.append(f"{file} has no {key}")
    return value
