"""The recipes that come with the kit."""

from __future__ import annotations

from pathlib import Path

import slipway_jobs

RECIPES_DIRECTORY = Path(slipway_jobs.__file__).resolve().parents[1] / "recipes"
"""Their folder."""


def shipped_recipes() -> list[Path]:
    """List their files by name."""
    return sorted(RECIPES_DIRECTORY.glob("*.yaml"))


def recipe_path(recipe: str | Path) -> Path:
    """Find a recipe: a file, or a shipped recipe by its name, as `llama-3-8b`."""
    shipped = RECIPES_DIRECTORY / f"{recipe}.yaml"
    return shipped if not Path(recipe).exists() and shipped.is_file() else Path(recipe)
