"""docs/cluster-faults.md has every fault that tests play on a living cluster, and the waits that they have."""

from pathlib import Path

import pytest

from tests.live_cluster import test_faults, test_life
from tests.live_cluster.report import PAGE, read_faults, wait_rows, with_faults

TEXT = PAGE.read_text(encoding="utf-8")

TITLES = [
    (value.__doc__ or "").removesuffix(".")
    for module in (test_life, test_faults)
    for name, value in vars(module).items()
    if name.startswith("test_")
]

CASE = (
    '<testsuites><testsuite><testcase name="one"><properties><property name="fault" value="A node goes."/>'
    '<property name="seen" value="it is down"/><property name="seconds" value="{seconds}"/>'
    '<property name="running" value="0"/><property name="usd" value="0.5"/></properties>{outcome}'
    "</testcase></testsuite></testsuites>"
)


@pytest.mark.parametrize("title", TITLES)
def test_the_page_has_every_fault(title: str) -> None:
    assert f"### {title}\n" in TEXT, "run: make prove-offline cluster-faults"


def test_the_page_has_the_waits() -> None:
    assert "\n".join(wait_rows()) in TEXT


def test_a_run_becomes_the_generated_part(tmp_path: Path) -> None:
    junit = tmp_path / "faults.xml"
    junit.write_text(CASE.format(seconds=61, outcome=""))

    page = with_faults("# Before\n<!-- begin: faults -->\nold\n<!-- end: faults -->\nafter\n", read_faults(junit))

    assert page.startswith("# Before\n<!-- begin: faults -->\n")
    assert "### A node goes\n\n1. it is down\n\nAfter 61 s: 0 instances run, and $0.50 was spent" in page
    assert page.endswith("<!-- end: faults -->\nafter\n")
    assert "old" not in page


def test_a_failed_run_writes_nothing(tmp_path: Path) -> None:
    junit = tmp_path / "faults.xml"
    junit.write_text(CASE.format(seconds=61, outcome='<failure message="x"/>'))

    with pytest.raises(SystemExit, match="run `make prove-offline` again"):
        list(read_faults(junit))
