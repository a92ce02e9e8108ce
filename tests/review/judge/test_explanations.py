"""Explanations accept warnings, never errors, and a stale one shows."""

from pathlib import Path

import pytest

from slipway.review.judge.explanations import Explanation, explanation_of, load_explanations, stale
from slipway.review.judge.inside_parallelcluster.answer import Answer, Finding, Level, Outcome
from slipway.review.judge.verdict import Verdict

KEY_PAIR = Explanation("KeyPairValidator", "^If you do not specify a key pair", "Session Manager")
WARNING = Finding(Level.WARNING, "KeyPairValidator", "If you do not specify a key pair, you can't connect")


def verdict(*findings: Finding, explanations: tuple[Explanation, ...] = (KEY_PAIR,), resources: int = 1) -> Verdict:
    outcome = Outcome(list(findings), schema_passed=True, validators_passed=True, template_resources=resources)
    return Verdict("default", explanations, Answer("3.16.1", [], outcome))


def test_an_explained_warning_passes() -> None:
    assert explanation_of(WARNING, [KEY_PAIR]) == KEY_PAIR
    assert verdict(WARNING).passed


@pytest.mark.parametrize(
    "finding",
    [
        Finding(Level.WARNING, "OtherValidator", WARNING.message),
        Finding(Level.WARNING, "KeyPairValidator", "The key pair is of another type"),
        Finding(Level.INFO, "DeletionPolicyValidator", "The storage 'home' will be deleted"),
        Finding(Level.ERROR, WARNING.source, WARNING.message),
    ],
    ids=["another validator", "another message", "a note", "an error"],
)
def test_what_is_not_explained_fails(finding: Finding) -> None:
    assert explanation_of(finding, [KEY_PAIR]) is None
    assert not verdict(WARNING, finding).passed


def test_unexplained_findings_come_first() -> None:
    error = Finding(Level.ERROR, "EfaValidator", "no")
    assert [finding for finding, _ in verdict(WARNING, error).findings] == [error, WARNING]


def test_a_cluster_without_a_template_fails() -> None:
    assert not verdict(resources=0).passed


def test_an_environment_that_was_not_judged_fails() -> None:
    assert not Verdict("default", (), problem="the app ended with an error").passed


def test_an_explanation_that_nothing_needs_is_stale() -> None:
    unused = Explanation("EfaValidator", ".", "no longer true")
    assert stale([KEY_PAIR, unused], [WARNING]) == [unused]
    assert stale([KEY_PAIR], []) == [KEY_PAIR]


def test_a_second_explanation_of_the_same_finding_is_stale() -> None:
    again = Explanation("KeyPairValidator", "key pair", "said twice")
    assert stale([KEY_PAIR, again], [WARNING]) == [again]


def test_every_shipped_explanation_has_a_reason() -> None:
    explanations = load_explanations()
    assert explanations
    assert all(explanation.reason and explanation.pattern for explanation in explanations)


def test_reads_rows(tmp_path: Path) -> None:
    data = tmp_path / "explanations.yaml"
    data.write_text("- {validator: A, pattern: b, reason: c}\n", "utf-8")
    assert load_explanations(data) == (Explanation("A", "b", "c"),)
