"""The rows that say which resources the picture shows, and which flows (the catalogue, flows.yaml)."""

from functools import cache
from pathlib import Path
from typing import Literal

import yaml
from pydantic import BaseModel, ConfigDict, Field

from slipway.catalogue import resource_types
from slipway.review.report.architecture.model import Place

_FILE = Path(__file__).with_name("flows.yaml")


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
    """What to draw of a resource, or of a piece of it."""

    kind: str
    """What flows.yaml calls it."""

    title: str = ""
    """Text with {paths} into the properties; {name} is the construct's own name, {count} how many there are."""

    titles: Titles | None = None
    """The title by the value of a property."""

    details: tuple[str | EachLine, ...] = ()
    """Lines of text. A line with a path that has no value in the template is left out. {a.b|tail} is what is behind
    the last dot of the value. `each: path` makes a line of each item. {Type/path} looks in a resource of that type that
    this one refers to."""

    place: Place = "regional"
    """Where it stands without subnets of the environment."""

    subnets: str | None = None
    """Path of the subnets; {Type/path} as above."""

    needs: str | None = None
    """Path that must have a value for the part to be drawn."""

    group: str | None = None
    """The frame around it."""

    at: str = ""
    """Of a piece: its path in the resource."""


class PartRow(PieceRow):
    """What to draw of a resource type. A type without a row is counted instead."""

    with_: tuple[str, ...] = Field(default=(), alias="with")
    """Types of resources that belong to it where it refers to them."""

    once: bool = False
    """Whether all of a stack are one part."""

    several: str = ""
    """Title of several, which are one part where it is given; what is said of one is not said of them."""

    pieces: tuple[PieceRow, ...] = ()
    """Parts inside of one resource."""


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

    order: tuple[str, ...]
    """Kinds of parts, in the order in which they are drawn. Others follow them."""

    words: dict[str, str]
    """Words by the value of a property that they stand for."""

    people: dict[str, PeopleRow]
    flows: tuple[FlowRow, ...]


@cache
def part_rows() -> dict[str, PartRow]:
    """Return what to draw by resource type, in the order of drawing."""
    entries = resource_types().items()
    rows = {name: PartRow.model_validate(entry.drawing) for name, entry in entries if entry.drawing}
    order = {kind: place for place, kind in enumerate(flow_rows().order)}
    return dict(sorted(rows.items(), key=lambda item: order.get(item[1].kind, len(order))))


def words() -> dict[str, str]:
    """Return the words of flows.yaml by the value that they stand for."""
    return flow_rows().words


@cache
def flow_rows() -> FlowRows:
    """Return the content of flows.yaml."""
    return FlowRows.model_validate(yaml.safe_load(_FILE.read_text(encoding="utf-8")))
