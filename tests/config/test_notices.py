"""Every notice: what calls for it is told at its place, what nearly does is not, and the environment loads anyway."""

from pathlib import Path

import pytest

from slipway.config import load_with_notices
from slipway.config.rules import NOTICES, RULES
from tests.config.files import MINIMAL, changed, write
from tests.config.notice_cases import NOTICE_CASES
from tests.config.notice_cases_inference import INFERENCE_NOTICES
from tests.config.rule_cases import Case
from tests.config.rule_cases_kubernetes import KUBERNETES_NOTICES
from tests.config.rule_cases_operations import OPERATIONS_NOTICES

ENVIRONMENTS = Path(__file__).parents[2] / "environments"
TGI = "engine-maintained"
# test_kubernetes_notices.py lets the facts grow older.
CALLED_FOR_BY_OTHER_FACTS = {"kubernetes-version-supported"}
ALL_NOTICES = [*NOTICE_CASES, *INFERENCE_NOTICES, *KUBERNETES_NOTICES, *OPERATIONS_NOTICES]
EACH_CASE = pytest.mark.parametrize(
    "case", ALL_NOTICES, ids=[f"{case.rule}-{number}" for number, case in enumerate(ALL_NOTICES)]
)


@EACH_CASE
def test_notice_is_given_at_its_place(case: Case, tmp_path: Path) -> None:
    _, notices = load_with_notices(write(tmp_path, changed(MINIMAL, case.breaking)))
    assert {notice.rule for notice in notices} == {case.rule}
    [given] = notices
    assert given.path == case.path
    assert given.line is not None
    assert case.message in str(given)


@EACH_CASE
def test_near_change_is_not_noticed(case: Case, tmp_path: Path) -> None:
    _, notices = load_with_notices(write(tmp_path, changed(MINIMAL, case.allowed)))
    assert notices == []


def test_every_notice_has_a_case() -> None:
    assert {case.rule for case in ALL_NOTICES} == set(NOTICES) - CALLED_FOR_BY_OTHER_FACTS


def test_notices_and_rules_have_names_of_their_own() -> None:
    assert set(NOTICES).isdisjoint(RULES)


def test_every_notice_is_stated_in_a_sentence() -> None:
    for notice in NOTICES.values():
        assert notice.statement.endswith("."), notice.name


@pytest.mark.parametrize(("name", "rules"), [("default", [TGI]), ("small", [TGI]), ("team", [])])
def test_environments_to_start_from_call_for_no_notice_but_that_of_the_engine(name: str, rules: list[str]) -> None:
    assert [notice.rule for notice in load_with_notices(ENVIRONMENTS / f"{name}.yaml")[1]] == rules


def test_thirty_thousand_chips_need_more_interfaces_than_an_account_has() -> None:
    [notice] = load_with_notices(ENVIRONMENTS / "ultracluster.yaml")[1]
    assert "1875 trn1.32xlarge x 9" in notice.message
    assert "--service-code vpc --quota-code L-DF5E4CA3 --desired-value 16895" in notice.fix
