"""The rows that say which resources the picture shows, and which flows (parts.yaml, flows.yaml)."""

from functools import cache
from pathlib import Path
from typing import Any, Literal

import yaml
from pydantic import BaseModel, ConfigDict, Field

from slipway.review.report.architecture.model import Place

_DIRECTORY = Path(__file__).parent


class _Row(BaseModel):
    model_config = ConfigDict(frozen=True, extra="forbid")


class EachLine(_Row):
    """A line for each item of a list."""

    each: str
    line: str


class Titles(_Row):
    """Titles by the value of a property."""

    property: str
    values: dict[str, str]


class PieceRow(_Row):
    """What to draw of a resource, or of a piece of it; parts.yaml explains the fields."""

    kind: str
    title: str = ""
    titles: Titles | None = None
    details: tuple[str | EachLine, ...] = ()
    place: Place = "regional"
    subnets: str | None = None
    needs: str | None = None
    group: str | None = None
    at: str = ""


class PartRow(PieceRow):
    """What to draw of a resource type."""

    with_: tuple[str, ...] = Field(default=(), alias="with")
    once: bool = False
    pieces: tuple[PieceRow, ...] = ()


class PeopleRow(_Row):
    """People who use an environment."""

    title: str
    details: tuple[str, ...]


class FlowRow(_Row):
    """A flow between two kinds of parts; flows.yaml explains the fields."""

    from_: str = Field(alias="from")
    to: str
    from_name: str | None = None
    to_name: str | None = None
    proof: Literal["people", "uses", "used", "connector"]
    through: frozenset[str] = frozenset()
    connector: str | None = None
    shared: str | None = None
    when: str | None = None
    says: str | None = None
    label: str


class FlowRows(_Row):
    """All of flows.yaml."""

    people: dict[str, PeopleRow]
    flows: tuple[FlowRow, ...]


@cache
def part_rows() -> dict[str, PartRow]:
    """Return the rows of parts.yaml by resource type."""
    return {name: PartRow.model_validate(row) for name, row in _read("parts.yaml")["parts"].items()}


@cache
def words() -> dict[str, str]:
    """Return the words of parts.yaml by the value that they stand for."""
    return {str(value): str(word) for value, word in _read("parts.yaml")["words"].items()}


@cache
def flow_rows() -> FlowRows:
    """Return the content of flows.yaml."""
    return FlowRows.model_validate(_read("flows.yaml"))


def _read(file_name: str) -> dict[str, Any]:
    content: dict[str, Any] = yaml.safe_load((_DIRECTORY / file_name).read_text(encoding="utf-8"))
    return content
