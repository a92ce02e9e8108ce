"""What CloudFormation's own differ does not know: the rows of facts.yaml."""

from functools import cache
from pathlib import Path
from typing import Literal

import yaml
from pydantic import BaseModel, ConfigDict

from slipway.review.changes.model import Effect

_ROWS = Path(__file__).with_name("facts.yaml")


class _Row(BaseModel):
    model_config = ConfigDict(frozen=True, extra="forbid")


class _Sourced(_Row):
    source: str
    """Where that is documented: an address, or a file of the project."""


class ReplacingProperty(_Sourced):
    """A property whose change replaces the resource, which the differ does not know: it knows no nested ones."""

    type: str
    path: str
    """The property's path."""


class DataHolder(_Row):
    """A type that holds data beside those that `slipway destroy` asks about."""

    type: str
    reason: str
    """What its data are."""


class Note(_Sourced):
    """A sentence to say about a change."""

    type: str
    """Shell-style pattern of the type."""

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


class Facts(_Row):
    """All rows."""

    ignored_types: frozenset[str]
    """Types that are nothing but a record of the CDK's."""

    hashed_names: frozenset[str]
    """Types whose logical id holds the hash of a file, so that another content looks like another resource."""

    started_by_hash: frozenset[str]
    """Types that start something from the file whose hash they hold: another content is a change of the resource."""

    sets: frozenset[str]
    """Properties whose items have no order."""

    moving_attributes: dict[str, tuple[str, ...]]
    """Attributes, by type, that get a new value with every update of the resource."""

    names: dict[str, tuple[str, ...]]
    """Paths of the properties, by type, that tell a resource from all others in AWS when the template chooses them."""

    default_deletion_policy: dict[str, str]
    """What CloudFormation does, by type, when a template without a DeletionPolicy lets go of a resource."""

    replacing: tuple[ReplacingProperty, ...]
    holds_data: tuple[DataHolder, ...]
    notes: tuple[Note, ...]


@cache
def facts() -> Facts:
    """Return the rows of facts.yaml."""
    return Facts.model_validate(yaml.safe_load(_ROWS.read_text(encoding="utf-8")))
