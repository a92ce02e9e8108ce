"""The page of the slowest tests, from a file that pytest writes; its times are replaced."""

import xml.etree.ElementTree as ET
from pathlib import Path

import pytest

from tests.durations import page, read

pytest_plugins = ["pytester"]


def test_it_has_the_time_of_each_folder_and_the_slowest_first(pytester: pytest.Pytester) -> None:
    folder = pytester.path / "tests" / "slow"
    folder.mkdir(parents=True)
    (folder / "test_two.py").write_text(
        "import pytest\n\n"
        "def test_quick(): pass\n\n"
        "@pytest.mark.parametrize('name', ['a|b'])\ndef test_slow(name): pass\n",
        encoding="utf-8",
    )
    pytester.runpytest_inprocess("--junitxml", "times.xml", "--rootdir", str(pytester.path), "-p", "no:randomly")
    file = ET.parse("times.xml")
    for case in file.iter("testcase"):
        case.set("time", {"test_quick": "0.011"}.get(case.attrib["name"], "0.213"))
    file.write("times.xml")
    lines = page(read(Path("times.xml"))).splitlines()
    rows = [line for line in lines if line.startswith("| `")]

    assert lines[2].startswith("2 tests, ")
    assert any(line.startswith("| tests/slow | 2 | 0 | 100% |") for line in lines)
    assert rows[0].startswith(r"| `tests/slow/test_two.py::test_slow[a\|b]` | 0.2 |")
    assert rows[1].startswith("| `tests/slow/test_two.py::test_quick` | 0.0 |")
