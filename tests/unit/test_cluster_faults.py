"""docs/cluster-faults.md has every fault that tests play on a living cluster, and the waits that they have."""

from pathlib import Path

import pytest

from tests.live_cluster import test_faults, test_life, test_recovery
from tests.live_cluster.recovery import Recovery
from tests.live_cluster.report import PAGE, Cost, Fault, read_faults, wait_rows, with_faults

TEXT = PAGE.read_text(encoding="utf-8")

TITLES = [
    (value.__doc__ or "").removesuffix(".")
    for module in (test_life, test_faults, test_recovery)
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


def test_the_failures_of_trainings_become_one_table() -> None:
    lost = [Recovery("EC2 takes an instance", seconds, steps_lost=3, usd=1.5) for seconds in (60, 80)]
    killed = [Recovery("a worker is killed", seconds, steps_lost=1, usd=0.5) for seconds in (20, 20)]
    faults = (Fault("A training fails", (), Cost(100, 0, 2), tuple(part)) for part in (lost, killed))

    page = with_faults("<!-- begin: faults -->\n<!-- end: faults -->\n", faults)

    assert page.count("### A training fails") == 1
    assert "| EC2 takes an instance | 2 | 70 | 79 | 3 | 3 | 1.50 |" in page
    assert "| a worker is killed | 2 | 20 | 20 | 1 | 1 | 0.50 |" in page
    assert "| all | 4 | 40 | 77 | 2 | 3 | 1.00 |" in page
    assert "With one such failure an hour, training takes steps for 98.8% of the time" in page


def test_a_failed_run_writes_nothing(tmp_path: Path) -> None:
    junit = tmp_path / "faults.xml"
    junit.write_text(CASE.format(seconds=61, outcome='<failure message="x"/>'))

    with pytest.raises(SystemExit, match="run `make prove-offline` again"):
        list(read_faults(junit))
