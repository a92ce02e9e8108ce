"""The plan's page in a real Chromium, on a screen and on a phone, by day and by night."""

import json
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest
from playwright.sync_api import Error, Page

from tests.assembly import PROJECT
from tests.browser.conftest import PAGES, WIDTHS, Open

pytestmark = pytest.mark.browser

SCREENSHOTS = PROJECT / ".plan" / "screenshots"
AXE = PROJECT / "node_modules" / "axe-core" / "axe.min.js"
SCHEMES = ("light", "dark")
CAPTURES = 5
"""Without a graphics card so high a page is drawn in software; on a busy machine a capture meanwhile fails."""

OVERFLOWING = """() => {
  const room = document.documentElement.clientWidth;
  return [...document.querySelectorAll('body *')]
    .filter(e => !e.closest('thead, .skip, nav ul') && e.getClientRects().length)
    .filter(e => e.getBoundingClientRect().right > room + 0.5)
    .map(e => e.tagName + ' ' + (e.textContent || '').slice(0, 40));
}"""

TALLEST = 6_000
"""Pixels of the page of five changed lines on a phone."""

BROKEN_WORDS = """() => {
  const texts = document.createTreeWalker(document.querySelector('main'), NodeFilter.SHOW_TEXT);
  const found = [];
  for (let text = texts.nextNode(); text; text = texts.nextNode()) {
    if (text.parentElement.closest('svg, thead')) continue;
    for (const word of text.data.matchAll(/[A-Za-z]+/g)) {
      const range = document.createRange();
      range.setStart(text, word.index);
      range.setEnd(text, word.index + word[0].length);
      const tops = new Set([...range.getClientRects()].filter(r => r.width > 0).map(r => Math.round(r.top)));
      if (tops.size > 1) found.push(word[0]);
    }
  }
  return found;
}"""

CLIPPED = """() => [...document.querySelectorAll('main *')]
  .filter(e => !e.closest('svg, thead') && e.getClientRects().length && getComputedStyle(e).display !== 'inline')
  .filter(e => e.scrollWidth > e.clientWidth + 1)
  .map(e => e.tagName + ' ' + (e.textContent || '').slice(0, 40))"""

TEXT_OUTSIDE_OF_ITS_BOX = """() => [...document.querySelectorAll('svg.picture')]
  .filter(svg => svg.getClientRects().length)
  .flatMap(svg => [...svg.querySelectorAll('g.card, g.frame')].flatMap(group => {
    const box = group.querySelector('rect').getBBox();
    return [...group.querySelectorAll('text')].filter(text => {
      const t = text.getBBox();
      return t.x < box.x || t.y < box.y || t.x + t.width > box.x + box.width || t.y + t.height > box.y + box.height;
    }).map(text => text.textContent);
  }))"""

TEXT_OVER_TEXT = """() => [...document.querySelectorAll('svg.picture')]
  .filter(svg => svg.getClientRects().length)
  .flatMap(svg => {
    const texts = [...svg.querySelectorAll('text')].map(text => [text.textContent, text.getBBox()]);
    const covers = (a, b) => Math.min(a.x + a.width, b.x + b.width) - Math.max(a.x, b.x) > 0.5
      && Math.min(a.y + a.height, b.y + b.height) - Math.max(a.y, b.y) > 3.5;
    return texts.flatMap(([text, box], index) =>
      texts.slice(index + 1).filter(([, other]) => covers(box, other)).map(([other]) => text + ' / ' + other));
  })"""


@pytest.mark.parametrize("name", PAGES)
def test_it_asks_for_nothing_and_complains_of_nothing(visit: Open, name: str) -> None:
    seen = visit(name, scripts=True)

    assert [url for url in seen.requests if not url.startswith("data:")] == [seen.page.url]
    assert seen.page.url.startswith("file://")
    assert seen.complaints == []


def test_its_own_policy_lets_nothing_in(files: dict[str, Path]) -> None:
    text = files["changed"].read_text(encoding="utf-8")

    assert "default-src 'none'" in text
    assert "<script" not in text
    assert "http:" not in text.replace("http://www.w3.org/2000/svg", "")
    assert "https:" not in text


