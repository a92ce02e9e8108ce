"""The made-up account holds the reservations that the environment files name."""

import json
from pathlib import Path

import pytest

from slipway.capacity_reservations import capacity_reservations
from slipway.judge import parallelcluster_process
from slipway.judge.assembly import PROJECT
from slipway.judge.parallelcluster_process import JudgeFailedError
from slipway.judge.proceedings import ask_parallelcluster
from slipway.spec import load_environment


def test_every_reservation_of_an_environment_file_has_a_row() -> None:
    named = {
        queue.capacity_reservation_id
        for file in (PROJECT / "environments").glob("*.yaml")
        for queue in load_environment(file).training.queues
        if queue.capacity_reservation_id
    }
    assert named
    assert named <= {reservation.id for reservation in capacity_reservations()}


def test_the_other_side_is_told_every_row(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(parallelcluster_process, "PARALLELCLUSTER_PYTHON", tmp_path / "nothing")
    with pytest.raises(JudgeFailedError):
        ask_parallelcluster({"stacks": [], "uploads": {}}, tmp_path)
    told = json.loads((tmp_path / "request.json").read_text(encoding="utf-8"))["capacity_reservations"]
    assert told == [reservation.model_dump() for reservation in capacity_reservations()]
    assert {"id", "type", "instance_type", "availability_zone_id", "instances", "resource_group"} == set(told[0])
