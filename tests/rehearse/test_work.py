"""The bars of a phase are what the ledger says since the phase began."""

import json
from pathlib import Path

from slipway.rehearse.assembly import Assembly
from slipway.rehearse.ledger import Ledger
from slipway.rehearse.work import Work
from tests.rehearse.fakes import Line, assembly_files, resource


def bars(folder: Path, *lines: Line, since: int = 0) -> dict[str, tuple[int, int, str]]:
    (folder / "ledger.jsonl").write_text("".join(json.dumps(line) + "\n" for line in lines))
    ledger = Ledger(folder / "ledger.jsonl")
    ledger.poll()
    rows = Work({"network": 2, "storage": 1}, since).bars(ledger)
    return {row.name: (row.done, row.total, row.state.plain) for row in rows}


def test_each_resource_counts_once_and_of_this_phase_alone(tmp_path: Path) -> None:
    before = resource("create", "network", "Vpc")
    assert bars(
        tmp_path, before, resource("update", "network", "Vpc"), resource("update", "network", "Vpc"), since=1
    ) == {
        "network": (1, 2, "works"),
        "storage": (0, 1, "waits"),
    }


def test_a_stack_is_done_or_fails(tmp_path: Path) -> None:
    assert bars(
        tmp_path, resource("failed", "network", "Subnet", reason="no"), resource("create", "storage", "Bucket")
    ) == {"network": (0, 2, "fails, rolls back"), "storage": (1, 1, "done")}


def test_an_update_has_the_changed_resources_of_changed_stacks(tmp_path: Path) -> None:
    assemblies = []
    for name, nodes in (("before", 4), ("after", 5)):
        (tmp_path / name).mkdir()
        stacks: dict[str, dict[str, object]] = {
            "network": {"Vpc": {}},
            "training": {"Cluster": {"Nodes": nodes}, "Role": {}},
        }
        for file, text in assembly_files(stacks).items():
            (tmp_path / name / file).write_text(text)
        assemblies.append(Assembly.read(tmp_path / name))
    before, after = assemblies
    assert after.changed_counts(before) == {"training": 1}
    assert after.resource_counts() == {"network": 1, "training": 2}
