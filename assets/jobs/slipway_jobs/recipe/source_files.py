"""The files that a recipe names: its text, and the weights it begins with."""

from __future__ import annotations

import glob
import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from slipway_jobs.recipe.architecture import Architecture, Llama
from slipway_jobs.recipe.model import Recipe
from slipway_jobs.recipe.problems import Finding, Key, shown

BYTE_LEVEL = "byte-level"
"""The tokenizer that needs no file."""

_NOT_OF_THE_WEIGHTS = {
    *("architecture", "initializer_range", "rope_scaling", "rope_theta", "max_position_embeddings"),
    *("head_dim", "sliding_window"),
}

SUFFIXES = (".jsonl", ".parquet", ".txt")
"""Kinds of file that text is read from."""

TOKENS = ".bin"
"""Files of token ids that were made before, in Megatron's format. Beside each is its index."""

INDEX = ".idx"
"""The index's ending."""

FETCHED = "slipway-data.json"
"""File that says what was fetched into a folder; the folder is complete once `done` is beside it."""

_OTHER_SUFFIXES = (
    *(".json", ".csv", ".tsv", ".gz", ".zst", ".xz", ".bz2", ".zip", ".tar", ".arrow", ".hdf5", ".h5", ".npy"),
    *(INDEX, ".tfrecord", ".pdf", ".html", ".md"),
)
"""Kinds of file that people keep text in and that are not read. A folder's name may end in anything else."""


def absolute(path: str, folder: Path) -> str:
    """Make a recipe's path absolute: it counts from the recipe's folder; `~` is the user's home."""
    return str(folder / Path(path).expanduser())


def source_files(source: str) -> list[Path]:
    """List the files of text or tokens at a source, by name.

    None when there are none, or when this machine does not see them.
    """
    folder = Path(source)
    files = folder.rglob("*") if folder.is_dir() else map(Path, glob.glob(source, recursive=True))  # noqa: PTH207 (an absolute pattern)
    return sorted(file for file in files if file.suffix in (*SUFFIXES, TOKENS) and file.is_file())


def missing_files(recipe: Recipe) -> Iterator[Finding]:
    """Yield a finding for each thing that the recipe names and that is not there.

    A path whose first folder this machine does not have (`/fsx` on a laptop) tells nothing and is passed over.
    """
    yield from missing_text(("data", "source"), recipe.data.source, recipe)
    if validation := recipe.data.validation:
        key = ("data", "validation", "source")
        yield from missing_text(key, validation.source, recipe)
        if both := sorted({*source_files(recipe.data.source)} & {*source_files(validation.source)}):
            fix = "Name other files, or take them out of data.source."
            yield Finding(key, f"{both[0]} is trained on, too: a loss over it validates nothing", fix)
    weights = recipe.initial_weights
    if weights and _visible(weights) and not Path(weights, "config.json").is_file():
        fix = "Name the folder of a model in the transformers format, or wait until the run that makes it is done."
        yield Finding(("initial_weights",), f"no model is at {weights} (it has no config.json)", fix)


def missing_text(key: Key, source: str, recipe: Recipe) -> Iterator[Finding]:
    """Yield a finding for each thing that is wrong with the files of a source, which stands at a key of the recipe."""
    files, kinds = source_files(source), ", ".join((*SUFFIXES, TOKENS))
    fix = f"Name a file, folder or pattern of {kinds} files; on the cluster, put or fetch them below /fsx/data."
    if Path(source).suffix in _OTHER_SUFFIXES and not Path(source).is_dir():
        yield Finding(key, f"{source}: {Path(source).suffix} files are not read", fix)
    elif _visible(source) and not files:
        yield Finding(key, f"no file of text is at {source}", fix)
    tokens = [file for file in files if file.suffix == TOKENS]
    if tokens and len(tokens) < len(files):
        yield Finding(
            key, f"{source} holds text and tokens ({tokens[0].name})", f"Write a pattern, as {source}/*{TOKENS}."
        )
    if tokens and recipe.model.architecture == "bert":
        yield Finding(key, f"{tokens[0]}: BERT's pairs are made of sentences, not of token ids", "Name text.")
    for file in tokens:
        if not file.with_suffix(INDEX).is_file():
            yield Finding(key, f"{file} has no {INDEX} file beside it, which says what it holds", "Copy both.")
    for folder in _incomplete(Path(source)):
        fix = "Wait until `slipway-job status` shows the end of its fetch, or submit the fetch again."
        yield Finding(key, f"{folder} is not complete: a fetch fills it", fix)


