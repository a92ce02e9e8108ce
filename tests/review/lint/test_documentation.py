"""docs/cluster-rules.md."""

from slipway.review.lint.documentation import RULES_FILE, with_rules
from slipway.review.lint.rules import RULES


def test_the_list_of_rules_is_current() -> None:
    text = RULES_FILE.read_text(encoding="utf-8")
    assert with_rules(text) == text, "run `make schema`"


def test_every_rule_is_listed_with_reason_fix_and_source() -> None:
    text = RULES_FILE.read_text(encoding="utf-8")
    for rule in RULES.values():
        assert f"**`{rule.id}`** ({rule.severity}): {rule.statement}" in text
        assert f"* Reason: {rule.reason}\n* Fix: {rule.fix}\n* Source: {rule.source}" in text
