"""The lists of rules in docs/: `python -m slipway.review.lint.documentation` rewrites them."""

from collections.abc import Iterable, Iterator
from itertools import groupby
from operator import attrgetter
from pathlib import Path
from typing import Any

from slipway.review.lint.rules import RULES
from slipway.review.rule import Rule
from slipway.review.wiring.rules import RULES as WIRING_RULES

_DOCS = Path(__file__).parents[3] / "docs"

RULES_FILES: dict[Path, tuple[Rule[Any], ...]] = {
    _DOCS / "cluster-rules.md": tuple(RULES.values()),
    _DOCS / "wiring-rules.md": tuple(WIRING_RULES.values()),
}
"""The documents with the rules that each lists."""

_BEGIN, _END = "<!-- begin: rules -->", "<!-- end: rules -->"


def with_rules(text: str, rules: Iterable[Rule[Any]]) -> str:
    """Return a document with its generated part renewed.

    Args:
        text: The document; the generated part stands between `<!-- begin: rules -->` and `<!-- end: rules -->`.
        rules: What it lists.
    """
    before, _, rest = text.partition(_BEGIN)
    after = rest.partition(_END)[2]
    return "\n".join([f"{before}{_BEGIN}", "", *_all_rules(rules), f"{_END}{after}"])


def _all_rules(rules: Iterable[Rule[Any]]) -> Iterator[str]:
    for topic, of_topic in groupby(rules, key=attrgetter("topic")):
        yield f"### {topic.replace('_', ' ').capitalize()}"
        yield ""
        for rule in of_topic:
            yield from _one_rule(rule)


def _one_rule(rule: Rule[Any]) -> Iterator[str]:
    yield f"**`{rule.id}`** ({rule.severity}): {rule.statement}"
    yield ""
    yield f"* Reason: {rule.reason}"
    yield f"* Fix: {rule.fix}"
    yield f"* Source: {rule.source}"
    yield ""


if __name__ == "__main__":
    for file, rules in RULES_FILES.items():
        file.write_text(with_rules(file.read_text(encoding="utf-8"), rules), encoding="utf-8")
