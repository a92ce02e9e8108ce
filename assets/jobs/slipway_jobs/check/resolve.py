"""Turns a recipe into a run: decides queue, paths and Python, after all arithmetic was checked."""

from __future__ import annotations

import hashlib
import json
import os
import sys
from pathlib import Path
from typing import Any

from pydantic import TypeAdapter, ValidationError

import slipway_jobs
from slipway_jobs.arithmetic.checks import check
from slipway_jobs.arithmetic.placement import Placement
from slipway_jobs.environment import Environment
from slipway_jobs.ownership import user_path
from slipway_jobs.recipe.document import differences, read_document
from slipway_jobs.recipe.model import Name, Recipe
from slipway_jobs.recipe.problems import Finding, Problem, RecipeProblems
from slipway_jobs.recipe.source_files import BYTE_LEVEL, absolute, missing_files, other_sizes, source_files
from slipway_jobs.run import TrainingRun


def resolve(
    recipe: Recipe, recipe_file: Path, environment: Environment, environment_file: Path, name: str | None = None
) -> TrainingRun:
    """Decide everything about a run.

    Args:
        recipe: what `load_recipe` gave.
        recipe_file: its file; relative paths in it count from its folder, and problems name its lines.
        environment: the cluster.
        environment_file: the file that it was read from.
        name: the run's name; none for the recipe's.

    Raises:
        RecipeProblems: the recipe cannot run in this environment.
    """
    absolute_recipe = _with_absolute_paths(recipe, recipe_file.resolve().parent)
    placement, findings = check(absolute_recipe, environment)
    findings += [*missing_files(absolute_recipe), *other_sizes(absolute_recipe)]
    problems = [*_located(findings, recipe_file, recipe), *_name_problems(name)]
    if placement is None or problems:
        raise RecipeProblems(problems)
    return _run(placement, environment_file, name or recipe.name)


def _located(findings: list[Finding], file: Path, recipe: Recipe) -> list[Problem]:
    """Give findings their places; what the file says otherwise than the recipe came from `--set`."""
    if not findings:
        return []
    document = differences(read_document(file), recipe.model_dump(mode="json", exclude_unset=True))
    return [document.problem(finding) for finding in findings]


def _name_problems(name: str | None) -> list[Problem]:
    try:
        TypeAdapter(Name | None).validate_python(name)
    except ValidationError:
        fix = "Write lower-case letters, digits, '.' and '-', 63 at most, for example `llama-3-8b.v2`."
        return [Problem(f"--name {name}", "", "is not a run's name", fix)]
    return []


def _with_absolute_paths(recipe: Recipe, folder: Path) -> Recipe:
    """Make what is a path in a recipe absolute; a tokenizer's name on the Hugging Face Hub stays as it is."""
    tokenizer = recipe.data.tokenizer
    if tokenizer != BYTE_LEVEL and (folder / tokenizer).is_dir():
        tokenizer = absolute(tokenizer, folder)
    validation = recipe.data.validation
    if validation is not None:
        validation = validation.model_copy(update={"source": absolute(validation.source, folder)})
    named = {"source": absolute(recipe.data.source, folder), "tokenizer": tokenizer, "validation": validation}
    data = recipe.data.model_copy(update=named, deep=True)
    weights = recipe.initial_weights and absolute(recipe.initial_weights, folder)
    return recipe.model_copy(update={"data": data, "initial_weights": weights})


def _run(placement: Placement, environment_file: Path, name: str) -> TrainingRun:
    recipe, environment = placement.recipe, placement.environment
    hardware = recipe.hardware.model_copy(update={"workers_per_node": placement.workers_per_node})
    recipe = recipe.model_copy(update={"hardware": hardware})
    stack_directory = Path(environment.training_stacks_directory, placement.stack_name).resolve()
    checkpoints = Path(environment.checkpoints_directory, name)
    prepared, validation = Path(environment.prepared_directory, str(os.getuid())), recipe.data.validation
    return TrainingRun(
        **shared_fields(name, environment, environment_file),
        recipe=recipe,
        queue=placement.queue.name,
        cpu_queue=placement.cpu_queue.name,
        training_stack=placement.stack_name,
        neuron_release=placement.stack.release,
        compiler=placement.stack.compiler,
        python=str(stack_directory / "bin" / "python"),
        checkpoint_directory=str(checkpoints),
        prepared_directory=str(prepared / _prepared_name(recipe, recipe.data.source)),
        validation_directory=str(prepared / _prepared_name(recipe, validation.source)) if validation else None,
        converted_directory=str(checkpoints / "converted"),
        compile_cache=str(user_path(Path(environment.runs_directory)) / "compile-cache" / placement.stack.compiler),
        master_port=environment.master_port,
        usd_per_node_hour=placement.instance.usd_per_hour,
    )


def shared_fields(name: str, environment: Environment, environment_file: Path) -> dict[str, Any]:
    """Return what all runs say of their environment, `cpu_queue` aside.

    Args:
        name: the run's name.
        environment: the cluster.
        environment_file: the file that it was read from.
    """
    return {
        "name": name,
        "scheduler": "slurm" if environment.kubernetes is None else "kubernetes",
        "kit_directory": str(Path(slipway_jobs.__file__).resolve().parents[1]),
        "kit_python": str(Path(sys.executable).parent.resolve() / Path(sys.executable).name),
        "environment_file": str(environment_file.absolute()),
        "directory": str(Path(environment.runs_directory, name)),
        "scratch_directory": environment.scratch_directory,
        "model_bucket": environment.model_bucket,
        "region": environment.region,
    }


def _prepared_name(recipe: Recipe, source: str) -> str:
    """Name the tokenized data by what it is made of: the files with their sizes and times, and how they are cut."""
    made_of = {
        "data": {**recipe.data.model_dump(mode="json", exclude={"validation"}), "source": source},
        "files": [(str(file), file.stat().st_size, int(file.stat().st_mtime)) for file in source_files(source)],
        "model": recipe.model.model_dump(mode="json", include={"architecture", "vocab_size", *_TOKENS}),
    }
    checksum = hashlib.sha256(json.dumps(made_of, sort_keys=True).encode()).hexdigest()
    return f"{recipe.name}-{checksum[:16]}"


_TOKENS = {"bos_token_id", "eos_token_id"}