@pytest.mark.parametrize("width", [*WIDTHS, 820, 360])
@pytest.mark.parametrize("name", PAGES)
def test_nothing_is_wider_than_the_screen(visit: Open, name: str, width: int) -> None:
    page = visit(name, width).page

    assert page.evaluate("document.documentElement.scrollWidth") == width
    assert page.evaluate(OVERFLOWING) == []


@pytest.mark.parametrize("scheme", SCHEMES)
def test_five_changed_lines_fit_a_phone(visit: Open, scheme: str) -> None:
    page = visit("five", 390, scheme).page

    assert page.locator("#lines li").count() == 5
    assert page.evaluate("document.documentElement.scrollHeight") < TALLEST


@pytest.mark.parametrize("width", [390, 360])
@pytest.mark.parametrize("name", PAGES)
def test_no_word_is_broken_and_no_text_clipped_on_a_phone(visit: Open, name: str, width: int) -> None:
    page = visit(name, width, scripts=True).page
    page.evaluate("document.querySelectorAll('details').forEach(details => { details.open = true; })")

    assert page.evaluate(BROKEN_WORDS) == []
    assert page.evaluate(CLIPPED) == []


@pytest.mark.parametrize("width", WIDTHS)
def test_the_navigation_stays_in_view(visit: Open, width: int) -> None:
    page = visit("changed", width).page
    page.evaluate("document.querySelector('#cost').scrollIntoView()")

    assert page.evaluate("document.querySelector('nav').getBoundingClientRect().top") == 0
    assert page.evaluate(
        "document.querySelector('#cost-title').getBoundingClientRect().top"
        " >= document.querySelector('nav').getBoundingClientRect().bottom"
    )


@pytest.mark.parametrize("width", [1280, 820, 390, 360])
def test_no_label_of_time_is_clipped(visit: Open, width: int) -> None:
    page = visit("default", width).page
    page.evaluate("document.querySelectorAll('.chain .time').forEach(e => { e.textContent = 'under a minute'; })")

    assert page.locator(".chain .time").count()
    assert page.evaluate("[...document.querySelectorAll('.chain .time')].every(e => e.scrollWidth <= e.clientWidth)")


@pytest.mark.parametrize("width", WIDTHS)
@pytest.mark.parametrize("name", PAGES)
def test_the_picture_cuts_no_text_and_covers_none(visit: Open, name: str, width: int) -> None:
    page = visit(name, width, scripts=True).page
    page.evaluate("document.querySelectorAll('details').forEach(details => { details.open = true; })")

    assert page.locator("svg.picture:visible").count() == 1
    assert page.evaluate(TEXT_OUTSIDE_OF_ITS_BOX) == []
    assert page.evaluate(TEXT_OVER_TEXT) == []


@pytest.mark.parametrize("scheme", SCHEMES)
@pytest.mark.parametrize("width", WIDTHS)
@pytest.mark.parametrize("name", PAGES)
def test_axe_finds_nothing(visit: Open, name: str, width: int, scheme: str) -> None:
    page = visit(name, width, scheme, scripts=True).page
    page.add_script_tag(path=AXE)
    page.evaluate("document.querySelectorAll('details').forEach(details => { details.open = true; })")

    found: dict[str, Any] = page.evaluate("axe.run(document)")

    assert [(rule["id"], [node["html"][:120] for node in rule["nodes"]]) for rule in found["violations"]] == []
    assert len(found["passes"]) > 20


def test_the_keyboard_reaches_everything_in_order(visit: Open) -> None:
    page = visit("changed").page
    reached = []
    for _ in range(80):
        page.keyboard.press("Tab")
        focused = page.evaluate("() => [document.activeElement.tagName, document.activeElement.getAttribute('href')]")
        if focused[0] == "BODY":
            break
        reached.append(focused)

    links = [href for _, href in reached if href]
    assert links[0] == "#content", "the skip link comes first"
    sections = [
        "#summary",
        "#architecture",
        "#stacks",
        "#access",
        "#cluster",
        "#security",
        "#cost",
        "#time",
        "#unchecked",
    ]
    assert links[1:10] == sections
    assert "#stack-slipway-default-storage" in links[10:]
    assert any(name == "a" for name, _ in reached), "the boxes of the picture can be reached"
    assert any(name == "SUMMARY" for name, _ in reached)
    targets = {href.removeprefix("#") for href in links}
    assert all(page.locator(f'[id="{target}"]').count() == 1 for target in targets)


