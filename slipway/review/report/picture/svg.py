"""The picture as SVG."""

from collections.abc import Callable, Iterable, Mapping
from pathlib import Path
from xml.etree import ElementTree as ET

from slipway.review.report.architecture.difference import Mark
from slipway.review.report.architecture.model import Architecture, Part
from slipway.review.report.picture.cards import DETAIL_LINE, FOOTER_LINE, PADDING, TITLE_LINE
from slipway.review.report.picture.narrow import narrow
from slipway.review.report.picture.shapes import Arrow, Card, Frame, Layout
from slipway.review.report.picture.wide import wide

STYLE = Path(__file__).with_name("picture.css")
MARK_WORDS: dict[Mark, str] = {
    "added": "+ added",
    "changed": "~ changed",
    "replaced": "! replaced",
    "removed": "\N{MINUS SIGN} removed",
}
"""What is written on a part that changes."""

_FRAME_ORDER = ("area", "vpc", "zone", "public", "private", "group")
_HEAD = 7.0
_LIST_LINE = 18.0
_Link = Callable[[Part], str | None]


def picture(
    architecture: Architecture,
    marks: Mapping[str, Mark] | None = None,
    *,
    is_narrow: bool = False,
    link: _Link | None = None,
) -> str:
    """Return the picture as an SVG element, to be set into a page that has picture.css.

    Args:
        architecture: what to draw.
        marks: what happens to parts, subnets and the VPC, by id.
        is_narrow: draw it for a phone.
        link: returns the address that a part's box leads to, None for no link; without it there are no links.
    """
    layout = (narrow if is_narrow else wide)(architecture, marks or {})
    return _text(_root(layout, architecture, link, "narrow" if is_narrow else "wide"))


def stand_alone(architecture: Architecture) -> str:
    """Return the picture as an SVG file, with its colours and the list of the flows."""
    layout = wide(architecture, {})
    top = layout.height + 28
    flows = flow_sentences(architecture)
    layout.height = top + _LIST_LINE * len(flows)
    root = _root(layout, architecture, None, "file")
    background = ET.Element("rect", {"class": "background", "width": "100%", "height": "100%"})
    style = ET.Element("style")
    style.text = f"\n{STYLE.read_text(encoding='utf-8')}"
    root.insert(2, background)
    root.insert(2, style)
    for index, sentence in enumerate(flows):
        _add_text(root, "list", 4, top + _LIST_LINE * index, f"{index + 1}. {sentence}")
    return f"{_text(root)}\n"


def flow_sentences(architecture: Architecture) -> list[str]:
    """Return each flow in words, for example `Clients to Load balancer: requests`."""

    def names(part_ids: tuple[str, ...]) -> str:
        *first, last = dict.fromkeys(architecture.part(part_id).title for part_id in part_ids)
        return f"{', '.join(first)} and {last}" if first else last

    return [f"{names(flow.sources)} to {names(flow.targets)}: {flow.label}" for flow in architecture.flows]


def _root(layout: Layout, architecture: Architecture, link: _Link | None, name: str) -> ET.Element:
    root = ET.Element(
        "svg",
        {
            "xmlns": "http://www.w3.org/2000/svg",
            "class": f"picture {name}",
            "viewBox": f"0 0 {_number(layout.width)} {_number(layout.height)}",
            "role": "img" if link is None else "group",
            "aria-labelledby": f"{name}-title {name}-description",
        },
    )
    ET.SubElement(root, "title", {"id": f"{name}-title"}).text = "Architecture of the environment"
    ET.SubElement(root, "desc", {"id": f"{name}-description"}).text = _description(architecture)
    for kind in _FRAME_ORDER:
        for frame in layout.frames:
            if frame.kind == kind:
                _add_frame(root, frame)
    for arrow in layout.arrows:
        _add_arrow(root, arrow)
    for card in layout.cards:
        _add_card(root, card, link)
    for arrow in layout.arrows:
        _add_number(root, arrow.number, *arrow.number_at)
    return root


