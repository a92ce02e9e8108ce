"""docs/cluster-rules.md and docs/wiring-rules.md."""

from pathlib import Path

import pytest

from slipway.review.lint.documentation import RULES_FILES, with_rules


@pytest.mark.parametrize("file", RULES_FILES, ids=lambda file: file.stem)
def test_the_list_of_rules_is_current(file: Path) -> None:
    text = file.read_text(encoding="utf-8")
    assert with_rules(text, RULES_FILES[file]) == text, "run `make schema`"


@pytest.mark.parametrize("file", RULES_FILES, ids=lambda file: file.stem)
def test_every_rule_is_listed_with_reason_fix_and_source(file: Path) -> None:
    text = file.read_text(encoding="utf-8")
    for rule in RULES_FILES[file]:
        assert f"**`{rule.id}`** ({rule.severity}): {rule.statement}" in text
        assert f"* Reason: {rule.reason}\n* Fix: {rule.fix}\n* Source: {rule.source}" in text
