"""The commands about recipes: `slipway-job check` and `slipway-job recipes`."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, NoReturn

import typer
from pydantic import ValidationError
from rich.console import Console
from rich.table import Table
from rich.text import Text

from slipway_jobs.arithmetic.estimate import estimate
from slipway_jobs.arithmetic.estimate_table import dollars, hours, render
from slipway_jobs.check.resolve import resolve
from slipway_jobs.environment import Environment, environment_file, read_environment
from slipway_jobs.recipe.load import load_recipe
from slipway_jobs.recipe.model import Recipe
from slipway_jobs.recipe.problems import RecipeProblems
from slipway_jobs.recipe.shipped import recipe_path, shipped_recipes

RecipeArgument = Annotated[str, typer.Argument(metavar="RECIPE", help="A file, or the name of a shipped recipe.")]
SetOption = Annotated[
    list[str] | None,
    typer.Option("--set", metavar="KEY=VALUE", help="Another value: `--set parallelism.tensor_parallel_size=8`."),
]


def check(recipe: RecipeArgument, overrides: SetOption = None) -> None:
    """Check a recipe against this cluster: its split, memory, time and cost, or what is wrong with it."""
    file, environment = recipe_path(recipe), environment_or_exit()
    try:
        run = resolve(load_recipe(file, overrides or ()), file, environment, environment_file())
    except RecipeProblems as problems:
        fail(str(problems))
    Console().print(render(estimate(run, environment)))


def recipes() -> None:
    """List the shipped recipes with time and cost: those for Trainium that fit here, those for CPUs, the others."""
    environment = environment_or_exit()
    table = Table(box=None, pad_edge=False)
    for heading in ("RECIPE", "MODEL", "NODES", "STRATEGY", "TIME", "COST"):
        table.add_column(heading, no_wrap=heading == "RECIPE", overflow="fold")
    for _, row in sorted((_row(file, environment) for file in shipped_recipes()), key=lambda found: found[0]):
        table.add_row(*row)
    Console().print(table)


def environment_or_exit() -> Environment:
    """Read the environment's file, or end with what is wrong with it.

    Raises:
        typer.Exit: it is not there, or no environment's file; status 1.
    """
    file = environment_file()
    try:
        return read_environment(file)
    except OSError as error:
        fail(f"{file}: cannot be read: {error.strerror}. Run this on the cluster, or name it in SLIPWAY_ENVIRONMENT.")
    except ValidationError as error:
        fail(f"{file}: is not an environment's file: {error}")


def _row(file: Path, environment: Environment) -> tuple[int, list[Text]]:
    """Write one recipe, with its place in the list; what keeps it from running here stands for time and cost."""
    recipe = load_recipe(file, ())
    place = 0 if recipe.hardware.device == "neuron" else 1
    try:
        run = resolve(recipe, file, environment, environment_file())
    except RecipeProblems:
        place, time, cost = 2, "not here", f"`check {file.stem}` says why"
    else:
        numbers = estimate(run, environment)
        time, cost = hours(numbers), dollars(numbers)
    where = recipe.hardware.instance_type or recipe.hardware.device
    nodes = f"{recipe.hardware.nodes} x {where}"
    return place, [Text(word) for word in (file.stem, recipe.model.architecture, nodes, _strategy(recipe), time, cost)]


def _strategy(recipe: Recipe) -> str:
    parallelism = recipe.parallelism
    sizes = (("TP", parallelism.tensor_parallel_size), ("PP", parallelism.pipeline_parallel_size))
    return " ".join([parallelism.strategy, *(f"{name}{size}" for name, size in sizes if size > 1)])


def fail(message: str) -> NoReturn:
    """Say what the user has to change, and end.

    Raises:
        typer.Exit: always; status 1.
    """
    typer.echo(message, err=True)
    raise typer.Exit(1)