def test_the_skip_link_leads_to_the_content(visit: Open) -> None:
    page = visit("default").page
    page.keyboard.press("Tab")
    assert page.locator(".skip").bounding_box()["x"] >= 0  # type: ignore[index]
    page.keyboard.press("Enter")

    assert page.evaluate("document.activeElement.id") == "content"


def test_a_folded_part_opens_with_enter(visit: Open) -> None:
    page = visit("changed").page
    followers = page.locator("#stack-slipway-default-storage details").first
    assert not followers.locator("ul").is_visible()

    followers.locator("summary").focus()
    page.keyboard.press("Enter")

    assert followers.locator("ul").is_visible()
    assert "DataRepository" in followers.inner_text()


@pytest.mark.parametrize("name", PAGES)
def test_landmarks_and_headings_tell_the_structure(visit: Open, name: str) -> None:
    page = visit(name).page

    assert [page.locator(landmark).count() for landmark in ("header", "nav", "main", "footer", "h1")] == [1] * 5
    levels = page.evaluate("[...document.querySelectorAll('h1,h2,h3,h4')].map(h => Number(h.tagName[1]))")
    assert all(after - before <= 1 for before, after in pairwise(levels))
    assert page.locator("svg.picture:visible > desc").text_content()


def test_what_changes_has_a_colour_and_a_word(visit: Open) -> None:
    page = visit("changed").page
    marks = page.evaluate("""() => Object.fromEntries([...document.querySelectorAll('svg.wide .card')]
      .filter(card => card.querySelector('.mark'))
      .map(card => [card, getComputedStyle(card.querySelector('rect'))])
      .map(([card, style]) => [card.querySelector('.title').textContent,
        [card.querySelector('.mark').textContent, style.stroke, style.strokeDasharray, style.strokeWidth]]))""")

    assert {title: mark[0] for title, mark in marks.items()} == {
        "NAT gateway": "\N{MINUS SIGN} removed",
        "FSx for Lustre": "! replaced",
        "Model tanuki-8b": "+ added",
        "Queue trn1": "~ changed",
    }
    assert len({json.dumps(mark[1:]) for mark in marks.values()}) == 4, "each has a line of its own"


def test_dark_and_light_follow_the_reader(visit: Open) -> None:
    def background(scheme: str) -> str:
        colour: str = visit("default", scheme=scheme).page.evaluate("getComputedStyle(document.body).backgroundColor")
        return colour

    assert background("light") == "rgb(255, 255, 255)"
    assert background("dark") == "rgb(16, 21, 28)"


def test_on_paper_it_is_dark_on_white(visit: Open) -> None:
    page = visit("default", scheme="dark").page
    page.emulate_media(media="print")

    assert page.evaluate("getComputedStyle(document.body).backgroundColor") == "rgb(255, 255, 255)"
    assert not page.locator("nav").is_visible()
    assert page.locator("svg.wide").is_visible()


def captured(page: Page, file: Path) -> bytes:
    """What the page looks like; written to a file too."""
    for _ in range(CAPTURES - 1):
        try:
            return page.screenshot(path=file)
        except Error:
            page.wait_for_timeout(500)
    return page.screenshot(path=file)


@pytest.mark.parametrize("scheme", SCHEMES)
@pytest.mark.parametrize("width", WIDTHS)
@pytest.mark.parametrize("name", PAGES)
def test_screenshots_are_kept_for_eyes(visit: Open, name: str, width: int, scheme: str) -> None:
    """Pixels are no baseline across machines and fonts: the image is for a person, after the tests of structure."""
    SCREENSHOTS.mkdir(parents=True, exist_ok=True)
    file = SCREENSHOTS / f"{name}-{width}-{scheme}.png"
    page = visit(name, width, scheme).page

    height = page.evaluate("document.documentElement.scrollHeight")
    page.set_viewport_size({"width": width, "height": height})

    image = captured(page, file)

    assert image.startswith(b"\x89PNG")
    assert int.from_bytes(image[16:20], "big") == width
    assert int.from_bytes(image[20:24], "big") == height
    assert len(image) > 50_000, "an empty page of this size compresses to far less"
