"""The page of the slowest tests, from a file that pytest writes."""

from pathlib import Path

import pytest

from tests.durations import page, read

pytest_plugins = ["pytester"]


def test_it_has_the_time_of_each_folder_and_the_slowest_first(pytester: pytest.Pytester) -> None:
    folder = pytester.path / "tests" / "slow"
    folder.mkdir(parents=True)
    (folder / "test_two.py").write_text(
        "import time\nimport pytest\n\n"
        "def test_quick(): pass\n\n"
        "@pytest.mark.parametrize('name', ['a|b'])\ndef test_slow(name): time.sleep(0.05)\n",
        encoding="utf-8",
    )
    pytester.runpytest_inprocess("--junitxml", "times.xml", "--rootdir", str(pytester.path), "-p", "no:randomly")
    lines = page(read(Path("times.xml"))).splitlines()
    rows = [line for line in lines if line.startswith("| `")]

    assert lines[2].startswith("2 tests, ")
    assert any(line.startswith("| tests/slow | 2 | ") and line.endswith("| 100% |") for line in lines)
    assert rows[0].startswith(r"| `tests/slow/test_two.py::test_slow[a\|b]` | 0.")
    assert rows[1].startswith("| `tests/slow/test_two.py::test_quick` | 0.0")
