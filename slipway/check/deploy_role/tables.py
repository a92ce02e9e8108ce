"""The tables that a policy is made of: what a resource type needs, and where an action is allowed."""

from collections.abc import Mapping
from functools import cache
from pathlib import Path
from typing import Any

import yaml
from pydantic import BaseModel, ConfigDict

_FOLDER = Path(__file__).parent


class Actions(BaseModel):
    """The rows of actions.yaml. The actions of each resource type are in the catalogue."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    every_stack: tuple[str, ...]
    """What every stack needs, whatever is in it."""

    custom_resource: tuple[str, ...]
    """What every custom resource needs."""

    nested_stacks: Mapping[str, tuple[str, ...]]
    """The types in a nested template of AWS's, by a part of its URL."""


class Scope(BaseModel):
    """A row of scopes.yaml."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    actions: tuple[str, ...]
    """Shell-style patterns of actions."""

    resources: tuple[str, ...]
    """ARNs, with `{prefix}` and the other names of the file's head."""

    provider_resources: tuple[str, ...] = ()
    """More of them when the template of the ParallelCluster provider is nested."""

    conditions: Mapping[str, Mapping[str, Any]] = {}


class Scopes(BaseModel):
    """The rows of scopes.yaml, first match first."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    scopes: tuple[Scope, ...]


class Destroyer(BaseModel):
    """The rows of destroyer.yaml."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    changes: tuple[Scope, ...]
    reads: tuple[str, ...]
    """Patterns of actions that describe something."""


@cache
def destroyer() -> Destroyer:
    """Return destroyer.yaml."""
    return Destroyer.model_validate(_read("destroyer.yaml"))


@cache
def actions() -> Actions:
    """Return actions.yaml."""
    return Actions.model_validate(_read("actions.yaml"))


@cache
def scopes() -> Scopes:
    """Return scopes.yaml."""
    return Scopes.model_validate(_read("scopes.yaml"))


def _read(name: str) -> Any:
    return yaml.safe_load((_FOLDER / name).read_text(encoding="utf-8"))
