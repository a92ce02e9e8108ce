"""The mistakes that tests plant, and who notices each: `python -m tests.planted_defects` rewrites the list in docs/."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from itertools import groupby
from operator import attrgetter
from pathlib import Path
from typing import NamedTuple

from slipway.review.lint.rules import RULES
from tests.iam.program_calls import PROGRAMS
from tests.review.judge.test_mutations import DEFECTS, IMAGE_BUILD_DEFECTS, RESERVATION_DEFECTS
from tests.review.lint.test_rules import CASES
from tests.review.wiring.alarm_mistakes import CHANGES as ALARM_CHANGES
from tests.review.wiring.kubernetes_mistakes import KINDS as KUBERNETES_KINDS
from tests.review.wiring.network_mistakes import CHANGES as NETWORK_CHANGES
from tests.review.wiring.template_mistakes import UNSEEN, mistakes_of

PAGE = Path(__file__).parents[1] / "docs" / "planted-defects.md"
BEGIN, END = "<!-- begin: defects -->", "<!-- end: defects -->"


class Planted(NamedTuple):
    """A kind of mistake."""

    family: str
    mistake: str
    noticed_by: str


def planted() -> Iterator[Planted]:
    """Yield all kinds, family by family."""
    for alarm in ALARM_CHANGES:
        yield Planted("Alarms", _words(alarm.__name__), "cross-resource rules")
    for name in NETWORK_CHANGES:
        yield Planted("Network", _words(name), "cross-resource rules")
    for kind in KUBERNETES_KINDS:
        yield Planted("Kubernetes", _words(kind), "cross-resource rules")
    for case in sorted(CASES, key=lambda case: RULES[case.rule].topic):
        rule = RULES[case.rule]
        yield Planted(f"Cluster: {rule.topic}", f"Violates: {rule.statement}", f"`{rule.id}`")
    for defect in (*DEFECTS, *RESERVATION_DEFECTS, *IMAGE_BUILD_DEFECTS):
        yield Planted("Cluster, as ParallelCluster reads it", defect.name, f"the judge: {defect.source}")
    for program, needs in PROGRAMS.items():
        for role in needs["roles"]:
            yield Planted("Permissions", f"The {role} lacks a statement for: {program}", "the programs' calls")


def _words(name: str) -> str:
    return name.replace("_", " ")


def with_defects(page: str) -> str:
    """Return the page with its generated part renewed."""
    before, _, rest = page.partition(BEGIN)
    return "\n".join([f"{before}{BEGIN}", "", *_lines(), f"{END}{rest.partition(END)[2]}"])


def _lines() -> Iterator[str]:
    rows = list(dict.fromkeys(planted()))
    yield f"{len(rows)} kinds of mistakes:"
    yield ""
    for family, of_family in groupby(rows, key=attrgetter("family")):
        yield f"### {family}"
        yield ""
        yield "| mistake | noticed by |"
        yield "|---|---|"
        yield from (f"| {row.mistake} | {row.noticed_by} |" for row in of_family)
        yield ""
    yield from _unseen_lines()


def _unseen_lines() -> Iterator[str]:
    yield "### Planted by independent authors"
    yield ""
    for author in UNSEEN:
        mistakes = mistakes_of(author)
        made = Counter(mistake.family for mistake in mistakes)
        by_rules = Counter(mistake.family for mistake in mistakes if mistake.noticed_by)
        by_others = Counter(mistake.family for mistake in mistakes if mistake.also_noticed_by)
        noticed = by_rules.total() + by_others.total()
        yield f"{_words(author).capitalize()}: {noticed} of {made.total()} mistakes are noticed."
        yield ""
        yield "| family | mistakes | by cross-resource rules | by other checks |"
        yield "|---|---|---|---|"
        yield from (
            f"| {family} | {count} | {by_rules[family]} | {by_others[family]} |" for family, count in made.items()
        )
        yield ""
        yield "Not noticed:"
        yield ""
        yield from (
            f"* {each.what.rstrip('.')}." for each in mistakes if not each.noticed_by and not each.also_noticed_by
        )
        yield ""


if __name__ == "__main__":
    PAGE.write_text(with_defects(PAGE.read_text(encoding="utf-8")), encoding="utf-8")
