"""The documentation holds together: links lead somewhere, every page is reachable."""

import re
from collections.abc import Iterator
from pathlib import Path

import pytest
import yaml

from docs.pages import files, navigation
from slipway.remove.leftovers.kind import kinds
from tests.assembly import PROJECT
from tests.documented_commands import PAGES

DOCS = PROJECT / "docs"
ALL = sorted({*PAGES, *PROJECT.glob("*.md"), *(file for file in files() if file.suffix == ".md")})
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


@pytest.mark.parametrize("page", ALL, ids=names(ALL))
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


def test_the_site_has_every_page_once_in_its_navigation() -> None:
    """Zensical builds a page that the navigation lacks, and nobody finds it. Its own check covers links and anchors."""
    listed = [path for part in navigation() for pages in part.values() for page in pages for path in page.values()]

    assert sorted(listed) == sorted(names([file for file in files() if file.suffix == ".md"]))
    assert {"Tutorials", "How-to guides", "Reference", "Explanation", "For contributors"} <= {
        title for part in navigation() for title in part
    }


def test_the_readme_leads_to_the_index() -> None:
    assert DOCS / "README.md" in {target / "README.md" if target.is_dir() else target for target, _ in links(PAGES[0])}


def test_the_number_of_kinds_of_leftovers_is_told() -> None:
    assert f"It lists {len(kinds())} kinds of things" in (DOCS / "teardown.md").read_text(encoding="utf-8")


PROSE = yaml.safe_load((PROJECT / "tests" / "prose.yaml").read_text(encoding="utf-8"))
INLINE_CODE = re.compile(r"`[^`]*`")


def phrases(text: str) -> list[str]:
    """Return what docs/writing.md advises against, with what to write instead."""
    plain = " ".join(INLINE_CODE.sub("", FENCED.sub("", text)).split())
    found = ((rule, match) for rule in PROSE for match in re.finditer(rule["pattern"], plain))
    return [f"{plain[max(0, match.start() - 40) : match.end()]}: write {rule['instead']}" for rule, match in found]


@pytest.mark.parametrize("page", [page for page in ALL if page.name != "writing.md"], ids=lambda page: page.name)
def test_the_pages_use_plain_english(page: Path) -> None:
    assert phrases(page.read_text(encoding="utf-8")) == []


def test_the_guide_names_what_the_check_finds() -> None:
    """The check finds each phrase to avoid, and nothing in what to write instead."""
    rows = re.findall(r"^\| (.+) \| (.+) \|$", (DOCS / "writing.md").read_text(encoding="utf-8"), re.MULTILINE)[1:]

    assert len(rows) > 4
    assert [bad for _, bad in rows if not phrases(bad)] == []
    assert [good for good, _ in rows if phrases(good)] == []
