"""The made-up account holds the reservations that the environment files name."""

import json
from pathlib import Path

import pytest

from slipway.config import Environment, load_environment
from slipway.project import PROJECT
from slipway.review.judge import parallelcluster_process
from slipway.review.judge.assembly import read_assembly
from slipway.review.judge.parallelcluster_process import JudgeFailedError
from slipway.review.judge.proceedings import ask_parallelcluster
from slipway_emulator.capacity_reservations import capacity_reservations
from tests.assembly import Assembly


def named_by(environment: Environment) -> set[str]:
    """The reservations that queues and node groups name."""
    queues = environment.training.queues if environment.training else ()
    node_groups = environment.kubernetes.node_groups if environment.kubernetes else ()
    ids = [queue.capacity_reservation_id for queue in queues]
    ids += [group.capacity_reservation_id for group in node_groups]
    return {name for name in ids if name}


def test_every_reservation_of_an_environment_file_has_a_row() -> None:
    files = (PROJECT / "environments").glob("*.yaml")
    named = set[str]().union(*(named_by(load_environment(file)) for file in files))
    assert named
    assert named <= {reservation.id for reservation in capacity_reservations()}


def test_the_other_side_is_told_every_row(default: Assembly, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(parallelcluster_process, "PARALLELCLUSTER_PYTHON", tmp_path / "nothing")
    with pytest.raises(JudgeFailedError):
        ask_parallelcluster(read_assembly(default.directory), tmp_path)
    told = json.loads((tmp_path / "request.json").read_text(encoding="utf-8"))["capacity_reservations"]
    assert told == [reservation.model_dump() for reservation in capacity_reservations()]
    assert {
        "id",
        "type",
        "instance_type",
        "availability_zone_id",
        "instances",
        "resource_group",
        "placement_group",
    } == set(told[0])
