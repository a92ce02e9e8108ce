"""The documentation's pictures of the plan, made as `make screenshots` makes them; small enough for a page."""

from pathlib import Path

import pytest
from playwright.sync_api import Browser

from tests.browser.screenshots import PICTURES, SCREENS, photograph, planned

pytestmark = pytest.mark.browser

MOST_BYTES = 200_000


def test_the_plan_of_an_edited_repository_is_photographed(tmp_path: Path, browser: Browser) -> None:
    heights = photograph(planned(tmp_path), tmp_path, browser)

    assert set(heights) == set(SCREENS)
    for name, (width, height, _) in SCREENS.items():
        image = (tmp_path / f"plan-{name}.png").read_bytes()
        assert (int.from_bytes(image[16:20], "big"), int.from_bytes(image[20:24], "big")) == (width, height)
        assert 20_000 < len(image) < MOST_BYTES
        assert heights[name] > height, "the picture is its beginning"


def test_every_picture_is_small_and_has_a_page_that_shows_it() -> None:
    pages = "".join(page.read_text(encoding="utf-8") for page in PICTURES.parent.glob("*.md"))
    pictures = sorted(PICTURES.iterdir())

    assert len(pictures) == len(SCREENS) + 2
    assert [file.name for file in pictures if file.stat().st_size >= MOST_BYTES] == []
    assert [file.name for file in pictures if f"](pictures/{file.name})" not in pages] == []
