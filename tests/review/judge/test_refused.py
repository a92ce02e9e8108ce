"""What the facts do not allow is refused by the environment file's rules first, and by the judge where it can see it.

Every case is a queue. ParallelCluster judges all of them in one cluster, since its validators speak all at once. A case
without a finding is a blind spot: only Slipway's own rules know it.
"""

import copy
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from slipway.review.judge.assembly import read_assembly
from slipway.review.judge.inside_parallelcluster.answer import Finding, Level
from slipway_emulator.capacity_reservations import CapacityReservation
from tests.assembly import synthesize
from tests.config.files import changed, load, problems_of, write
from tests.review.judge.quick_judge import ask_parallelcluster
from tests.review.judge.update_cases import BASE, configuration_in

pytestmark = pytest.mark.judge

_QUEUE = "training.queues.0"
_RESOURCE = f"{_QUEUE}.compute_resources.0"
_RESERVATION = "cr-0123456789abcdef0"
_BLOCK = "cr-0123456789abcdef1"
_GROUP = "arn:aws:resource-groups:us-west-2:111122223333:group/trn1"


@dataclass(frozen=True)
class Refused:
    """A combination that the facts do not allow."""

    name: str
    """Name of the queue in the judged cluster."""

    written: Mapping[str, Any]
    """How a user would write it."""

    problem: str
    """What the rules say, with field and fix."""

    queue: Mapping[str, Any]
    """The same for ParallelCluster: keys of the queue, of its compute resource below `Nodes`, its nodes' stack."""

    found: tuple[str, str] | None
    """Validator and a part of its message; none for a blind spot."""


CASES = [
    Refused(
        "efa-on-small",
        {f"{_RESOURCE}.instance_type": "trn1.2xlarge", f"{_RESOURCE}.efa": True},
        "compute_resources[0].efa: trn1.2xlarge has no EFA",
        {"Nodes": {"InstanceType": "trn1.2xlarge", "Efa": {"Enabled": "true"}}},
        ("EfaValidator", "trn1.2xlarge"),
    ),
    Refused(
        "block-that-scales",
        {
            f"{_QUEUE}.capacity_type": "capacity_block",
            f"{_QUEUE}.capacity_reservation_id": _BLOCK,
            f"{_RESOURCE}.min_count": 0,
        },
        "compute_resources[0].min_count: a capacity_block queue needs min_count = max_count",
        {
            "CapacityType": "CAPACITY_BLOCK",
            "CapacityReservationTarget": {"CapacityReservationId": _BLOCK},
            "Nodes": {"MinCount": 0, "MaxCount": 2},
        },
        ("ComputeResourceSizeValidator", "Min count must be"),
    ),
    Refused(
        "block-of-trn1n",
        {
            f"{_RESOURCE}.instance_type": "trn1n.32xlarge",
            f"{_RESOURCE}.min_count": 4,
            f"{_QUEUE}.capacity_type": "capacity_block",
            f"{_QUEUE}.capacity_reservation_id": _BLOCK,
        },
        "compute_resources[0].instance_type: trn1n.32xlarge is not sold as capacity_block",
        {
            "CapacityType": "CAPACITY_BLOCK",
            "CapacityReservationTarget": {"CapacityReservationId": _BLOCK},
            "Nodes": {"InstanceType": "trn1n.32xlarge", "MinCount": 1, "MaxCount": 1},
        },
        ("CapacityTypeValidator", "'trn1n.32xlarge'"),
    ),
    Refused(
        "block-without-id",
        {f"{_QUEUE}.capacity_type": "capacity_block", f"{_RESOURCE}.min_count": 4},
        "capacity_type: capacity_block needs the id of the block",
        {"CapacityType": "CAPACITY_BLOCK", "Nodes": {"MinCount": 1, "MaxCount": 1}},
        ("CapacityTypeValidator", "id is required"),
    ),
    Refused(
        "block-in-a-group",
        {
            f"{_QUEUE}.capacity_type": "capacity_block",
            f"{_QUEUE}.capacity_reservation_resource_group_arn": _GROUP,
            f"{_RESOURCE}.min_count": 4,
        },
        "capacity_block needs the id of the block",
        {
            "CapacityType": "CAPACITY_BLOCK",
            "CapacityReservationTarget": {"CapacityReservationResourceGroupArn": _GROUP},
            "Nodes": {"MinCount": 1, "MaxCount": 1},
        },
        ("CapacityTypeValidator", "id is required"),
    ),
    Refused(
        "spot-reserved",
        {f"{_QUEUE}.capacity_type": "spot", f"{_QUEUE}.capacity_reservation_id": _RESERVATION},
        "capacity_reservation_id: Spot capacity cannot come from a reservation",
        {"CapacityType": "SPOT", "CapacityReservationTarget": {"CapacityReservationId": _RESERVATION}},
        None,
    ),
    Refused(
        "more-than-most",
        {f"{_RESOURCE}.min_count": 5},
        "compute_resources[0].min_count: is larger than max_count",
        {"Nodes": {"MinCount": 5, "MaxCount": 4}},
        ("ComputeResourceSizeValidator", "Max count must be greater"),
    ),
    Refused(
        "type-not-in-zone",
        {f"{_RESOURCE}.instance_type": "trn2.48xlarge"},
        "compute_resources[0].instance_type: trn2.48xlarge is not offered in usw2-az4",
        {"Nodes": {"InstanceType": "trn2.48xlarge"}},
        ("types not offered", "queue type-not-in-zone: trn2.48xlarge"),
    ),
    Refused(
        "trn1-with-native",
        {f"{_QUEUE}.training_stack": "native-2.33", "training.operating_system": "ubuntu2404"},
        "native-2.33 does not support trn1.32xlarge",
        {"TrainingStack": "native-2.33"},
        None,
    ),
    Refused(
        "both-reservations",
        {
            f"{_QUEUE}.capacity_reservation_id": _RESERVATION,
            f"{_QUEUE}.capacity_reservation_resource_group_arn": _GROUP,
        },
        "capacity_reservation_resource_group_arn",
        {
            "CapacityReservationTarget": {
                "CapacityReservationId": _RESERVATION,
                "CapacityReservationResourceGroupArn": _GROUP,
            }
        },
        ("ClusterSchema", "either Capacity Reservation ID or Capacity Reservation Resource Group ARN"),
    ),
]

