"""Ways of the arrows: straight where boxes are neighbours, else through the free lanes on both sides of the VPC."""

from collections import defaultdict
from dataclasses import dataclass
from typing import Literal

from slipway.review.report.architecture.model import Flow
from slipway.review.report.picture.shapes import Arrow, Layout, Rectangle

_Way = Literal["down", "up", "rightwards", "leftwards", "left lane", "right lane"]
_Point = tuple[float, float]

_NEAR = 75.0
"""Boxes this near to each other are neighbours."""

_PORT = 19.0
"""Distance of two arrows at the same edge of a box: their numbers stand side by side."""

_NUMBER_AWAY = 18.0
"""How far from a box's edge the number of its arrow stands, and how far aside of an upright one."""

_SNAP = 14.0
"""A smaller difference in height is not worth a bend."""

_FIRST_LANE, _LAST_LANE, _LANE = 33.0, 66.0, 11.0
"""Distance of the first and of the last lane from the boxes beside the VPC, and of each from the next at most."""

_STAGGER = 21.0
"""How far the number of an arrow in a lane is from that in the next lane."""


@dataclass(frozen=True)
class _Line:
    """One line to draw: a flow's, from one box to another."""

    number: int
    source: Rectangle
    target: Rectangle
    way: _Way


@dataclass(frozen=True)
class Lanes:
    """Where the free lanes are: the right edge of what is left of the VPC, the left edge of what is right of it."""

    left: float
    right: float


def route(layout: Layout, flows: tuple[Flow, ...], lanes: Lanes) -> list[Arrow]:
    """Return the arrows of all flows, numbered from 1 in their order; an arrow for each pair of ends."""
    lines = [
        _Line(number, source, target, _way(source, target, lanes))
        for number, flow in enumerate(flows, start=1)
        for source in layout.ends(flow.sources)
        for target in layout.ends(flow.targets)
    ]
    return _Router(lines, lanes).arrows()


def _way(source: Rectangle, target: Rectangle, lanes: Lanes) -> _Way:
    if min(source.right, target.right) > max(source.x, target.x):
        if 0 < target.y - source.bottom < _NEAR:
            return "down"
        if 0 < source.y - target.bottom < _NEAR:
            return "up"
    if min(source.bottom, target.bottom) > max(source.y, target.y):
        if 0 < target.x - source.right < _NEAR:
            return "rightwards"
        if 0 < source.x - target.right < _NEAR:
            return "leftwards"
    return "right lane" if max(source.x, target.x) >= lanes.right else "left lane"


class _Router:
    def __init__(self, lines: list[_Line], lanes: Lanes) -> None:
        self._lines = lines
        self._lanes = lanes
        self._ports: dict[tuple[Rectangle, str], list[_Line]] = defaultdict(list)
        for line in lines:
            for box, other in ((line.source, line.target), (line.target, line.source)):
                self._ports[box, _side(box, other, line.way, lanes)].append(line)
        for (box, _), attached in self._ports.items():
            attached.sort(key=lambda line, box=box: (_other(line, box).middle, line.number))  # type: ignore[misc]
        self._used_lanes: dict[str, int] = defaultdict(int)

    def arrows(self) -> list[Arrow]:
        return [self._arrow(line) for line in self._lines]

    def _arrow(self, line: _Line) -> Arrow:
        match line.way:
            case "down" | "up":
                return self._upright(line)
            case "rightwards":
                y = self._level(line)
                points = ((line.source.right, y), (line.target.x, y))
            case "leftwards":
                y = self._level(line)
                points = ((line.source.x, y), (line.target.right, y))
            case _:
                return self._through_lane(line)
        return Arrow(points, line.number, ((points[0][0] + points[1][0]) / 2, y))

    def _level(self, line: _Line) -> float:
        return (max(line.source.y, line.target.y) + min(line.source.bottom, line.target.bottom)) / 2

    def _upright(self, line: _Line) -> Arrow:
        box = line.source
        attached = self._ports[box, _side(box, line.target, line.way, self._lanes)]
        x = (max(box.x, line.target.x) + min(box.right, line.target.right)) / 2
        x += (attached.index(line) - (len(attached) - 1) / 2) * 2 * _PORT
        start, end = (box.bottom, line.target.y) if line.way == "down" else (box.y, line.target.bottom)
        return Arrow(((x, start), (x, end)), line.number, (x + _NUMBER_AWAY, (start + end) / 2))

    def _through_lane(self, line: _Line) -> Arrow:
        start, end = self._port(line.source, line.target, line), self._port(line.target, line.source, line)
        outer = start if self._is_outside(line.source) else end
        away = _NUMBER_AWAY if line.way == "left lane" else -_NUMBER_AWAY
        if abs(start[1] - end[1]) <= _SNAP:
            straight = ((start[0], outer[1]), (end[0], outer[1]))
            return Arrow(straight, line.number, (outer[0] + away, outer[1]))
        lane = self._lane(line.way)
        points = (start, (lane, start[1]), (lane, end[1]), end)
        if self._is_outside(line.source) or self._is_outside(line.target):
            return Arrow(points, line.number, (outer[0] + away, outer[1]))
        aside = (self._used_lanes[line.way] % 3 - 1) * _STAGGER
        return Arrow(points, line.number, (lane, (start[1] + end[1]) / 2 + aside))

    def _port(self, box: Rectangle, other: Rectangle, line: _Line) -> _Point:
        side = _side(box, other, line.way, self._lanes)
        attached = self._ports[box, side]
        # Arrows of a small box stand closer: they begin and end at its edge.
        apart = min(_PORT, (box.bottom - box.y) / len(attached))
        offset = (attached.index(line) - (len(attached) - 1) / 2) * apart
        return (box.x if side == "left" else box.right), box.middle + offset

    def _lane(self, way: _Way) -> float:
        lines = sum(line.way == way for line in self._lines)
        apart = min(_LANE, (_LAST_LANE - _FIRST_LANE) / max(lines - 1, 1))
        distance = _FIRST_LANE + apart * self._used_lanes[way]
        self._used_lanes[way] += 1
        return self._lanes.left + distance if way == "left lane" else self._lanes.right - distance

    def _is_outside(self, box: Rectangle) -> bool:
        return box.right <= self._lanes.left or box.x >= self._lanes.right


def _side(box: Rectangle, other: Rectangle, way: _Way, lanes: Lanes) -> str:
    match way:
        case "left lane":
            return "right" if box.right <= lanes.left else "left"
        case "right lane":
            return "left" if box.x >= lanes.right else "right"
        case "down" | "up":
            return "bottom" if box.bottom <= other.y else "top"
    return "right" if box.right <= other.x else "left"


def _other(line: _Line, box: Rectangle) -> Rectangle:
    return line.target if box is line.source else line.source
