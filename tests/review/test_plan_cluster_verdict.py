"""What a plan says of the cluster's update; ParallelCluster's side is replaced, and started only when it must be."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from slipway.assembly.stacks import Stack, read_stacks
from slipway.review import cluster_verdict
from slipway.review.cluster_verdict import cluster_update
from slipway.review.judge import parallelcluster_process
from slipway.review.judge.inside_parallelcluster.update_answer import Change, Stop, Update
from tests.review.cluster_environment import Environment

Stacks = tuple[Stack, ...]


@pytest.fixture
def stacks(tmp_path: Path) -> Callable[[Environment], Stacks]:
    """Write an environment and read it."""
    numbers = iter(range(9))
    return lambda environment: read_stacks(environment.write(tmp_path / str(next(numbers))))


@pytest.fixture
def answers(monkeypatch: pytest.MonkeyPatch) -> list[Update]:
    """What ParallelCluster answers, one after the other; it is not asked when there is nothing."""
    answers: list[Update] = []
    monkeypatch.setattr(cluster_verdict, "ask_about_updates", lambda *_: [answers.pop()])
    return answers


def change(**values: Any) -> Change:
    defaults: dict[str, Any] = {"path": "X", "old": 1, "new": 2, "policy": "SUPPORTED", "allowed": True, "stop": ()}
    others = {"by_strategy": False, "passes_provider": False, "reason": "because", "action": "Do it."}
    return Change(**defaults | others | values)


def changed() -> Environment:
    environment = Environment()
    environment.configuration["Tags"] = [{"Key": "a", "Value": "b"}]
    return environment


@pytest.mark.parametrize(
    ("values", "verdict"),
    [
        ({}, "can_update"),
        ({"stop": (Stop.COMPUTE_FLEET,)}, "nodes_must_stop"),
        ({"allowed": False}, "cannot_update"),
    ],
)
def test_parallelcluster_decides(
    values: dict[str, Any],
    verdict: str,
    stacks: Callable[[Environment], Stacks],
    answers: list[Update],
    tmp_path: Path,
) -> None:
    answers.append(Update((change(**values),)))

    update = cluster_update(stacks(Environment()), stacks(changed()), tmp_path / "cluster")

    assert update
    assert update.verdict == verdict
    assert "X: because. Do it." in update.lines
    assert answers == []


def test_it_is_not_asked_about_what_does_not_change(
    stacks: Callable[[Environment], Stacks], answers: list[Update], tmp_path: Path
) -> None:
    update = cluster_update(stacks(Environment()), stacks(Environment()), tmp_path / "cluster")

    assert update
    assert update.verdict == "no_change"
    assert not (tmp_path / "cluster").exists()


def test_other_node_scripts_are_said_although_nothing_is_updated(
    stacks: Callable[[Environment], Stacks], answers: list[Update], tmp_path: Path
) -> None:
    other = Environment()
    other.asset = "second.zip"

    update = cluster_update(stacks(Environment()), stacks(other), tmp_path / "cluster")

    assert update
    assert update.verdict == "no_change"
    assert any(line.startswith("The node scripts change") for line in update.lines)


def test_what_parallelcluster_does_not_see_is_refused(
    stacks: Callable[[Environment], Stacks], answers: list[Update], tmp_path: Path
) -> None:
    other = Environment()
    other.name = "second"

    update = cluster_update(stacks(Environment()), stacks(other), tmp_path / "cluster")

    assert update
    assert update.verdict == "cannot_update"
    assert any("ClusterName trainium -> second" in line for line in update.lines)


def test_without_parallelcluster_the_verdict_is_not_known(
    stacks: Callable[[Environment], Stacks], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(parallelcluster_process, "PARALLELCLUSTER_PYTHON", tmp_path / "no" / "python")

    update = cluster_update(stacks(Environment()), stacks(changed()), tmp_path / "cluster")

    assert update
    assert update.verdict == "not_known"
    assert "`make setup` installs it" in update.lines[0]


def test_there_is_no_verdict_without_two_clusters(
    stacks: Callable[[Environment], Stacks], answers: list[Update], tmp_path: Path
) -> None:
    cluster = stacks(Environment())
    alone = tuple(stack for stack in cluster if "storage" in stack.name)

    assert cluster_update((), cluster, tmp_path) is None
    assert cluster_update(cluster, alone, tmp_path) is None
