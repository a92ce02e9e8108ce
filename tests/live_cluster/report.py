"""What the last `make prove-offline` saw, as the generated part of docs/cluster-faults.md (`make cluster-faults`).

python -m tests.live_cluster.report JUNIT_FILE...
"""

from __future__ import annotations

import json
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from xml.etree import ElementTree

from tests.live_cluster.head_node import PARALLELCLUSTER_WAITS, SHORT_WAITS
from tests.live_cluster.recovery import Recovery, recovery_rows

PAGE = Path(__file__).parents[2] / "docs" / "cluster-faults.md"
BEGIN, END = "<!-- begin: faults -->", "<!-- end: faults -->"


@dataclass(frozen=True)
class Fault:
    """One test's record.

    Attributes:
        title: what happened.
        seen: what a user sees, in order.
        cost: None where there is no cluster.
        recoveries: what each failure of a training cost.
    """

    title: str
    seen: tuple[str, ...]
    cost: Cost | None
    recoveries: tuple[Recovery, ...] = ()


@dataclass(frozen=True)
class Cost:
    """What a cluster cost.

    Attributes:
        seconds: from the start of the cluster to its end.
        running: instances that still run at the end.
        usd: what all instances cost by their list prices, in US dollars.
    """

    seconds: float
    running: int
    usd: float

    def __add__(self, other: Cost) -> Cost:
        """Return what both cost."""
        return Cost(self.seconds + other.seconds, self.running + other.running, self.usd + other.usd)


def read_faults(*files: Path) -> Iterator[Fault]:
    """Yield the faults of a run sorted by file and test: tests that run side by side end in any order.

    Raises:
        SystemExit: a test failed or left no record.
    """
    for case in (case for file in files for case in sorted(ElementTree.parse(file).iter("testcase"), key=_name)):
        values: dict[str, list[str]] = {}
        for row in case.iter("property"):
            values.setdefault(row.attrib["name"], []).append(row.attrib["value"])
        if case.find("failure") is not None or case.find("error") is not None or "fault" not in values:
            raise SystemExit(f"{case.attrib['name']} failed or left no record: run `make prove-offline` again")
        yield Fault(
            title=values["fault"][0],
            seen=tuple(values.get("seen", ())),
            cost=Cost(float(values["seconds"][0]), int(values["running"][0]), float(values["usd"][0]))
            if "usd" in values
            else None,
            recoveries=tuple(Recovery(**json.loads(text)) for text in values.get("recovery", ())),
        )


def _name(case: ElementTree.Element) -> tuple[str, str]:
    return case.get("classname", ""), case.get("name", "")


def lines_of(fault: Fault) -> Iterator[str]:
    """Yield a fault's part of the page."""
    yield f"### {fault.title.removesuffix('.')}"
    yield ""
    if fault.recoveries:
        yield from recovery_rows(fault.recoveries)
    else:
        yield from (f"1. {text}" for text in fault.seen)
        yield ""
    if cost := fault.cost:
        yield f"After {cost.seconds:.0f} s: {cost.running} instances run, and ${cost.usd:.2f} was spent on instances."
        yield ""


def wait_rows() -> Iterator[str]:
    """Yield the table of waits."""
    yield "| wait, in seconds | here | on your cluster |"
    yield "|---|---|---|"
    yield from (f"| `{name}` | {SHORT_WAITS[name]} | {seconds} |" for name, seconds in PARALLELCLUSTER_WAITS.items())
    yield ""


def with_faults(page: str, faults: Iterator[Fault]) -> str:
    """Return the page with its generated part renewed."""
    before, _, rest = page.partition(BEGIN)
    merged: dict[str, Fault] = {}
    for fault in faults:
        known = merged.get(fault.title)
        merged[fault.title] = fault if known is None else _both(known, fault)
    generated = [*wait_rows(), *(line for fault in merged.values() for line in lines_of(fault))]
    return "\n".join([f"{before}{BEGIN}", "", *generated, f"{END}{rest.partition(END)[2]}"])


def _both(first: Fault, second: Fault) -> Fault:
    """Two runs of one fault, with other settings or environments."""
    one, other = first.cost, second.cost
    cost = one + other if one and other else None
    return Fault(first.title, (*first.seen, *second.seen), cost, (*first.recoveries, *second.recoveries))


if __name__ == "__main__":
    text = with_faults(PAGE.read_text(encoding="utf-8"), read_faults(*map(Path, sys.argv[1:])))
    PAGE.write_text(text, encoding="utf-8")
