"""All rules of a recipe, run together."""

from __future__ import annotations

from slipway_jobs.arithmetic.placement import NoPlacement, Placement, place
from slipway_jobs.environment import Environment
from slipway_jobs.recipe.model import Recipe
from slipway_jobs.recipe.problems import Finding


def check(recipe: Recipe, environment: Environment) -> tuple[Placement | None, list[Finding]]:
    """Check a recipe against an environment.

    Returns:
        Where it runs, and everything that keeps it from running. Without a place, only what the recipe alone tells.
    """
    try:
        placement = place(recipe, environment)
    except NoPlacement as none:
        return None, none.findings
    return placement, []