HELD = [
    CapacityReservation(
        id=reservation, type=kind, instance_type="trn1.32xlarge", availability_zone_id="usw2-az4", instances=9
    )
    for reservation, kind in ((_BLOCK, "capacity-block"), (_RESERVATION, "default"))
]


def written(case: Refused) -> Any:
    return changed(BASE, dict(case.written))


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.name)
def test_the_rules_refuse_it_first(case: Refused, tmp_path: Path) -> None:
    problems = [str(problem) for problem in problems_of(write(tmp_path, written(case)))]
    assert any(case.problem in problem for problem in problems), problems


@pytest.fixture(scope="module")
def errors(tmp_path_factory: pytest.TempPathFactory) -> list[Finding]:
    """What ParallelCluster and the judge's own checks say of a cluster with all cases in it."""
    folder = tmp_path_factory.mktemp("refused")
    question = {**read_assembly(synthesize(load(folder, BASE), folder / "assembly").directory), "documents": {}}
    templates = {stack["name"]: stack["template"] for stack in question["stacks"]}
    scheduling = configuration_in(templates)["Scheduling"]
    plain = scheduling["SlurmQueues"][0]

    def found(cases: list[Refused]) -> list[Finding]:
        scheduling["SlurmQueues"] = [_queue(plain, case) for case in cases]
        return ask_parallelcluster(question, folder, HELD).outcome.findings

    # The schema speaks before the validators, and alone.
    by_schema = [case for case in CASES if case.found and case.found[0] == "ClusterSchema"]
    findings = found(by_schema) + found([case for case in CASES if case not in by_schema])
    return [finding for finding in findings if finding.level is Level.ERROR]


def _queue(plain: Mapping[str, Any], case: Refused) -> dict[str, Any]:
    keys = dict(case.queue)
    nodes, stack = keys.pop("Nodes", {}), keys.pop("TrainingStack", None)
    queue = {**copy.deepcopy(dict(plain)), "Name": case.name, **keys}
    queue["ComputeResources"][0] |= {"Name": f"{case.name}-nodes"[-25:].strip("-"), **nodes}
    if stack:
        queue["CustomActions"]["OnNodeConfigured"]["Args"][3] = stack
    return queue


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.name)
def test_the_judge_refuses_it_too_where_it_can_see_it(case: Refused, errors: list[Finding]) -> None:
    if case.found is None:
        assert not any(case.name in error.message for error in errors)
    else:
        source, message = case.found
        assert any(error.source == source and message in error.message for error in errors), errors
