"""Cards: how large the box of a part is, and rows and grids of them."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

from slipway.review.report.architecture.difference import Mark
from slipway.review.report.architecture.model import Part
from slipway.review.report.picture.shapes import Card, Rectangle
from slipway.review.report.picture.text import DETAIL_SIZE, TITLE_SIZE, wrap

PADDING = 9.0
TITLE_LINE = 16.0
DETAIL_LINE = 14.5
FOOTER_LINE = 15.0
NUMBERS_LINE = 19.0
GAP = 10.0


@dataclass(frozen=True)
class CardMaker:
    """Makes cards with what all of a picture's cards need to know.

    Attributes:
        marks: what happens to parts, by id.
        numbers: numbers of flows to print on the cards, by part id; none where arrows are drawn.
    """

    marks: Mapping[str, Mark]
    numbers: Mapping[str, tuple[int, ...]]

    def card(self, part: Part, x: float, y: float, width: float) -> Card:
        """Return the card of a part with this width; its height follows from the text."""
        room = width - 2 * PADDING
        title = wrap(part.title, TITLE_SIZE, room, bold=True)
        details = [line for detail in part.details for line in wrap(detail, DETAIL_SIZE, room)]
        footer = part.stack.rpartition("-")[2]
        mark = self.marks.get(part.id)
        numbers = self.numbers.get(part.id, ())
        height = (
            2 * PADDING
            + TITLE_LINE * len(title)
            + DETAIL_LINE * len(details)
            + FOOTER_LINE * (bool(footer) + bool(mark))
            + NUMBERS_LINE * bool(numbers)
            - 3
        )
        return Card(part, Rectangle(x, y, width, height), title, details, footer, mark, numbers)

    def grid(self, parts: Sequence[Part], place: Rectangle, columns: int, apart: float = GAP) -> list[Card]:
        """Return cards in rows, those of a row equally wide and high; the place's height does not count."""
        cards: list[Card] = []
        y = place.y
        for start in range(0, len(parts), columns):
            row = parts[start : start + columns]
            each = (place.width - apart * (len(row) - 1)) / len(row)
            made = [self.card(part, place.x + index * (each + apart), y, each) for index, part in enumerate(row)]
            height = max(card.place.height for card in made)
            cards += [replace(card, place=replace(card.place, height=height)) for card in made]
            y += height + GAP
        return cards
