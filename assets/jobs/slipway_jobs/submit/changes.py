"""What may change in a run between two submissions, and what must then be done again."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from slipway_jobs.recipe.model import Recipe
from slipway_jobs.run import DataRun, ImportRun, Run, ScriptRun, Stage, TrainingRun

CHANGEABLE: Mapping[str, tuple[Stage, ...]] = {
    # When checkpoints are written and how long the job is patient have no influence on what is trained.
    "checkpoint": (),
    "restarts": (),
    # How graphs are compiled, and where; the graphs stay.
    "compile": ("compile",),
    "hardware.queue": ("compile",),
    "environment_variables": ("compile",),
    # What is measured changes nothing of what is trained; measuring has a graph of its own.
    "data.validation": ("prepare", "compile"),
    # The same samples make a step, in other portions: other graphs, the same training but for rounding. It is what
    # helps after a lack of device memory.
    "batch.micro_size": ("compile",),
    "parallelism.activation_checkpointing": ("compile",),
    "publish": ("publish",),
}
"""Keys of a recipe, with the stages that a change makes undone. All others make another model: the learning rate of a
step comes from `steps` and `optimizer`, the order of the samples from `data` and `batch.global_size`, and the files of
a checkpoint belong to one split of the model."""

ELASTIC_STRATEGIES = frozenset({"fully_sharded"})
"""Strategies whose checkpoints load into another number of workers (torch.distributed.checkpoint). The files of
NeuronX Distributed hold a part of the optimizer for each replica (ZeRO-1)."""

PINNED = ("training_stack", "compiler", "python", "kit_directory")
"""What a run takes over from the environment anew when it is submitted again; another graph may come of it."""


SCRIPT_WORK = ("program", "arguments", "compile_arguments", "nodes", "python")
"""What makes other work of a script. Whether it goes on from what is there is up to the script."""


def differences(old: Recipe, new: Recipe) -> dict[str, tuple[Any, Any]]:
    """Return the keys whose values differ, with both values."""
    before, after = dict(flat(old.model_dump())), dict(flat(new.model_dump()))
    return {
        key: (before.get(key), after.get(key))
        for key in sorted(before.keys() | after.keys())
        if before.get(key) != after.get(key)
    }


def refused_changes(old: Run, new: Run) -> list[str]:
    """Return a message for each change that a run does not survive."""
    if isinstance(old, TrainingRun) and isinstance(new, TrainingRun):
        return [
            f"{key} was {_shown(before)} and would be {_shown(after)}"
            for key, (before, after) in differences(old.recipe, new.recipe).items()
            if _consequence(key, new.recipe) is None
        ]
    if isinstance(old, ImportRun) and isinstance(new, ImportRun):
        return [f"it imported {old.model.origin}, not {new.model.origin}"] * (old.model.origin != new.model.origin)
    if isinstance(old, DataRun) and isinstance(new, DataRun):
        return [
            f"it fetched {before}, not {after}"
            for before, after in ((old.data.origin, new.data.origin), (old.data.directory, new.data.directory))
            if before != after
        ]
    if isinstance(old, ScriptRun) and isinstance(new, ScriptRun):
        return []
    return [f"it is {old.kind}, not {new.kind}"]


def undone_stages(old: Run, new: Run) -> set[Stage]:
    """Return the stages that allowed changes make undone, whether they are finished or not."""
    if isinstance(old, ScriptRun) and isinstance(new, ScriptRun):
        changed = any(getattr(old, name) != getattr(new, name) for name in SCRIPT_WORK)
        return {"compile", "train"} if changed else set()
    if not isinstance(old, TrainingRun) or not isinstance(new, TrainingRun):
        return {"publish"} if old.publish != new.publish else set()
    undone: set[Stage] = set()
    for key in differences(old.recipe, new.recipe):
        undone.update(_consequence(key, new.recipe) or ())
    if any(getattr(old, name) != getattr(new, name) for name in PINNED):
        undone.add("compile")
    return undone


def _consequence(key: str, recipe: Recipe) -> tuple[Stage, ...] | None:
    """Return the stages that a change of a key makes undone; none when it is refused."""
    if key == "hardware.nodes" and recipe.parallelism.strategy in ELASTIC_STRATEGIES:
        return ("compile",)
    return next((undone for prefix, undone in CHANGEABLE.items() if f"{key}.".startswith(f"{prefix}.")), None)


def flat(values: Mapping[str, Any], prefix: str = "") -> Iterator[tuple[str, Any]]:
    """Yield a recipe's values by their dotted keys; what is left out is not there."""
    for name, value in values.items():
        if isinstance(value, dict):
            yield from flat(value, f"{prefix}{name}.")
        elif value is not None:
            yield f"{prefix}{name}", value


def _shown(value: object) -> str:
    return "left out" if value is None else repr(value)
