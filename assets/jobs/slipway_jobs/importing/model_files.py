"""Which files of a repository are its model, and what they say of it before the weights are fetched."""

from __future__ import annotations

import json
import tempfile
from pathlib import Path, PurePosixPath
from typing import Any

from slipway_jobs.importing.hub import HubError, Repository, download
from slipway_jobs.publishing.model_folder import CONFIGURATION, INDEX, Model, parse_configuration

WEIGHTS = "model.safetensors"
"""The weights where they are one file (transformers, utils/__init__.py: SAFE_WEIGHTS_NAME)."""

_BESIDE = (".json", ".txt", ".model", ".jinja")
"""Endings of what belongs to a model beside its weights: configuration, tokenizer, chat template."""

_LARGEST_BESIDE = 256 * 2**20
"""Largest of those, in bytes; a tokenizer has tens of MB."""


def describe(repository: Repository) -> tuple[Model, frozenset[str]]:
    """Return what a repository's model is, and the names of its files. Two small files are fetched.

    Raises:
        HubError: it is no model in the transformers format, or the Hub does not give a file.
        PublishRefused: its config.json does not say what is needed.
        OSError: no temporary file can be written.
    """
    small = [name for name in (CONFIGURATION, INDEX) if name in repository.files]
    if CONFIGURATION not in small:
        raise HubError(f"{repository.name} has no {CONFIGURATION}: it is no model of the transformers library")
    with tempfile.TemporaryDirectory() as folder:
        download(repository, small, Path(folder), lambda _: None)
        content = {name: _mapping(Path(folder, name), repository) for name in small}
    weights = _weights(repository, content.get(INDEX))
    beside = {
        name
        for name, file in repository.files.items()
        if PurePosixPath(name).suffix in _BESIDE and "/" not in name and file.size <= _LARGEST_BESIDE
    }
    if "tokenizer_config.json" not in beside:
        raise HubError(f"{repository.name} has no tokenizer_config.json, and the engine needs the tokenizer")
    configuration = parse_configuration(content[CONFIGURATION], f"{CONFIGURATION} of {repository.name}")
    size = sum(repository.files[name].size for name in weights)
    return Model(configuration, size), frozenset(weights | beside)


def _weights(repository: Repository, index: dict[str, Any] | None) -> set[str]:
    """Return the files of weights: those that the index names, as the transformers library loads them."""
    wanted = {WEIGHTS} if index is None else {str(name) for name in index.get("weight_map", {}).values()}
    if missing := sorted(wanted - set(repository.files)) or ([] if wanted else [WEIGHTS]):
        raise HubError(
            f"{repository.name} has no {', '.join(missing)}: only weights in the safetensors format can be imported"
        )
    if odd := sorted(name for name in wanted if "/" in name or not name.endswith(".safetensors")):
        raise HubError(f"{repository.name}: {INDEX} names {', '.join(odd)}, which is no file of weights")
    return wanted


def _mapping(file: Path, repository: Repository) -> dict[str, Any]:
    try:
        content = json.loads(file.read_text(encoding="utf-8"))
    except ValueError as error:
        raise HubError(f"{repository.name}: {file.name} is not JSON: {error}") from None
    if not isinstance(content, dict):
        raise HubError(f"{repository.name}: {file.name} is not a JSON object")
    return content
