"""Blocks of cards: the parts of one cluster in a frame, or parts that stand side by side."""

from collections.abc import Iterable, Iterator

from slipway.review.report.architecture.model import Part
from slipway.review.report.picture.cards import GAP
from slipway.review.report.picture.shapes import Frame, Rectangle
from slipway.review.report.picture.sheet import Sheet

FRAME_PADDING = 9.0
FRAME_TITLE = 24.0
_ROWS = ("head_node", "login_nodes", "control_plane", "service", "hosts", "")
"""Kinds that have a row of their own, from above; "" stands for all others, which share rows."""

_ARROWS_BELOW = frozenset({"service"})
"""Kinds with arrows to the row below."""

ARROW_GAP = 30.0
"""Room between boxes for an arrow with its number."""

Block = tuple[str | None, tuple[Part, ...]]
"""Title of the frame, if there is one, and what is in it."""


def blocks(parts: Iterable[Part]) -> list[Block]:
    """Return the parts by their frame, frames first."""
    found: dict[str | None, list[Part]] = {}
    for part in parts:
        found.setdefault(part.group, []).append(part)
    return [(group, tuple(members)) for group, members in sorted(found.items(), key=lambda item: item[0] is None)]


def place_block(sheet: Sheet, block: Block, place: Rectangle, columns: int) -> float:
    """Put a block at a place, whose height does not count, and return where it ends."""
    group, parts = block
    x, y, width = place.x, place.y, place.width
    if group:
        x, y, width = x + FRAME_PADDING, y + FRAME_TITLE, width - 2 * FRAME_PADDING
    end = y
    for row in _rows(parts):
        cards = sheet.maker.grid(row, Rectangle(x, y, width, 0), columns)
        sheet.layout.cards += cards
        end = cards[-1].place.bottom
        y = end + (ARROW_GAP if row[0].kind in _ARROWS_BELOW else GAP)
    if not group:
        return end
    sheet.layout.frames.append(
        Frame("group", group, Rectangle(place.x, place.y, place.width, end + FRAME_PADDING - place.y))
    )
    return end + FRAME_PADDING


def place_area(
    sheet: Sheet, title: str, parts: tuple[Part, ...], place: Rectangle, *, columns: int, apart: float = GAP
) -> float:
    """Put parts into a frame outside of the VPC, and return where it ends; nothing is drawn without parts.

    Args:
        sheet: the picture so far.
        title: what to write above.
        parts: what is in it.
        place: where; its height does not count.
        columns: how many parts stand side by side.
        apart: distance of two parts side by side.
    """
    if not parts:
        return place.y
    inner = Rectangle(place.x + FRAME_PADDING, place.y + FRAME_TITLE, place.width - 2 * FRAME_PADDING, 0)
    cards = sheet.maker.grid(parts, inner, columns, apart)
    sheet.layout.cards += cards
    end = cards[-1].place.bottom + FRAME_PADDING
    sheet.layout.frames.append(Frame("area", title, Rectangle(place.x, place.y, place.width, end - place.y)))
    return end


def _rows(parts: tuple[Part, ...]) -> Iterator[tuple[Part, ...]]:
    for kind in _ROWS:
        row = tuple(part for part in parts if (part.kind if part.kind in _ROWS else "") == kind)
        if row:
            yield row
