"""Loads a recipe's file, with what `--set` changes in it, and tells everything that is wrong at once."""

from __future__ import annotations

import copy
import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from pydantic import ValidationError

from slipway_jobs.recipe.document import Document, read_document, scalar
from slipway_jobs.recipe.model import Recipe
from slipway_jobs.recipe.problems import Key, Problem, RecipeProblems, dotted
from slipway_jobs.recipe.schema_findings import schema_findings


def load_recipe(file: Path, overrides: Sequence[str] = ()) -> Recipe:
    """Load a recipe; whether it fits an environment is `resolve`'s part.

    Args:
        file: the YAML file.
        overrides: values in the place of the file's, as `parallelism.tensor_parallel_size=8`; the last one wins.

    Raises:
        RecipeProblems: the file cannot be read, or it or an override is wrong. All problems have their line and
            column, or the option they come from.
    """
    document = read_document(file)
    document, problems = _overridden(document, overrides)
    try:
        recipe = Recipe.model_validate_json(json.dumps(document.values, default=str))
    except ValidationError as error:
        problems += [document.problem(finding) for finding in schema_findings(error)]
    if problems:
        raise RecipeProblems(problems)
    return recipe


def _overridden(document: Document, overrides: Sequence[str]) -> tuple[Document, list[Problem]]:
    """Put `--set` values over a document's; what cannot be put there is a problem."""
    values = copy.deepcopy(document.values)
    sources: dict[Key, str] = {}
    problems = []
    for override in overrides:
        option = f"--set {override}"
        name, equals, text = override.partition("=")
        key = tuple(name.strip().split("."))
        if not equals or not all(key):
            fix = "Write `--set key.path=value`, for example `--set parallelism.tensor_parallel_size=8`."
            problems.append(Problem(option, "", "is not a key and a value", fix))
            continue
        try:
            _put(values, key, scalar(text))
        except ValueError:
            problems.append(Problem(option, "", f"{text!r} is not one plain value", "Set each value by its own --set."))
        except LookupError as error:
            fix = f"Leave out what is behind `{error.args[0]}`."
            problems.append(Problem(option, "", f"`{error.args[0]}` is a value, not a section", fix))
        else:
            sources[key] = option
    return Document(document.file, values, document.places, sources), problems


def _put(values: dict[str, Any], key: Key, value: Any) -> None:
    """Set one value; sections on the way that are not there are added.

    Raises:
        LookupError: a part of the way is a value; the argument is its dotted key.
    """
    for depth, part in enumerate(key[:-1], start=1):
        if values.get(part) is None:
            values[part] = {}
        values = values[part]
        if not isinstance(values, dict):
            raise LookupError(dotted(key[:depth]))  # noqa: TRY004 (a user's mistake, told with the others)
    values[key[-1]] = value
