import json
from pathlib import Path

from slipway_emulator.ledger import Ledger


def test_lines_have_a_kind_and_hide_what_is_hidden(tmp_path: Path) -> None:
    ledger = Ledger(tmp_path / "ledger.jsonl")
    ledger.hide('pass"word')
    ledger.hide("password-longer")
    ledger.resource("failed", stack="s", reason='refused: pass"word and password-longer')
    ledger.deviation("name", "why")
    ledger.seed("what", "why")
    ledger.held_back("s", "Policy", "Deny", "http")
    lines = [json.loads(line) for line in (tmp_path / "ledger.jsonl").read_text(encoding="utf-8").splitlines()]
    assert [line["kind"] for line in lines] == ["resource", "deviation", "seed", "held_back"]
    assert lines[0] == {"kind": "resource", "action": "failed", "stack": "s", "reason": "refused: **** and ****"}


def test_very_short_texts_are_not_hidden(tmp_path: Path) -> None:
    ledger = Ledger(tmp_path / "ledger.jsonl")
    ledger.hide("a")
    assert ledger.without_hidden("a name") == "a name"
