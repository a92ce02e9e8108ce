"""Where the time of `make test` goes, as a page: `make test-times` writes it to tests/durations.md.

It reads pytest's JUnit file of the last `make test`. A test's time is that of its set-up, call and teardown. Tests run
side by side: two workers need about half of the sum.
"""

import sys
import xml.etree.ElementTree as ET
from collections import Counter
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import NamedTuple

SLOWEST = 20


class Timed(NamedTuple):
    """A test and its seconds."""

    folder: str
    name: str
    seconds: float


def read(file: Path) -> Iterator[Timed]:
    """Yield the tests of a JUnit file."""
    # pytest wrote the file on this machine.
    for case in ET.parse(file).iter("testcase"):
        module = case.get("classname", "").split(".")
        folder = "/".join(module[:2] if len(module) > 2 else module[:1])
        yield Timed(folder, f"{'/'.join(module)}.py::{case.get('name')}", float(case.get("time", "0")))


def page(tests: Iterable[Timed]) -> str:
    """Return the page: seconds by folder, and the slowest tests."""
    found = list(tests)
    number = Counter(test.folder for test in found)
    seconds = {name: sum(test.seconds for test in found if test.folder == name) for name in number}
    folders = sorted(seconds, key=lambda name: -seconds[name])
    whole = sum(seconds.values())
    slowest = sorted(found, key=lambda test: -test.seconds)[:SLOWEST]
    return "\n".join(
        [
            "# Where the time of `make test` goes",
            "",
            f"{len(found):,} tests, {whole:,.0f} seconds of tests. Written by `make test-times`.",
            "",
            "| folder | tests | seconds | share |",
            "|---|---:|---:|---:|",
            *(
                f"| {name} | {number[name]:,} | {seconds[name]:,.0f} | {seconds[name] / whole:.0%} |"
                for name in folders
            ),
            "",
            f"## The slowest {SLOWEST} tests",
            "",
            "| test | seconds |",
            "|---|---:|",
            *(f"| `{test.name.replace('|', chr(0x5C) + '|')}` | {test.seconds:.1f} |" for test in slowest),
            "",
        ]
    )


if __name__ == "__main__":
    print(page(read(Path(sys.argv[1]))), end="")
