from pathlib import Path

import pytest

from slipway.remove.teardown import compute_fleet
from slipway.remove.teardown.compute_fleet import ComputeFleet, NoAnswerError
from tests.remove.teardown.fakes import CLUSTER, REGION, fake_pcluster, pcluster_calls

DESCRIBE = f"describe-compute-fleet --cluster-name {CLUSTER} --region {REGION}"
STOP = f"update-compute-fleet --cluster-name {CLUSTER} --region {REGION} --status STOP_REQUESTED"


def fleet(folder: Path, *answers: dict[str, str]) -> ComputeFleet:
    return ComputeFleet(fake_pcluster(folder, answers), CLUSTER, REGION)


def status(name: str) -> dict[str, str]:
    return {"status": name}


def test_a_running_fleet_is_asked_to_stop_and_waited_for(tmp_path: Path) -> None:
    said: list[str] = []
    steps = ("RUNNING", "STOP_REQUESTED", "STOP_REQUESTED", "STOPPING", "STOPPED")

    assert fleet(tmp_path, *map(status, steps)).stop(said.append) == "STOPPED"
    assert pcluster_calls(tmp_path) == [DESCRIBE, STOP, DESCRIBE, DESCRIBE, DESCRIBE]
    assert said == [f"{CLUSTER}: compute fleet {name}" for name in ("STOP_REQUESTED", "STOPPING")]


def test_a_fleet_in_protected_mode_is_stopped_too(tmp_path: Path) -> None:
    answers = map(status, ("PROTECTED", "STOP_REQUESTED", "STOPPED"))

    assert fleet(tmp_path, *answers).stop(lambda _: None) == "STOPPED"


@pytest.mark.parametrize("name", ["STOPPED", "UNKNOWN"])
def test_a_stopped_fleet_and_one_that_never_came_up_are_asked_nothing(tmp_path: Path, name: str) -> None:
    assert fleet(tmp_path, status(name)).stop(lambda _: None) == name
    assert pcluster_calls(tmp_path) == [DESCRIBE]


def test_a_head_node_that_does_not_answer_is_not_waited_for_for_ever(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(compute_fleet, "STOP_SECONDS", 0)

    assert fleet(tmp_path, *map(status, ("RUNNING", "STOP_REQUESTED"))).stop(lambda _: None) == "STOP_REQUESTED"


def test_the_words_of_parallelcluster_are_kept_when_it_refuses(tmp_path: Path) -> None:
    refusal = "Cannot stop/disable compute fleet while stack is in DELETE_FAILED status."

    with pytest.raises(NoAnswerError, match=refusal):
        fleet(tmp_path, status("RUNNING"), {"message": refusal}).stop(lambda _: None)


def test_an_answer_that_is_no_json_is_the_reason(tmp_path: Path) -> None:
    program = tmp_path / "pcluster"
    program.write_text("#!/bin/sh\necho Traceback >&2\necho 'no module named pcluster' >&2\nexit 1\n", encoding="utf-8")
    program.chmod(0o755)

    with pytest.raises(NoAnswerError, match="no module named pcluster"):
        ComputeFleet(program, CLUSTER, REGION).stop(lambda _: None)
