"""The documentation holds together: links lead somewhere, every page is reachable."""

import re
from collections.abc import Iterator
from pathlib import Path

import pytest

from slipway.leftovers.kind import kinds
from tests.assembly import PROJECT
from tests.documented_commands import PAGES

DOCS = PROJECT / "docs"
LINK = re.compile(r"(?<!!)\[[^\]]*\]\((?!https?://|mailto:)([^)#\s]*)(?:#([^)\s]+))?\)")
FENCED = re.compile(r"^```.*?^```", re.MULTILINE | re.DOTALL)


def names(pages: list[Path]) -> list[str]:
    return [str(page.relative_to(PROJECT)) for page in pages]


def links(page: Path) -> Iterator[tuple[Path, str]]:
    """Yield the file and the anchor of each link inside the project."""
    for path, anchor in LINK.findall(FENCED.sub("", page.read_text(encoding="utf-8"))):
        yield (page.parent / path).resolve() if path else page, anchor


def anchors(page: Path) -> set[str]:
    """The anchors of a page's headings, as GitHub makes them."""
    text = FENCED.sub("", page.read_text(encoding="utf-8"))
    headings = re.findall(r"^#+ (.*)$", text, re.MULTILINE)
    return {re.sub(r"[^\w\- ]", "", heading.lower()).strip().replace(" ", "-") for heading in headings}


@pytest.mark.parametrize("page", PAGES, ids=names(PAGES))
def test_every_link_leads_somewhere(page: Path) -> None:
    broken = [str(target) for target, _ in links(page) if not target.exists()]
    lost = [
        f"{target.name}#{anchor}"
        for target, anchor in links(page)
        if anchor and target.suffix == ".md" and target.exists() and anchor not in anchors(target)
    ]

    assert (broken, lost) == ([], [])


def test_every_page_can_be_reached_from_the_index() -> None:
    linked = {target for target, _ in links(DOCS / "README.md")}

    assert not names([page for page in sorted(DOCS.glob("*.md")) if page.name != "README.md" and page not in linked])


def test_the_readme_leads_to_the_index() -> None:
    assert DOCS / "README.md" in {target / "README.md" if target.is_dir() else target for target, _ in links(PAGES[0])}


def test_the_number_of_kinds_of_leftovers_is_told() -> None:
    assert f"It lists {len(kinds())} kinds of things" in (DOCS / "teardown.md").read_text(encoding="utf-8")
