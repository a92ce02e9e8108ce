"""docs/preflight.md."""

from slipway.check.preflight.check import CHECKS
from slipway.check.preflight.documentation import CHECKS_FILE, with_checks


def test_the_table_of_checks_is_current() -> None:
    text = CHECKS_FILE.read_text(encoding="utf-8")
    assert with_checks(text) == text, "run `python -m slipway.check.preflight.documentation`"


def test_every_check_is_in_it() -> None:
    text = CHECKS_FILE.read_text(encoding="utf-8")
    assert len(CHECKS) == 29
    for id_, check in CHECKS.items():
        assert f"| **{id_}** | " in text
        assert f"{check.title[1:]} | {check.prevents} | {check.stage} |" in text
