"""Every cross-field rule: what breaks it is found at its place, what nearly does is allowed."""

from pathlib import Path

import pytest

from slipway.config.rules import RULES
from tests.config.files import MINIMAL, changed, load, problems_of, write
from tests.config.rule_cases import NETWORK, REGION, STORAGE, TAGS, Case
from tests.config.rule_cases_access import ACCESS
from tests.config.rule_cases_endpoint import AUTHENTICATION, ENDPOINT_CASES
from tests.config.rule_cases_existing import EXISTING
from tests.config.rule_cases_inference import INFERENCE, ROUTES
from tests.config.rule_cases_kubernetes import KUBERNETES, NODE_GROUPS
from tests.config.rule_cases_network import EXISTING_NETWORK, ISOLATED_NETWORK
from tests.config.rule_cases_operations import OPERATIONS
from tests.config.rule_cases_proxy import PROXY
from tests.config.rule_cases_scaling import SCALING
from tests.config.rule_cases_stacks import TRAINING_STACKS
from tests.config.rule_cases_training import CAPACITY, CLUSTER, NODES

CLUSTER_CASES = [*CLUSTER, *TRAINING_STACKS, *NODES, *CAPACITY, *ACCESS]
INFERENCE_CASES = [*INFERENCE, *ROUTES, *SCALING, *ENDPOINT_CASES, *AUTHENTICATION]
KUBERNETES_CASES = [*KUBERNETES, *NODE_GROUPS]
# test_neuron_drivers.py has other drivers in the facts.
BROKEN_BY_OTHER_FACTS = {"driver-fits-runtime", "node-driver-fits-training-stack"}
CASES = [
    *REGION,
    *NETWORK,
    *EXISTING_NETWORK,
    *ISOLATED_NETWORK,
    *PROXY,
    *STORAGE,
    *EXISTING,
    *CLUSTER_CASES,
    *KUBERNETES_CASES,
    *INFERENCE_CASES,
    *TAGS,
    *OPERATIONS,
]
EACH_CASE = pytest.mark.parametrize("case", CASES, ids=[f"{case.rule}-{number}" for number, case in enumerate(CASES)])


@EACH_CASE
def test_breaking_change_is_found(case: Case, tmp_path: Path) -> None:
    problems = problems_of(write(tmp_path, changed(MINIMAL, case.breaking)))
    assert {problem.rule for problem in problems} == {case.rule, *case.also}
    [found] = [problem for problem in problems if problem.rule == case.rule]
    assert found.path == case.path
    assert case.message in str(found)


@EACH_CASE
def test_near_change_is_allowed(case: Case, tmp_path: Path) -> None:
    load(tmp_path, changed(MINIMAL, case.allowed))


def test_every_rule_has_a_case() -> None:
    assert {case.rule for case in CASES} == set(RULES) - BROKEN_BY_OTHER_FACTS


def test_every_rule_is_stated_in_a_sentence() -> None:
    for rule in RULES.values():
        assert rule.statement.endswith("."), rule.name


def test_fact_rules_name_the_date_of_the_fact(tmp_path: Path) -> None:
    [problem] = problems_of(
        write(tmp_path, changed(MINIMAL, {"training.queues.0.compute_resources.0.instance_type": "trn2.48xlarge"}))
    )
    assert "(facts of 20" in problem.message