def _description(architecture: Architecture) -> str:
    network = f"{architecture.network} in {architecture.region}" if architecture.network else architecture.region
    parts = ", ".join(part.title for part in architecture.parts)
    return f"{network}. Parts: {parts}. Flows: {'; '.join(flow_sentences(architecture))}."


def _add_frame(root: ET.Element, frame: Frame) -> None:
    group = ET.SubElement(root, "g", {"class": _classes("frame", frame.kind, frame.mark)})
    _add_rectangle(group, frame.place, 7)
    text = _add_text(group, "", frame.place.x + 9, frame.place.y + 16, "" if frame.mark else frame.title)
    if frame.mark:
        # Its sign alone: a narrow frame has no room for the word, and the legend has both.
        sign = ET.SubElement(text, "tspan", {"class": "mark"})
        sign.text, sign.tail = MARK_WORDS[frame.mark].split(" ")[0], f" {frame.title}"


def _add_card(root: ET.Element, card: Card, link: _Link | None) -> None:
    parent = root
    address = link(card.part) if link else None
    if address:
        parent = ET.SubElement(root, "a", {"href": address})
    group = ET.SubElement(parent, "g", {"class": _classes("card", card.mark)})
    _add_rectangle(group, card.place, 5)
    x, y = card.place.x + PADDING, card.place.y + PADDING - 3
    if card.mark:
        y += FOOTER_LINE
        _add_text(group, "mark", x, y - 4, MARK_WORDS[card.mark])
    for line in card.title:
        y += TITLE_LINE
        _add_text(group, "title", x, y - 3, line)
    for line in card.details:
        y += DETAIL_LINE
        _add_text(group, "detail", x, y - 3, line)
    if card.footer:
        y += FOOTER_LINE
        _add_text(group, "footer", x, y - 3, card.footer)
    for index, number in enumerate(card.numbers):
        _add_number(group, number, x + 8 + 20 * index, y + 11)


def _add_arrow(root: ET.Element, arrow: Arrow) -> None:
    group = ET.SubElement(root, "g", {"class": "arrow"})
    (before_x, before_y), (x, y) = arrow.points[-2:]
    along_x, along_y = _direction(x - before_x), _direction(y - before_y)
    shaft = (*arrow.points[:-1], (x - along_x * _HEAD, y - along_y * _HEAD))
    ET.SubElement(group, "path", {"d": _path(shaft)})
    back_x, back_y = x - along_x * _HEAD, y - along_y * _HEAD
    side_x, side_y = along_y * _HEAD / 2, along_x * _HEAD / 2
    head = ((x, y), (back_x + side_x, back_y + side_y), (back_x - side_x, back_y - side_y))
    ET.SubElement(group, "path", {"class": "head", "d": f"{_path(head)} Z"})


def _add_number(root: ET.Element, number: int, x: float, y: float) -> None:
    group = ET.SubElement(root, "g", {"class": "number"})
    ET.SubElement(group, "circle", {"cx": _number(x), "cy": _number(y), "r": "8"})
    _add_text(group, "", x, y + 3.6, str(number))


def _add_rectangle(group: ET.Element, place: object, radius: int) -> None:
    values = {name: _number(getattr(place, name)) for name in ("x", "y", "width", "height")}
    ET.SubElement(group, "rect", {**values, "rx": str(radius)})


def _add_text(group: ET.Element, kind: str, x: float, y: float, text: str) -> ET.Element:
    element = ET.SubElement(group, "text", {**({"class": kind} if kind else {}), "x": _number(x), "y": _number(y)})
    element.text = text
    return element


def _classes(*names: str | None) -> str:
    return " ".join(name for name in names if name)


def _path(points: Iterable[tuple[float, float]]) -> str:
    return "M" + " L".join(f"{_number(x)} {_number(y)}" for x, y in points)


def _direction(length: float) -> int:
    return (length > 0) - (length < 0)


def _number(value: float) -> str:
    return f"{value:.1f}".removesuffix(".0")


def _text(root: ET.Element) -> str:
    ET.indent(root)
    return ET.tostring(root, encoding="unicode")
