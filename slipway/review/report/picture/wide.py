"""The picture for a wide screen: storage, VPC and people from left to right, with arrows."""

from collections.abc import Iterable, Mapping
from dataclasses import replace

from slipway.review.report.architecture.difference import Mark
from slipway.review.report.architecture.model import Architecture, Part
from slipway.review.report.picture.arrows import Lanes, route
from slipway.review.report.picture.blocks import FRAME_PADDING, FRAME_TITLE, place_area
from slipway.review.report.picture.cards import GAP, CardMaker
from slipway.review.report.picture.network import MAIN_ZONE, place_network
from slipway.review.report.picture.shapes import Card, Frame, Layout, Rectangle
from slipway.review.report.picture.sheet import Sheet

OPERATIONS_TITLE = "Operations: watches all of the above"

_STORAGE = Rectangle(1, 1, 176, 0)
_NETWORK = Rectangle(247, 1, 700, 0)
_PEOPLE_APART, _PEOPLE_WIDTH = 62.0, 150.0
_ZONE_WIDTH = 215.0
"""Where the VPC has no room for columns as wide as this, for the title of a subnet, the picture is wider."""

_BELOW = 26.0
_APART = 52.0
"""Distance of two parts with room for an arrow and its number."""


def wide(architecture: Architecture, marks: Mapping[str, Mark]) -> Layout:
    """Return the picture with its arrows."""
    layout = Layout(0.0)
    sheet = Sheet(architecture, marks, CardMaker(marks, {}), layout)
    network = replace(_NETWORK, width=max(_NETWORK.width, _ZONE_WIDTH * (len(sheet.zones()) - 1 + MAIN_ZONE)))
    people = Rectangle(network.right + _PEOPLE_APART, network.y, _PEOPLE_WIDTH, 0)
    layout.width = people.right + 1
    network_end = place_network(sheet, network) if architecture.network else _NETWORK.y
    storage_end = _place_storage(sheet)
    layout.cards += _beside(sheet, sheet.at_place("people"), people)
    room = Rectangle(1, max(network_end, storage_end) + _BELOW, layout.width - 2, 0)
    operations = sheet.at_place("operations")
    layout.height = place_area(sheet, OPERATIONS_TITLE, operations, room, columns=5, apart=_APART) + 1
    layout.arrows = route(layout, architecture.flows, Lanes(_STORAGE.right, people.x))
    return layout


def _place_storage(sheet: Sheet) -> float:
    """Put the buckets beside what they exchange data with, the other services below, and return where they end."""
    x, width = _STORAGE.x + FRAME_PADDING, _STORAGE.width - 2 * FRAME_PADDING
    buckets = _beside(sheet, sheet.at_place("storage"), Rectangle(x, _STORAGE.y + FRAME_TITLE, width, 0))
    end = _STORAGE.y
    if buckets:
        sheet.layout.cards += buckets
        top = buckets[0].place.y - FRAME_TITLE
        end = buckets[-1].place.bottom + FRAME_PADDING
        sheet.layout.frames.append(Frame("area", "Amazon S3", Rectangle(_STORAGE.x, top, _STORAGE.width, end - top)))
        end += GAP
    return place_area(sheet, "Other services", sheet.at_place("regional"), replace(_STORAGE, y=end), columns=1)


def _beside(sheet: Sheet, parts: Iterable[Part], column: Rectangle) -> list[Card]:
    """Return the cards of a column, each as near as it can be to the height of what it exchanges something with."""
    wanted = sorted(((_height(sheet, part), part) for part in parts), key=lambda item: (item[0] is None, item[0] or 0))
    cards: list[Card] = []
    y = column.y
    for height, part in wanted:
        card = sheet.maker.card(part, column.x, 0, column.width)
        if height is not None:
            y = max(y, height - card.place.height / 2)
        cards.append(replace(card, place=replace(card.place, y=y)))
        y += card.place.height + GAP
    return cards


def _height(sheet: Sheet, part: Part) -> float | None:
    """Return the mean height of what a part exchanges something with, None when there is nothing."""
    heights = [
        end.middle
        for flow in sheet.architecture.flows
        for mine, partners in ((flow.sources, flow.targets), (flow.targets, flow.sources))
        if part.id in mine
        for end in sheet.layout.ends(partners)
    ]
    return sum(heights) / len(heights) if heights else None
