"""A run's chain of jobs on a real Slurm: what happens between submission, failures, signals and the next submission.

The training itself is a stand-in (tests/slurm/stand_in_kit.py). Slurm and the scripts are real, and torchrun where it
has a part in it.
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterator
from pathlib import Path

import pytest

from slipway_jobs.chain.record import read_chain
from slipway_jobs.run import TrainingRun
from tests.slurm.local_slurm import LocalSlurm
from tests.slurm.stand_in_kit import write_stand_in_kit
from tests.slurm.training_jobs import RECIPES, TrainingJobs, stages_in_order

pytestmark = pytest.mark.slurm

RECIPE = RECIPES / "tiny-llama.yaml"
NODES = tuple(f"cpu-dy-c7i-{number}" for number in range(1, 4))

# What the real one prints at its end; the messages before are its workers'. Source: aws-neuron-sdk, frameworks/torch/
# torch-neuronx/api-reference-guide/training/pytorch-neuron-parallel-compile.rst, lines 80-82, 142 and 191 (2026-08-21).
PARALLEL_COMPILE = """#!/bin/bash
set -euo pipefail
[[ "$1" != --command ]] || { echo "locks cleared"; exit; }
NEURON_EXTRACT_GRAPHS_ONLY=1 "$@"
failed=0
if [[ -e ~/compiler-fails && ! "${NEURON_CC_FLAGS:-}" == *--retry_failed_compilation* ]]; then failed=1; fi
mkdir -p "$NEURON_COMPILE_CACHE_URL/neuronxcc-2.23.6484.0+abc/MODULE_1"
touch "$NEURON_COMPILE_CACHE_URL/neuronxcc-2.23.6484.0+abc/MODULE_1/model.done"
for line in "graphs: 2" "successful compilations: $((2 - failed))" "failed compilations: $failed"; do
  echo "2026-01-17 01:16:07.000981:  32201  INFO ||NEURON_PARALLEL_COMPILE||: Total $line"
