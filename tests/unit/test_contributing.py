"""CONTRIBUTING.md names every file that a typical change touches: its examples are in those files and in no others."""

import re
from collections.abc import Iterator

import pytest

from tests.assembly import PROJECT

TEXT = (PROJECT / "CONTRIBUTING.md").read_text(encoding="utf-8")
CHANGES = {
    title: body
    for title, _, body in (part.partition("\n") for part in re.split(r"^### ", TEXT, flags=re.MULTILINE)[1:])
}
FOLDERS = ("assets", "constructs", "docs", "emulator", "environments", "slipway", "stacks", ".github")
SUFFIXES = {".py", ".yaml", ".yml", ".json", ".md", ".sh", ".mjs", ".j2"}
EXAMPLE = re.compile(r"^Example: `(.+)`$", re.MULTILINE)
FILE = re.compile(r"^\* (`[^:]+`):", re.MULTILINE)


def listed(body: str) -> Iterator[str]:
    for names in FILE.findall(body):
        yield from re.findall(r"`([^`]+)`", names)


def files_with(text: str) -> Iterator[str]:
    for folder in FOLDERS:
        for file in sorted((PROJECT / folder).rglob("*")):
            if (
                file.suffix in {".py", ".yaml", ".yml", ".json", ".md", ".sh", ".mjs", ".j2"}
                and text in file.read_text()
            ):
                yield str(file.relative_to(PROJECT))


@pytest.mark.parametrize("title", CHANGES)
def test_the_files_of_a_change_are_all_that_name_its_example(title: str) -> None:
    (example,) = EXAMPLE.findall(CHANGES[title])
    files = set(listed(CHANGES[title]))

    assert all((PROJECT / file).is_file() for file in files)
    assert {file for file in files if not file.startswith("tests/")} == set(files_with(example))


def test_it_lists_five_changes() -> None:
    assert len(CHANGES) == 5


def test_every_package_has_a_line() -> None:
    packages = {f"slipway/{path.parent.name}" for path in (PROJECT / "slipway").glob("*/__init__.py")}

    assert packages <= set(re.findall(r"`([\w/]+)`", TEXT))
