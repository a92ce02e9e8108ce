"""Lay out the pages of the site in a folder: `make docs` builds it with Zensical.

The folder has the project's own layout, so the links of a page lead where they lead on GitHub. The navigation is what
docs/README.md lists: each of its headings with a list is a part, each link of the list a page.
"""

import json
import re
import shutil
import sys
from pathlib import Path

PROJECT = Path(__file__).resolve().parent.parent
INDEX = PROJECT / "docs" / "README.md"
LINK = re.compile(r"\]\((?!https?://|mailto:|#)([^)#\s]+)")
PART = re.compile(r"^## (.+)\n\n((?:- .*\n(?:  .*\n)*)+)", re.MULTILINE)
ENTRY = re.compile(r"^- \[([^\]]+)\]\(([^)#\s]+)\)", re.MULTILINE)


def linked(page: Path) -> list[Path]:
    """Return the files of the project that a page links to or shows; folders have no page on the site."""
    found = ((page.parent / target).resolve() for target in LINK.findall(page.read_text(encoding="utf-8")))
    return [file for file in found if file.is_file()]


def navigation() -> list[dict[str, list[dict[str, str]]]]:
    """Return the parts of docs/README.md in order: each with its pages, as a title and a path in the project."""
    parts = [{"Overview": [{"Slipway": "README.md"}, {"All pages": "docs/README.md"}]}]
    for title, entries in PART.findall(INDEX.read_text(encoding="utf-8")):
        pages = [
            {name: (INDEX.parent / path).resolve().relative_to(PROJECT).as_posix()}
            for name, path in ENTRY.findall(entries)
        ]
        parts.append({title: pages})
    return parts


def files() -> set[Path]:
    """Return all files of the site: the README, the index, what can be reached from them, and the site's style."""
    found = {PROJECT / "docs" / "site.css"}
    waiting = [PROJECT / "README.md", INDEX]
    while waiting:
        file = waiting.pop()
        if file not in found:
            found.add(file)
            waiting.extend(linked(file) if file.suffix == ".md" else [])
    return found


def toml(value: object) -> str:
    """Write lists, objects and texts as TOML does, on one line."""
    if isinstance(value, list):
        return f"[{', '.join(map(toml, value))}]"
    if isinstance(value, dict):
        return f"{{{', '.join(f'{json.dumps(key)} = {toml(item)}' for key, item in value.items())}}}"
    return json.dumps(value)


def lay_out(folder: Path) -> None:
    """Copy the files into `folder`/pages and write `folder`/zensical.toml beside it."""
    pages = folder / "pages"
    shutil.rmtree(pages, ignore_errors=True)
    for file in files():
        copy = pages / file.relative_to(PROJECT)
        copy.parent.mkdir(parents=True, exist_ok=True)
        shutil.copyfile(file, copy)
    settings = (PROJECT / "docs" / "zensical.toml").read_text(encoding="utf-8")
    (folder / "zensical.toml").write_text(settings.replace("nav = []", f"nav = {toml(navigation())}"), encoding="utf-8")


if __name__ == "__main__":
    lay_out(Path(sys.argv[1]).resolve())
