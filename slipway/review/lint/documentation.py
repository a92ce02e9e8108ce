"""The list of rules in docs/cluster-rules.md: `python -m slipway.review.lint.documentation` rewrites it."""

from collections.abc import Iterator
from itertools import groupby
from operator import attrgetter
from pathlib import Path

from slipway.review.lint.rules import RULES, Rule

RULES_FILE = Path(__file__).parents[3] / "docs" / "cluster-rules.md"

_BEGIN, _END = "<!-- begin: rules -->", "<!-- end: rules -->"


def with_rules(text: str) -> str:
    """Return the document with its generated part renewed.

    Args:
        text: The document; the generated part stands between `<!-- begin: rules -->` and `<!-- end: rules -->`.
    """
    before, _, rest = text.partition(_BEGIN)
    after = rest.partition(_END)[2]
    return "\n".join([f"{before}{_BEGIN}", "", *_all_rules(), f"{_END}{after}"])


def _all_rules() -> Iterator[str]:
    for topic, rules in groupby(RULES.values(), key=attrgetter("topic")):
        yield f"### {topic.capitalize()}"
        yield ""
        for rule in rules:
            yield from _one_rule(rule)


def _one_rule(rule: Rule) -> Iterator[str]:
    yield f"**`{rule.id}`** ({rule.severity}): {rule.statement}"
    yield ""
    yield f"* Reason: {rule.reason}"
    yield f"* Fix: {rule.fix}"
    yield f"* Source: {rule.source}"
    yield ""


if __name__ == "__main__":
    RULES_FILE.write_text(with_rules(RULES_FILE.read_text(encoding="utf-8")), encoding="utf-8")
