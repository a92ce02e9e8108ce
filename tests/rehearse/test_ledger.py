import json
from pathlib import Path

import pytest

from slipway.rehearse.ledger import Ledger, LedgerError, SeedEntry
from tests.rehearse.fakes import resource


def write(path: Path, *lines: dict[str, object]) -> None:
    with path.open("a", encoding="utf-8") as file:
        file.writelines(json.dumps(line) + "\n" for line in lines)


def test_a_ledger_that_does_not_exist_yet_is_empty(tmp_path: Path) -> None:
    assert Ledger(tmp_path / "ledger.jsonl").poll() == []


def test_each_poll_reads_what_was_added(tmp_path: Path) -> None:
    path = tmp_path / "ledger.jsonl"
    ledger = Ledger(path)
    write(path, {"kind": "seed", "what": "an AMI", "why": "a Region has it"})
    assert [type(entry) for entry in ledger.poll()] == [SeedEntry]
    write(path, resource("create", "network", "Vpc"), resource("delete", "network", "Vpc"))
    assert len(ledger.poll()) == 2
    assert ledger.poll() == []
    assert [entry.action for entry in ledger.resources(since=2)] == ["delete"]


def test_a_line_that_is_being_written_waits(tmp_path: Path) -> None:
    path = tmp_path / "ledger.jsonl"
    ledger = Ledger(path)
    line = json.dumps(resource("create", "network", "Vpc"))
    path.write_text(line[:20], encoding="utf-8")
    assert ledger.poll() == []
    path.write_text(line + "\n", encoding="utf-8")
    assert len(ledger.poll()) == 1


def test_a_line_in_another_format_is_named(tmp_path: Path) -> None:
    path = tmp_path / "ledger.jsonl"
    write(path, {"kind": "resource", "action": "explode"})
    with pytest.raises(LedgerError, match="explode"):
        Ledger(path).poll()
