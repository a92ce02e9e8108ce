"""What CloudFormation's own differ does not know: the rows of facts.yaml, and those of each type in the catalogue."""

from functools import cache
from pathlib import Path
from typing import Literal

import yaml
from pydantic import BaseModel, ConfigDict

from slipway.catalogue import known
from slipway.review.changes.model import Effect

_ROWS = Path(__file__).with_name("facts.yaml")


class _Row(BaseModel):
    model_config = ConfigDict(frozen=True, extra="forbid")


class Note(_Row):
    """A sentence to say about a change."""

    paths: tuple[str, ...] = ()
    """Shell-style patterns; one of the changed properties matches. All changes when empty."""

    together_with: tuple[str, ...] = ()
    """Another of the changed properties matches one of these as well, if there are any."""

    effects: tuple[Effect, ...] = ()
    """The resource's effect is one of these; any when empty."""

    direction: Literal["up", "down"] | None = None
    """The property, a number, rises or falls."""

    after: str | None = None
    """The property's new value, if only one matters."""

    having: dict[str, str] = {}
    """What top-level properties of the resource were before."""

    note: str
    source: str
    """Where that is documented: an address, or a file of the project."""


class Facts(_Row):
    """All rows."""

    sets: frozenset[str]
    """Properties whose items have no order."""

    every_resource: tuple[Note, ...]
    """Notes on a change of any resource."""

    every_custom_resource: tuple[Note, ...]


@cache
def facts() -> Facts:
    """Return the rows of facts.yaml."""
    return Facts.model_validate(yaml.safe_load(_ROWS.read_text(encoding="utf-8")))


@cache
def notes_of(resource_type: str) -> tuple[Note, ...]:
    """Return what may be said about a change of a resource type."""
    custom = facts().every_custom_resource if resource_type.startswith("Custom::") else ()
    own = (Note.model_validate(row) for row in known(resource_type).change_notes)
    return (*facts().every_resource, *custom, *own)
