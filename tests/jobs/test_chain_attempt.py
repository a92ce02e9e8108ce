"""What follows an attempt of the train job."""

from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from slipway_jobs.chain.attempt import Asked, Decision, begin, decide, end
from slipway_jobs.chain.record import read_attempts
from slipway_jobs.run import TrainingRun
from tests.jobs.chain_case import environment_below, run_of


@pytest.fixture
def run(tmp_path: Path) -> TrainingRun:
    run = run_of(environment_below(tmp_path), "tiny-llama", "restarts.limit=1")
    (Path(run.directory) / "stages").mkdir(parents=True)
    return run


def checkpoint(run: TrainingRun, step: int) -> None:
    folder = Path(run.checkpoint_directory) / f"step_{step:08d}"
    folder.mkdir(parents=True)
    (folder / "done").touch()


@pytest.mark.parametrize(
    ("status", "asked", "stalled", "again", "expected"),
    [
        (0, "stop", False, False, Decision("stopped", counted=False, action="requeue")),
        # It was too slow to end well, but there is something to go on from.
        (143, "stop", False, False, Decision("stopped", counted=False, action="requeue")),
        (0, "stop", True, False, Decision("stopped", counted=False, action="requeue")),
        # Twice without a step: it would go round forever.
        (0, "stop", True, True, Decision("failed", counted=True, action="retry")),
        # A signal that this script did not see.
        (0, "none", False, False, Decision("stopped", counted=False, action="requeue")),
        (0, "none", True, False, Decision("failed", counted=True, action="retry")),
        (1, "none", False, False, Decision("failed", counted=True, action="retry")),
        (143, "cancel", False, False, Decision("cancelled", counted=False, action="give-up")),
    ],
)
def test_only_an_end_without_reason_counts_as_a_failure(
    *, status: int, asked: Asked, stalled: bool, again: bool, expected: Decision
) -> None:
    decision = decide(finished=False, status=status, asked=asked, stalled=stalled, again=again, failures=0, limit=3)

    assert decision == expected


@given(
    status=st.integers(0, 255),
    asked=st.sampled_from(["none", "stop", "cancel"]),
    stalled=st.booleans(),
    again=st.booleans(),
    failures=st.integers(0, 5),
    limit=st.integers(0, 5),
)
def test_a_finished_stage_is_never_done_again_and_a_counted_failure_never_exceeds_the_limit(
    *, status: int, asked: Asked, stalled: bool, again: bool, failures: int, limit: int
) -> None:
    def decision(*, finished: bool) -> Decision:
        return decide(
            finished=finished,
            status=status,
            asked=asked,
            stalled=stalled,
            again=again,
            failures=failures,
            limit=limit,
        )

    assert decision(finished=True) == Decision("finished", counted=False, action="finish")
    going_on = decision(finished=False)
    assert going_on.action != "finish"
    assert not (going_on.counted and going_on.action in ("requeue", "retry") and failures >= limit)


def test_a_job_gives_up_after_its_limit(run: TrainingRun) -> None:
    for restart, expected in enumerate(["retry", "give-up"]):
        assert begin(run, "train", "7", restart, nodes=2)
        assert end(run, "train", "7", 1, "none") == expected

    attempts = read_attempts(run, "train")
    assert [(one.restart, one.status, one.outcome, one.counted) for one in attempts] == [
        (0, 1, "failed", True),
        (1, 1, "failed", True),
    ]
    # Slurm starts it once more for a reason of its own: too late.
    assert not begin(run, "train", "7", 2, nodes=2)
    # Submitted again it is another job, with all its chances.
    assert begin(run, "train", "8", 0, nodes=2)


def test_an_attempt_without_an_end_was_lost_with_its_node(run: TrainingRun) -> None:
    assert begin(run, "train", "7", 0, nodes=2)
    checkpoint(run, 5)

    assert begin(run, "train", "7", 1, nodes=2)

    lost, running = read_attempts(run, "train")
    assert (lost.outcome, lost.counted, lost.ended) == ("lost", False, running.started)
    assert (running.outcome, running.first_step) == (None, 5)


def test_nodes_that_are_lost_again_and_again_without_a_checkpoint_count(run: TrainingRun) -> None:
    started = [begin(run, "train", "7", restart, nodes=2) for restart in range(5)]

    assert started == [True, True, True, False, False]
    assert [one.counted for one in read_attempts(run, "train")] == [False, True, True]


def test_a_stage_on_one_node_is_not_repeated(run: TrainingRun) -> None:
    assert begin(run, "convert", "9", 0, nodes=1)

    assert end(run, "convert", "9", 2, "none") == "give-up"
    assert read_attempts(run, "convert")[0].outcome == "failed"


def test_an_end_without_a_beginning_is_no_reason_to_go_on(run: TrainingRun) -> None:
    assert end(run, "train", "7", 0, "none") == "give-up"
