"""All rules of a recipe, run together."""

from __future__ import annotations

from collections.abc import Callable, Iterator

from slipway_jobs.arithmetic import checkpoints, memory, nodes, publication, split, training
from slipway_jobs.arithmetic.placement import NoPlacement, Placement, place
from slipway_jobs.environment import Environment
from slipway_jobs.recipe.model import Recipe
from slipway_jobs.recipe.problems import Finding

RECIPE_RULES: tuple[Callable[[Recipe], Iterator[Finding]], ...] = (
    training.strategy,
    training.strategy_options,
    training.precision,
    training.architecture,
    training.ahead_of_time,
    training.compiled_steps,
    training.tied_embeddings,
    training.schedule,
    training.vocabulary,
    training.environment_variables,
    split.tensors,
    split.key_value_heads,
    split.sequence,
)
"""What a recipe alone tells."""

PLACEMENT_RULES: tuple[Callable[[Placement], Iterator[Finding]], ...] = (
    nodes.count,
    nodes.network,
    nodes.stack,
    nodes.workers,
    split.replicas,
    split.repeated_heads,
    split.batch,
    memory.device,
    memory.host,
    checkpoints.room,
    publication.export,
)
"""What a recipe asks of the nodes that it gets."""

RECIPE_NOTICES: tuple[Callable[[Recipe], Iterator[Finding]], ...] = (training.interval, split.uneven_stages)
"""What a person should know of the recipe alone."""

NOTICES: tuple[Callable[[Placement], Iterator[Finding]], ...] = (
    nodes.idle_cores,
    nodes.prepare_place,
    memory.tight_device,
    memory.tight_host,
    checkpoints.slow,
    checkpoints.short_time_limit,
    checkpoints.short_kill_wait,
    checkpoints.short_hang_limit,
    publication.uncompiled,
    publication.tight_serving_host,
)
"""What works, and a person should know."""


def check(recipe: Recipe, environment: Environment) -> tuple[Placement | None, list[Finding]]:
    """Check a recipe against an environment.

    Returns:
        Where it runs, and everything that keeps it from running. Without a place, only what the recipe alone tells.
    """
    findings = [finding for rule in RECIPE_RULES for finding in rule(recipe)]
    try:
        placement = place(recipe, environment)
    except NoPlacement as none:
        return None, [*findings, *none.findings]
    return placement, [*findings, *(finding for rule in PLACEMENT_RULES for finding in rule(placement))]


def notices(placement: Placement) -> list[Finding]:
    """Say what a person should know about a recipe that passes."""
    of_recipe = [finding for rule in RECIPE_NOTICES for finding in rule(placement.recipe)]
    return [*of_recipe, *(finding for rule in NOTICES for finding in rule(placement))]
