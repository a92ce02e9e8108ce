"""The VPC of the wide picture: a column for each zone, public subnets above private ones.

What exists in one zone is in that zone's column. What exists in several zones lies across their columns, below.
"""

from collections.abc import Iterable

from slipway.review.report.architecture.model import Part, Subnet
from slipway.review.report.picture.blocks import ARROW_GAP, FRAME_PADDING, FRAME_TITLE, Block, blocks, place_block
from slipway.review.report.picture.cards import GAP
from slipway.review.report.picture.shapes import Frame, FrameKind, Rectangle
from slipway.review.report.picture.sheet import Sheet

MAIN_ZONE = 1.8
"""How many times as wide as another zone the first one is: most of what is in one zone is there."""

_TWO_COLUMNS = 300.0
"""A zone that is wider has two cards side by side."""

_ACROSS = 3
"""How many cards of a frame that lies across zones stand side by side."""

_EMPTY = 18.0
_INSET = 2 * FRAME_PADDING

_Columns = dict[str, Rectangle]


def place_network(sheet: Sheet, place: Rectangle) -> float:
    """Put the VPC at a place, whose height does not count, and return where it ends."""
    layout = sheet.layout
    inner = Rectangle(place.x + FRAME_PADDING, place.y + FRAME_TITLE + 4, place.width - _INSET, 0)
    top = inner.y
    if gateways := sheet.at_place("network"):
        cards = sheet.maker.grid(gateways, inner, 4)
        layout.cards += cards
        top = cards[-1].place.bottom + GAP
    columns = _columns(sheet.zones(), inner)
    y = top + FRAME_TITLE
    for public in (True, False):
        if sheet.subnets(public=public):
            y = _place_row(sheet, columns, y, public=public) + GAP
    end = y - GAP + FRAME_PADDING
    for zone, column in columns.items():
        layout.frames.append(Frame("zone", zone, Rectangle(column.x, top, column.width, end - top)))
    end += FRAME_PADDING
    vpc = Rectangle(place.x, place.y, place.width, end - place.y)
    layout.frames.append(vpc_frame(sheet, vpc))
    return end


def vpc_frame(sheet: Sheet, place: Rectangle) -> Frame:
    """Return the frame of the VPC at this place."""
    architecture = sheet.architecture
    title = f"{architecture.network}, {architecture.region}"
    return Frame("vpc", title, place, sheet.marks.get(architecture.network_id))


def subnet_title(subnets: list[Subnet]) -> str:
    """Return what to write above subnets of one kind and zone; a change may have the zone's old one beside the new."""
    kind = "public" if subnets[0].is_public else "private"
    return f"{kind} {subnets[0].cidr}" if len(subnets) == 1 else f"{kind}, {len(subnets)} subnets"


def _columns(names: list[str], place: Rectangle) -> _Columns:
    weights = [MAIN_ZONE if index == 0 and len(names) > 1 else 1.0 for index in range(len(names))]
    unit = (place.width - GAP * (len(names) - 1)) / sum(weights)
    columns = {}
    x = place.x
    for name, weight in zip(names, weights, strict=True):
        columns[name] = Rectangle(x, place.y, unit * weight, 0)
        x += unit * weight + GAP
    return columns


def _place_row(sheet: Sheet, columns: _Columns, y: float, *, public: bool) -> float:
    """Put all public or all private subnets side by side, and return where they end."""
    parts = sheet.in_subnets(public=public)
    start = y + FRAME_TITLE
    end = _place_alone(sheet, columns, parts, start)
    end = _place_across(sheet, columns, parts, end + ARROW_GAP if end > start else start) or end
    end = max(end + FRAME_PADDING, start + _EMPTY)
    for zone, column in columns.items():
        here = [subnet for subnet in sheet.subnets(public=public) if subnet.zone == zone]
        if here:
            frame = Rectangle(column.x + FRAME_PADDING, y, column.width - _INSET, end - y)
            kind: FrameKind = "public" if public else "private"
            sheet.layout.frames.append(Frame(kind, subnet_title(here), frame, sheet.mark_of(here)))
    return end


def _place_alone(sheet: Sheet, columns: _Columns, parts: list[Part], start: float) -> float:
    """Put what exists in one zone into its column, and return where the longest column ends."""
    end = start
    for zone, column in columns.items():
        y = start
        for block in blocks(part for part in parts if sheet.zones_of(part) == [zone]):
            room = Rectangle(column.x + _INSET, y, column.width - 2 * _INSET, 0)
            end = max(end, bottom := place_block(sheet, block, room, 2 if column.width > _TWO_COLUMNS else 1))
            y = bottom + ARROW_GAP
    return end


def _place_across(sheet: Sheet, columns: _Columns, parts: list[Part], y: float) -> float:
    """Put what exists in several zones across their columns, and return where that ends; 0 when there is nothing."""
    end = 0.0
    names = {part.id: tuple(sheet.zones_of(part)) for part in parts}
    for zones in dict.fromkeys(name for name in names.values() if len(name) > 1):
        x = min(columns[zone].x for zone in zones) + _INSET
        right = max(columns[zone].right for zone in zones) - _INSET
        for group, members in _in_turn(part for part in parts if names[part.id] == zones):
            end = place_block(sheet, (group, members), Rectangle(x, y, right - x, 0), _ACROSS if group else 1)
            y = end + ARROW_GAP
    return end


def _in_turn(parts: Iterable[Part]) -> list[Block]:
    """Return the parts with those of one frame together, in the order of their first."""
    found: dict[str, list[Part]] = {}
    for part in parts:
        found.setdefault(part.group or part.id, []).append(part)
    return [(members[0].group, tuple(members)) for members in found.values()]
