"""The picture for a phone: everything below each other, and the flows' numbers on the boxes instead of arrows."""

from collections.abc import Mapping
from dataclasses import replace

from slipway.review.report.architecture.difference import Mark
from slipway.review.report.architecture.model import Architecture, Flow, Part
from slipway.review.report.picture.blocks import FRAME_PADDING, FRAME_TITLE, blocks, place_area, place_block
from slipway.review.report.picture.cards import GAP, CardMaker
from slipway.review.report.picture.network import subnet_title, vpc_frame
from slipway.review.report.picture.shapes import Frame, FrameKind, Layout, Rectangle
from slipway.review.report.picture.sheet import Sheet
from slipway.review.report.picture.wide import OPERATIONS_TITLE

_WIDTH = 358.0
_FULL = Rectangle(1, 1, _WIDTH - 2, 0)
_EMPTY = 2.0
_FEW_ZONES = 2
"""There is room for the names of so many."""


def narrow(architecture: Architecture, marks: Mapping[str, Mark]) -> Layout:
    """Return the picture without arrows."""
    layout = Layout(_WIDTH)
    sheet = Sheet(architecture, marks, CardMaker(marks, _numbers(architecture.flows)), layout)
    y = _FULL.y
    for title, place in (("People", "people"), ("Amazon S3", "storage"), ("Other services", "regional")):
        if parts := sheet.at_place(place):
            y = place_area(sheet, title, parts, replace(_FULL, y=y), columns=2) + GAP
    if architecture.network:
        y = _place_network(sheet, y) + GAP
    operations = sheet.at_place("operations")
    layout.height = place_area(sheet, OPERATIONS_TITLE, operations, replace(_FULL, y=y), columns=2) + 1
    return layout


def _place_network(sheet: Sheet, top: float) -> float:
    inner = Rectangle(_FULL.x + FRAME_PADDING, top + FRAME_TITLE, _FULL.width - 2 * FRAME_PADDING, 0)
    y = inner.y
    if gateways := sheet.at_place("network"):
        cards = sheet.maker.grid(gateways, inner, 2)
        sheet.layout.cards += cards
        y = cards[-1].place.bottom + GAP
    for zone in sheet.zones():
        for public in (True, False):
            here = [subnet for subnet in sheet.subnets(public=public) if subnet.zone == zone]
            if here:
                alone = [part for part in sheet.in_subnets(public=public) if sheet.zones_of(part) == [zone]]
                frame = Frame(
                    _kind(public=public), f"{zone}, {subnet_title(here)}", replace(inner, y=y), sheet.mark_of(here)
                )
                y = _place_frame(sheet, frame, alone) + GAP
    for public in (True, False):
        across = [part for part in sheet.in_subnets(public=public) if len(sheet.zones_of(part)) > 1]
        for names in dict.fromkeys(tuple(sheet.zones_of(part)) for part in across):
            here_too = [part for part in across if tuple(sheet.zones_of(part)) == names]
            zones = " and ".join(names) if len(names) <= _FEW_ZONES else f"{len(names)} zones"
            title = f"{zones}, {_kind(public=public)}"
            y = _place_frame(sheet, Frame(_kind(public=public), title, replace(inner, y=y)), here_too) + GAP
    end = y - GAP + FRAME_PADDING
    sheet.layout.frames.append(vpc_frame(sheet, Rectangle(_FULL.x, top, _FULL.width, end - top)))
    return end


def _place_frame(sheet: Sheet, frame: Frame, parts: list[Part]) -> float:
    """Put parts into a frame, whose height follows from them, and return where it ends."""
    place = frame.place
    y = place.y + FRAME_TITLE
    for block in blocks(parts):
        room = Rectangle(place.x + FRAME_PADDING, y, place.width - 2 * FRAME_PADDING, 0)
        y = place_block(sheet, block, room, 2) + GAP
    end = y - GAP + FRAME_PADDING if parts else y + _EMPTY
    sheet.layout.frames.append(replace(frame, place=replace(place, height=end - place.y)))
    return end


def _kind(*, public: bool) -> FrameKind:
    return "public" if public else "private"


def _numbers(flows: tuple[Flow, ...]) -> dict[str, tuple[int, ...]]:
    found: dict[str, list[int]] = {}
    for number, flow in enumerate(flows, start=1):
        for part_id in (*flow.sources, *flow.targets):
            found.setdefault(part_id, []).append(number)
    return {part_id: tuple(numbers) for part_id, numbers in found.items()}
