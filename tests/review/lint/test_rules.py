"""Every rule: what breaks it is found, what nearly does is allowed, and what is not known is not passed."""

from dataclasses import replace
from typing import Any

import pytest

from slipway.assembly.cluster import Cluster
from slipway.assembly.context import Context
from slipway.assembly.sections import Section
from slipway.review.lint.rules import RULES, run_rules
from tests.review.lint.case import PUBLIC, RESOURCE, Case
from tests.review.lint.cases_nodes import CAPACITY, NODES, OPERATIONS, RELEASE
from tests.review.lint.cases_surroundings import ACCESS, PERMISSIONS, SCRIPTS, STORAGE
from tests.review.lint.configurations import MINIMAL, cluster

CASES = [*ACCESS, *PERMISSIONS, *SCRIPTS, *STORAGE, *NODES, *CAPACITY, *RELEASE, *OPERATIONS]
EACH_CASE = pytest.mark.parametrize("case", CASES, ids=[f"{case.rule}-{number}" for number, case in enumerate(CASES)])


@EACH_CASE
def test_breaking_change_is_found(case: Case) -> None:
    findings = run_rules(cluster(case.breaking, **case.surroundings)).findings
    assert {finding.rule for finding in findings} == {case.rule, *case.also}
    assert any(case.message in finding.message for finding in findings if finding.rule == case.rule)


@EACH_CASE
def test_near_change_is_allowed(case: Case) -> None:
    findings = run_rules(cluster(case.allowed, **case.surroundings if case.allowed else {})).findings
    assert case.rule not in {finding.rule for finding in findings}


def test_every_rule_has_a_case() -> None:
    assert {case.rule for case in CASES} == set(RULES)


def test_the_minimal_configuration_passes_and_every_rule_could_look_at_it() -> None:
    result = run_rules(cluster())
    assert result.findings == ()
    assert result.not_checked == ()


def test_a_public_subnet_is_found_at_every_kind_of_node_in_it() -> None:
    findings = run_rules(cluster(**PUBLIC)).findings
    assert [finding.path for finding in findings] == [
        ("HeadNode", "Networking"),
        ("Scheduling", "SlurmQueues", 0, "Networking"),
    ]


def test_what_nobody_has_said_is_listed_and_not_passed() -> None:
    result = run_rules(Cluster(Section((), MINIMAL), Context()))
    assert result.findings == ()
    assert {missing.rule for missing in result.not_checked} == {
        "addresses-for-all-nodes",
        "all-nodes-below-price-ceiling",
        "nodes-in-private-subnets",
        "permissions-boundary-passed-on",
        "policies-attachable-by-provider",
        "queue-beside-file-system",
        "quotas-allow-all-nodes",
        "release-can-be-deployed",
        "scripts-are-uploaded",
        "scripts-from-own-bucket",
        "types-offered",
    }


@pytest.mark.parametrize(
    ("open_value", "reason"),
    [
        ({"Ref": "NodeType"}, "InstanceType is only known later ('${NodeType}')"),
        ("<TYPE>", "InstanceType is only known later ('<TYPE>')"),
        ({"Fn::If": ["Big", "a", "b"]}, "InstanceType is only known later ('${Fn::If}')"),
        ("p5.48xlarge", "no facts about instance type p5.48xlarge"),
        (["trn1.32xlarge"], "InstanceType is a list, which is not of its kind"),
    ],
)
def test_a_rule_says_what_it_would_need(open_value: Any, reason: str) -> None:
    result = run_rules(cluster({f"{RESOURCE}.InstanceType": open_value}))
    assert result.findings == ()
    [missing] = [missing for missing in result.not_checked if missing.rule == "types-offered"]
    assert missing.reason.removeprefix("Scheduling.SlurmQueues[0].ComputeResources[0].") == reason


def test_scalars_may_all_be_text_as_cloudformation_sends_them() -> None:
    assert run_rules(Cluster(Section((), _as_text(MINIMAL)), cluster().context)).findings == ()


def _as_text(value: Any) -> Any:
    if isinstance(value, dict):
        return {key: _as_text(item) for key, item in value.items()}
    if isinstance(value, list):
        return [_as_text(item) for item in value]
    return str(value).lower() if isinstance(value, bool) else str(value)


def test_an_unknown_release_is_judged_as_the_newest_known_one() -> None:
    found = cluster()
    assert run_rules(replace(found, context=replace(found.context, release="9.9.9"))).findings == ()


@pytest.mark.parametrize("rule", RULES.values(), ids=RULES.keys())
def test_a_rule_is_documented_in_sentences(rule: Any) -> None:
    for text in (rule.statement, rule.reason, rule.fix):
        assert text[0].isupper()
        assert text.endswith("."), text
    assert rule.source
