"""The messages of Slipway's own in docs/troubleshooting.md are those that its code has."""

import re
from collections.abc import Iterator
from functools import cache

import pytest

from tests.assembly import PROJECT

OWN = ("`slipway plan`", "`slipway az`, `slipway deploy-role`", "Preflight", "Pause and resume", "`slipway leftovers`")
"""Headings of the tables that have no message of AWS's or of another program."""

CODE_SPAN = re.compile(r"(`+)(.+?)\1")
SHORTEST = 5
"""Shorter parts between two `...` stand in any code."""


def messages(heading: str) -> Iterator[str]:
    """Yield the messages below a heading: code in the second to last cell of each row."""
    text = (PROJECT / "docs" / "troubleshooting.md").read_text(encoding="utf-8")
    section = re.split(r"^#+ ", text.split(f"# {heading}\n", 1)[1], maxsplit=1, flags=re.MULTILINE)[0]
    header, _, *rows = [line for line in section.splitlines() if line.startswith("|")]
    column = header.split("|").index(" you see ")
    for row in rows:
        yield from (found for _, found in CODE_SPAN.findall(row.split("|")[column]))


@cache
def source() -> str:
    """All texts of the commands, with texts over several lines joined."""
    folders = (PROJECT / "slipway", PROJECT / "assets" / "operations")
    files = [file for folder in folders for kind in ("*.py", "*.yaml") for file in sorted(folder.rglob(kind))]
    text = "\n".join(file.read_text(encoding="utf-8") for file in files)
    return re.sub(r"\s+", " ", re.sub(r'"\s*\n\s*f?"', "", text))


@pytest.mark.parametrize("heading", OWN)
def test_each_message_is_one_of_the_code(heading: str) -> None:
    parts = [part.strip(" :") for message in messages(heading) for part in message.split("...")]
    long = [part for part in parts if len(part) >= SHORTEST]

    assert long
    assert not [part for part in long if part not in source()]
