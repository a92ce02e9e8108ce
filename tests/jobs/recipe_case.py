"""Recipes against the environments of tests/jobs/environments."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from slipway_jobs.arithmetic.estimate import Estimate, estimate
from slipway_jobs.check.resolve import resolve
from slipway_jobs.environment import Environment, read_environment
from slipway_jobs.recipe.load import load_recipe
from slipway_jobs.recipe.problems import RecipeProblems
from slipway_jobs.recipe.shipped import RECIPES_DIRECTORY
from slipway_jobs.run import TrainingRun

ENVIRONMENTS = Path(__file__).parent / "environments"


def environment(name: str) -> Environment:
    """Read one of the environments: `trn1`, `trn2` or `cpu`."""
    return read_environment(ENVIRONMENTS / f"{name}.json")


def run_of(recipe: str, *overrides: str, where: Environment | str = "trn1") -> TrainingRun:
    """Resolve a shipped recipe."""
    file = RECIPES_DIRECTORY / f"{recipe}.yaml"
    there = environment(where) if isinstance(where, str) else where
    return resolve(load_recipe(file, overrides), file, there, ENVIRONMENTS / "trn1.json")


def estimate_of(recipe: str, *overrides: str, where: Environment | str = "trn1") -> Estimate:
    """Estimate what a shipped recipe needs."""
    there = environment(where) if isinstance(where, str) else where
    return estimate(run_of(recipe, *overrides, where=there), there)


def problems_of(recipe: str, *overrides: str, where: Environment | str = "trn1") -> list[str]:
    """Return what is wrong with a shipped recipe; nothing when it passes."""
    try:
        run_of(recipe, *overrides, where=where)
    except RecipeProblems as problems:
        return [str(problem) for problem in problems.problems]
    return []


def written(folder: Path, text: str) -> Path:
    """Write a recipe of one's own."""
    file = folder / "recipe.yaml"
    file.write_text(text, encoding="utf-8")
    return file


def problems_in(file: Path, *overrides: str) -> list[str]:
    """Return what `load_recipe` says against a file, with the file's folder taken out."""
    with pytest.raises(RecipeProblems) as raised:
        load_recipe(file, overrides)
    return [str(problem).replace(f"{file.parent}{os.sep}", "") for problem in raised.value.problems]