done
"""


@pytest.fixture
def jobs(short_path: Path) -> Iterator[TrainingJobs]:
    with LocalSlurm(short_path / "c", nodes=NODES) as cluster:
        kit = write_stand_in_kit(short_path / "kit", torchrun=False)
        yield TrainingJobs(cluster, short_path / "u", kit=kit)


@pytest.fixture
def jobs_with_torchrun(short_path: Path) -> Iterator[TrainingJobs]:
    with LocalSlurm(short_path / "c", nodes=NODES) as cluster:
        yield TrainingJobs(cluster, short_path / "u", kit=write_stand_in_kit(short_path / "kit", torchrun=True))


def say(jobs: TrainingJobs, *what: str) -> None:
    """Tell the stand-ins what goes wrong."""
    for name in what:
        (jobs.home / name).touch()


def wait_until_workers_hold(jobs: TrainingJobs) -> None:
    """Wait until each worker waits at the step of a `hold` file: a signal that comes sooner stops an earlier step."""
    jobs.cluster.wait("all workers to hold", lambda: len(list(jobs.home.glob("holding-*"))) == 4)


def outcomes(jobs: TrainingJobs, run: TrainingRun) -> list[tuple[str | None, bool]]:
    return [(attempt.outcome, attempt.counted) for attempt in jobs.attempts(run, "train")]


def test_a_chain_runs_through_although_a_compilation_and_a_worker_fail(jobs_with_torchrun: TrainingJobs) -> None:
    jobs = jobs_with_torchrun
    stub = jobs.stubs / "neuron_parallel_compile"
    stub.write_text(PARALLEL_COMPILE, encoding="utf-8")
    stub.chmod(0o755)
    say(jobs, "compiler-fails", "die-1-12")

    run = jobs.submit(RECIPE, compile__ahead_of_time="true")

    assert jobs.wait_for(run, "publish") == "COMPLETED", jobs.log(run, "train")
    compiled = jobs.log(run, "compile")
    assert re.search(f"FAILED: failed compilations on ({'|'.join(NODES[:2])}): 1 ", compiled)
    assert "try 2 of 3" in compiled
    assert "locks cleared" in compiled
    assert f"/fsx/runs/.user-{os.getuid()}/compile-cache/" in compiled
    assert outcomes(jobs, run) == [("failed", True), ("finished", False)]
    assert re.search(r"worker 3 goes on after step 1[0-2]", jobs.log(run, "train"))
    assert stages_in_order(jobs.cluster, list(read_chain(run.chain_file).jobs.values()))
    again = jobs.command("submit", RECIPE, "--set", "compile.ahead_of_time=true")
    assert "is finished: there is nothing to submit" in again.stdout


def test_too_many_failures_cancel_the_chain(jobs: TrainingJobs) -> None:
    say(jobs, "die-always")

    run = jobs.submit(RECIPE, restarts__limit=1)

    assert jobs.wait_for(run, "train") == "FAILED"
    # Its own status, or that of a worker which Slurm ended with it.
    assert jobs.cluster.job(jobs.job(run, "train"))["ExitCode"] in ("1:0", "143:0")
    assert outcomes(jobs, run) == [("failed", True), ("failed", True)]
    for stage in ("convert", "publish"):
        assert jobs.wait_for(run, stage) == "CANCELLED"
        assert jobs.log(run, stage) == ""


def test_a_job_that_is_told_to_stop_saves_and_is_queued_again(jobs_with_torchrun: TrainingJobs) -> None:
    jobs = jobs_with_torchrun
    say(jobs, "hold-7")
    run = jobs.submit(RECIPE, restarts__limit=0)
    wait_until_workers_hold(jobs)

    # As Slurm does it shortly before the time limit.
    jobs.cluster.run("scancel", "--batch", "--signal=USR1", jobs.job(run, "train"))

    jobs.wait_for_step(run, 7)
    (jobs.home / "hold-7").unlink()
    assert jobs.wait_for(run, "publish") == "COMPLETED", jobs.log(run, "train")
    assert outcomes(jobs, run) == [("stopped", False), ("finished", False)]
    log = jobs.log(run, "train")
    # Each worker on each node was told, and torchrun outlived the signal.
    # Not whole lines: unbuffered, Python writes a line's end on its own, and another worker's line may come between.
    assert set(re.findall(r"worker (\d) stopped after step 7", log)) == {"0", "1", "2", "3"}
    assert "goes on after step 7" in log


def test_a_requeued_job_has_time_to_save(short_path: Path) -> None:
    with LocalSlurm(short_path / "c", nodes=NODES, settings={"KillWait": "600"}) as cluster:
        jobs = TrainingJobs(cluster, short_path / "u", kit=write_stand_in_kit(short_path / "kit", torchrun=False))
        say(jobs, "hold-7", "slow-save")
        run = jobs.submit(RECIPE, restarts__limit=0)
        wait_until_workers_hold(jobs)

        cluster.run("scontrol", "requeue", jobs.job(run, "train"))

        jobs.wait_for_step(run, 7)
        (jobs.home / "hold-7").unlink()
        assert jobs.wait_for(run, "publish") == "COMPLETED", jobs.log(run, "train")
        assert "goes on after step 7" in jobs.log(run, "train")


def test_a_job_whose_node_is_lost_is_queued_again_by_slurm(jobs: TrainingJobs) -> None:
    say(jobs, "hold-7")
    run = jobs.submit(RECIPE, restarts__limit=0)
    wait_until_workers_hold(jobs)

    node = jobs.cluster.job(jobs.job(run, "train"))["BatchHost"]
    jobs.cluster.run("scontrol", "update", f"NodeName={node}", "State=DOWN", "Reason=lost")

    (jobs.home / "hold-7").unlink()
    assert jobs.wait_for(run, "publish") == "COMPLETED", jobs.log(run, "train")
    assert outcomes(jobs, run) in ([("lost", False), ("finished", False)], [("cancelled", False), ("finished", False)])


def test_a_cancelled_run_goes_on_where_it_stopped_when_it_is_submitted_again(jobs: TrainingJobs) -> None:
    say(jobs, "hold-7")
    run = jobs.submit(RECIPE)
    wait_until_workers_hold(jobs)
    refused = jobs.command("submit", RECIPE, check=False)
    assert refused.returncode == 1
    assert f"tiny-llama-train: job {jobs.job(run, 'train')} of " in refused.stderr
    assert "slipway-job cancel tiny-llama" in refused.stderr

    jobs.command("cancel", run.name)

    assert jobs.wait_for(run, "train") == "CANCELLED"
    assert jobs.wait_for(run, "publish") == "CANCELLED"
    (jobs.home / "hold-7").unlink()
    jobs.submit(RECIPE, checkpoint__keep=1)
    submission = read_chain(run.chain_file).submissions[-1]
    assert submission.done_before == ("prepare", "compile")
    assert list(submission.jobs) == ["train", "convert", "publish"]
    assert jobs.wait_for(run, "publish") == "COMPLETED", jobs.log(run, "train")
    assert re.search(r"worker 3 goes on after step [57]", jobs.log(run, "train"))


def test_a_job_never_starts_without_what_the_stage_before_has_made(jobs: TrainingJobs) -> None:
    run = jobs.submit(RECIPE)
    jobs.command("cancel", run.name)
    assert jobs.wait_for(run, "publish") == "CANCELLED"
    for stage in run.stages:
        run.done_file(stage).unlink(missing_ok=True)

    # By hand, without the chain.
    job = jobs.cluster.submit(run.script("convert"), PATH=jobs.cluster.environment["PATH"])

    assert jobs.cluster.wait_for_end(job)["JobState"] == "FAILED"
    assert f"there is no {run.done_file('train')}" in jobs.log(run, "convert")
