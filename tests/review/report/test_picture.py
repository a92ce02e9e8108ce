"""The picture as SVG: well formed, the same each time, nothing over anything else."""

import re
from itertools import combinations
from pathlib import Path
from xml.etree import ElementTree as ET

import pytest

from slipway.assembly.stacks import read_stacks
from slipway.review.report.architecture import Architecture, read_architecture
from slipway.review.report.architecture.model import Subnet
from slipway.review.report.picture.narrow import narrow
from slipway.review.report.picture.shapes import Layout, Rectangle
from slipway.review.report.picture.svg import picture, stand_alone
from slipway.review.report.picture.text import width, wrap
from slipway.review.report.picture.wide import wide
from tests.assembly import PROJECT, Assembly
from tests.review.report.example_plan import example_plan


@pytest.fixture
def architecture(each_assembly: Assembly) -> Architecture:
    return read_architecture(read_stacks(each_assembly.directory))


def overlap(one: Rectangle, other: Rectangle) -> bool:
    return (
        min(one.right, other.right) - max(one.x, other.x) > 0
        and min(one.bottom, other.bottom) - max(one.y, other.y) > 0
    )


def layouts(architecture: Architecture) -> tuple[Layout, Layout]:
    return wide(architecture, {}), narrow(architecture, {})


def test_every_part_has_one_box_and_no_box_covers_another(architecture: Architecture) -> None:
    for layout in layouts(architecture):
        assert sorted(card.part.id for card in layout.cards) == sorted(part.id for part in architecture.parts)
        assert not [
            (one.part.title, other.part.title)
            for one, other in combinations(layout.cards, 2)
            if overlap(one.place, other.place)
        ]


def test_everything_is_inside_of_the_picture(architecture: Architecture) -> None:
    for layout in layouts(architecture):
        places = [*(card.place for card in layout.cards), *(frame.place for frame in layout.frames)]
        assert all(place.x >= 0 and place.y >= 0 for place in places)
        assert all(place.right <= layout.width and place.bottom <= layout.height for place in places)


def test_every_flow_has_an_arrow_from_edge_to_edge(architecture: Architecture) -> None:
    layout = wide(architecture, {})
    boxes = [*(card.place for card in layout.cards), *(frame.place for frame in layout.frames)]

    assert {arrow.number for arrow in layout.arrows} == set(range(1, len(architecture.flows) + 1))
    for arrow in layout.arrows:
        for x, y in (arrow.points[0], arrow.points[-1]):
            assert any(_is_on_edge(x, y, box) for box in boxes), arrow


def test_numbers_do_not_cover_each_other(architecture: Architecture) -> None:
    places = [arrow.number_at for arrow in wide(architecture, {}).arrows]

    assert all(abs(one[0] - other[0]) > 15 or abs(one[1] - other[1]) > 15 for one, other in combinations(places, 2))


def test_it_is_well_formed_and_the_same_each_time(default: Assembly) -> None:
    architecture = read_architecture(read_stacks(default.directory))
    file = stand_alone(architecture)

    assert file == stand_alone(read_architecture(read_stacks(default.directory)))
    root = ET.fromstring(file)
    assert root.tag == "{http://www.w3.org/2000/svg}svg"
    assert not re.search(r"(?:href|src|url\(|@import)", file), "it asks for nothing"


def test_the_two_pictures_of_a_page_share_no_id(default: Assembly) -> None:
    architecture = read_architecture(read_stacks(default.directory))
    ids = re.findall(r' id="([^"]+)"', picture(architecture) + picture(architecture, is_narrow=True))

    assert len(ids) == len(set(ids)) == 4


def test_names_of_an_environment_are_text(default: Assembly) -> None:
    architecture = read_architecture(read_stacks(default.directory))
    first, *others = architecture.parts
    hostile = architecture.model_copy(
        update={"parts": (first.model_copy(update={"title": '<script>"&'}), *others), "network": "</svg><b>"}
    )

    text = picture(hostile)

    ET.fromstring(text)
    assert "<script" not in text
    assert "<b>" not in text


def test_a_marked_subnet_has_a_sign_before_its_name(default: Assembly) -> None:
    architecture = read_architecture(read_stacks(default.directory))
    private = next(subnet for subnet in architecture.subnets if not subnet.is_public)

    root = ET.fromstring(picture(architecture, {private.id: "replaced"}))

    frames = [frame for frame in root if frame.get("class") == "frame private replaced"]
    assert ["".join(frame.itertext()).split() for frame in frames] == [["!", "private", "10.40.16.0/20"]]


def test_lines_fit_their_room() -> None:
    lines = wrap("a" * 80 + " some shorter words", 12, 100)

    assert all(width(line, 12) <= 100 for line in lines)
    assert "".join(lines).replace(" ", "") == "a" * 80 + "someshorterwords"


def _is_on_edge(x: float, y: float, box: Rectangle) -> bool:
    near = 0.01
    inside = box.x - near <= x <= box.right + near and box.y - near <= y <= box.bottom + near
    on_edge = min(abs(x - box.x), abs(x - box.right), abs(y - box.y), abs(y - box.bottom)) <= near
    return inside and on_edge


def test_the_picture_of_the_documentation_is_of_the_default_environment(default: Assembly) -> None:
    drawn = Path(__file__).parents[3] / "docs" / "architecture.svg"

    assert drawn.read_text(encoding="utf-8") == stand_alone(read_architecture(read_stacks(default.directory))), (
        "run: python -m slipway.review.report.picture FOLDER > docs/architecture.svg, on the assembly of default"
    )


def test_the_plan_in_the_readme_is_what_the_command_prints() -> None:
    drawn = PROJECT / "docs" / "plan.svg"

    assert drawn.read_text(encoding="utf-8") == example_plan() + "\n", "run: make picture"


def test_every_title_fits_into_its_frame(each_assembly: Assembly) -> None:
    """Also in four zones, the most that an environment has, and where a change leaves a zone's old subnet in sight."""
    architecture = read_architecture(read_stacks(each_assembly.directory))
    old = [
        subnet.model_copy(update={"id": f"old/{subnet.id}", "cidr": "10.140.132.0/20"})
        for subnet in architecture.subnets
    ]
    fourth = [
        Subnet(id=f"network/{kind}4", zone="apne1-az4", cidr="192.168.128.0/18", is_public=kind == "Public")
        for kind in ("Public", "Private")
    ]
    everywhere = tuple(
        part.model_copy(update={"subnets": (*part.subnets, fourth[0].id, fourth[1].id)})
        if len(part.subnets) > 1
        else part
        for part in architecture.parts
    )
    larger = architecture.model_copy(update={"subnets": (*architecture.subnets, *old, *fourth), "parts": everywhere})

    for layout in layouts(larger):
        assert [
            frame.title for frame in layout.frames if width(frame.title, 11, bold=True) > frame.place.width - 18
        ] == []
