"""The documentation holds together: links lead somewhere, commands exist, every page is reachable."""

import re
from collections.abc import Iterator
from pathlib import Path

import pytest
import typer

from slipway.cli import app
from slipway.leftovers.kind import kinds
from tests.assembly import PROJECT

DOCS = PROJECT / "docs"
PAGES = [PROJECT / "README.md", *sorted(DOCS.glob("*.md")), *sorted((PROJECT / "assets").rglob("README.md"))]
LINK = re.compile(r"(?<!!)\[[^\]]*\]\((?!https?://|mailto:)([^)#\s]*)(?:#([^)\s]+))?\)")
FENCED = re.compile(r"^```.*?^```", re.MULTILINE | re.DOTALL)
MAKE = re.compile(r"`make ([a-z][a-z-]*)|^make ([a-z][a-z-]*)|&& make ([a-z][a-z-]*)", re.MULTILINE)
COMMAND = re.compile(r"(?:`|^|&& |    )slipway ([a-z][a-z-]+)(?: ([a-z][a-z-]+))?", re.MULTILINE)
WITH_OPTIONS = re.compile(r"(?:`|^|    )slipway ([a-z-]+) ?([a-z]*)([^`|#&\n]*)", re.MULTILINE)
OPTION = re.compile(r"(?<![\w/])--?[a-z][a-z-]*")

LOG_LINES = {"health", "bake"}
"""What programs on the nodes write behind `slipway`."""


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


@pytest.mark.parametrize("page", PAGES, ids=names(PAGES))
def test_every_make_target_exists(page: Path) -> None:
    targets = set(re.findall(r"^([a-z][a-z-]*)(?:-%)?:", (PROJECT / "Makefile").read_text(), re.MULTILINE))
    named = {next(filter(None, found)) for found in MAKE.findall(page.read_text(encoding="utf-8"))}

    assert not {name for name in named if name not in targets and not name.startswith("rehearse-")}


@pytest.mark.parametrize("page", PAGES, ids=names(PAGES))
def test_every_command_exists(page: Path) -> None:
    root = typer.main.get_command(app)
    known = getattr(root, "commands", {})
    named = COMMAND.findall(page.read_text(encoding="utf-8"))

    assert not [first for first, _ in named if first not in known and first not in LOG_LINES]
    for first, second in named:
        group = getattr(known.get(first), "commands", None)
        if group and second:
            assert second in group, f"slipway {first} {second}"


@pytest.mark.parametrize("page", PAGES, ids=names(PAGES))
def test_every_option_exists(page: Path) -> None:
    root = typer.main.get_command(app)
    unknown = []
    for first, second, rest in WITH_OPTIONS.findall(page.read_text(encoding="utf-8")):
        command = getattr(root, "commands", {}).get(first)
        command = getattr(command, "commands", {}).get(second, command)
        known = {option for parameter in getattr(command, "params", ()) for option in parameter.opts}
        unknown += [f"slipway {first} {option}" for option in OPTION.findall(f"{second} {rest}") if option not in known]

    assert not unknown


def test_the_number_of_kinds_of_leftovers_is_told() -> None:
    assert f"It lists {len(kinds())} kinds of things" in (DOCS / "teardown.md").read_text(encoding="utf-8")
