"""`slipway docs`: the documentation of the installed version, without a browser and without a network."""

import re
import sys
from collections.abc import Iterator
from typing import Annotated

import typer

from slipway.bundle import BUNDLE
from slipway.console import reports_errors
from slipway.errors import RefusedError

FOLDER = BUNDLE / "docs"
"""The pages; a wheel has them, too. Messages name a page by the command that prints it, which is right everywhere."""

_INDEX = "README"
_FENCE = re.compile(r"^ *```")
_HEADING = re.compile(r"(#+) (.*)")


def pages() -> list[str]:
    """Return the names of all pages."""
    return sorted(file.stem for file in FOLDER.glob("*.md"))


def text_of(page: str) -> str:
    """Return the Markdown of a page, or of one section with all below it.

    Args:
        page: the page's name, or name#section; the section as in a link: `troubleshooting#deployment`.

    Raises:
        RefusedError: unknown page or section.
    """
    name, _, section = page.partition("#")
    if name not in pages():
        raise RefusedError(f"unknown page {name!r}; there are: {', '.join(pages())}")
    text = (FOLDER / f"{name}.md").read_text("utf-8")
    if not section:
        return text
    lines, headings = text.splitlines(), list(_headings(text))
    for number, level, anchor in headings:
        if anchor == section:
            end = next((line for line, other, _ in headings if line > number and other <= level), len(lines))
            return "\n".join(lines[number:end])
    raise RefusedError(f"page {name} has no section {section!r}; it has: {', '.join(row[2] for row in headings)}")


def _headings(text: str) -> Iterator[tuple[int, int, str]]:
    """Yield line, level and anchor (as GitHub makes it) of each heading; comments in code do not count."""
    is_code = False
    for number, line in enumerate(text.splitlines()):
        is_code ^= bool(_FENCE.match(line))
        if not is_code and (found := _HEADING.fullmatch(line)):
            anchor = re.sub(r"[^\w\- ]", "", found[2].lower()).strip().replace(" ", "-")
            yield number, len(found[1]), anchor


@reports_errors()
def docs(
    page: Annotated[
        str, typer.Argument(metavar="PAGE", autocompletion=pages, help="A page, or PAGE#SECTION; else the index.")
    ] = _INDEX,
) -> None:
    """Print a page of this version's documentation; it needs no network.

    Exit codes: 0 printed; 2 unknown page or section.
    """
    text = text_of(page)
    if not sys.stdout.isatty():
        typer.echo(text)
        return
    # What these import takes time that no other command should wait for.
    from rich.markdown import Markdown  # noqa: PLC0415

    from slipway.terminal import screen  # noqa: PLC0415

    screen().print(Markdown(text))
