"""What a picture consists of once everything has its place. Lengths are in pixels of the picture."""

from dataclasses import dataclass, field
from typing import Literal

from slipway.review.report.architecture.difference import Mark
from slipway.review.report.architecture.model import Part

FrameKind = Literal["vpc", "zone", "public", "private", "group", "area"]


@dataclass(frozen=True)
class Rectangle:
    """A place on the picture."""

    x: float
    y: float
    width: float
    height: float

    @property
    def right(self) -> float:
        """The x of its right edge."""
        return self.x + self.width

    @property
    def bottom(self) -> float:
        """The y of its lower edge."""
        return self.y + self.height

    @property
    def middle(self) -> float:
        """The y of its middle."""
        return self.y + self.height / 2


@dataclass(frozen=True)
class Frame:
    """A box around other boxes, with a title above them."""

    kind: FrameKind
    title: str
    place: Rectangle
    mark: Mark | None = None


@dataclass(frozen=True)
class Card:
    """The box of one part."""

    part: Part
    place: Rectangle
    title: list[str]
    details: list[str]
    footer: str
    mark: Mark | None
    numbers: tuple[int, ...] = ()
    """Numbers of the flows that begin or end here, where no arrows are drawn."""


@dataclass(frozen=True)
class Arrow:
    """A flow's line from box to box, through points, with its number beside it."""

    points: tuple[tuple[float, float], ...]
    number: int
    number_at: tuple[float, float]


@dataclass
class Layout:
    """A whole picture."""

    width: float
    height: float = 0.0
    frames: list[Frame] = field(default_factory=list)
    cards: list[Card] = field(default_factory=list)
    arrows: list[Arrow] = field(default_factory=list)

    def ends(self, part_ids: tuple[str, ...]) -> list[Rectangle]:
        """Return the boxes at which arrows of these parts begin or end.

        Several parts that stand in one frame have one end, the frame; any other has its own box.
        """
        boxes = [card.place for card in self.cards if card.part.id in part_ids]
        frames = [frame.place for frame in self.frames if frame.kind == "group"]
        together = [frame for frame in frames if sum(_is_inside(box, frame) for box in boxes) > 1]
        return [*together, *(box for box in boxes if not any(_is_inside(box, frame) for frame in together))]


def _is_inside(box: Rectangle, frame: Rectangle) -> bool:
    return frame.x <= box.x <= frame.right and frame.y <= box.y <= frame.bottom