def other_sizes(recipe: Recipe) -> Iterator[Finding]:
    """Yield a finding for each field in which the recipe's model is not that of its initial weights."""
    if recipe.initial_weights is None:
        return
    file = Path(recipe.initial_weights, "config.json")
    try:
        there = json.loads(file.read_text(encoding="utf-8"))
    except (OSError, ValueError):
        return
    if not isinstance(there, dict):
        return
    for name, value in _of_the_weights(recipe.model, there).items():
        if name in there and there[name] != value:
            fix = f"Write {shown(there[name])}, or take other weights."
            key = "architecture" if name == "model_type" else name
            yield Finding(("model", key), f"{shown(value)}, and {file} has {shown(there[name])}", fix)
    if isinstance(recipe.model, Llama):
        yield from _other_rope(recipe.model, there, file)


def _of_the_weights(model: Architecture, there: dict[str, Any]) -> dict[str, Any]:
    """Return what of a model must be in its config.json as it is here, by the names there."""
    values: dict[str, Any] = model.model_dump(mode="json", exclude=_NOT_OF_THE_WEIGHTS)
    values["model_type"] = model.architecture
    if isinstance(model, Llama):
        if there.get("head_dim") is not None:
            values["head_dim"] = model.head_size
        if model.features.sliding_window:
            values["sliding_window"] = model.sliding_window
    return values


def _other_rope(model: Llama, there: dict[str, Any], file: Path) -> Iterator[Finding]:
    """Compare the rotary position embedding: transformers 5 writes `rope_parameters`, earlier releases two fields.

    The recipe may stretch weights that are not stretched.
    """
    scaling = there.get("rope_parameters") or there.get("rope_scaling") or {}
    theta = scaling.get("rope_theta", there.get("rope_theta", 10000.0))
    if theta != model.rope_theta:
        fix = f"Write {shown(theta)}, or take other weights."
        yield Finding(("model", "rope_theta"), f"{shown(model.rope_theta)}, and {file} has {shown(theta)}", fix)
    kind = scaling.get("rope_type", scaling.get("type", "default"))
    wanted = model.rope_scaling.model_dump() if model.rope_scaling else {}
    differing = {name for name, value in wanted.items() if scaling.get(name) != value}
    if kind != "default" and (not wanted or differing):
        fix = "Write what config.json has." if kind == "llama3" else "Take other weights: only `llama3` is known."
        yield Finding(("model", "rope_scaling"), f"it is not that of {file}, whose type is {shown(kind)}", fix)


def _incomplete(source: Path) -> list[Path]:
    """List the folders at, above or below a source that a fetch has not completed."""
    marks = [folder / FETCHED for folder in (source, *source.parents)]
    marks += source.rglob(FETCHED) if source.is_dir() else []
    return sorted({mark.parent for mark in marks if mark.is_file() and not (mark.parent / "done").exists()})


def _visible(path: str) -> bool:
    return Path(*Path(path).parts[:2]).exists()


def vocabulary_size(tokenizer: str) -> int | None:
    """Count the tokens of a tokenizer's folder; none where it is not there or of a kind that is not read here."""
    file = Path(tokenizer, "tokenizer.json")
    try:
        content = json.loads(file.read_text(encoding="utf-8"))
        vocabulary: dict[str, int] | list[object] = content["model"]["vocab"]
        added: list[int] = [token["id"] + 1 for token in content.get("added_tokens", [])]
    except (OSError, ValueError, KeyError, TypeError):
        return None
    return max([len(vocabulary), *added])
