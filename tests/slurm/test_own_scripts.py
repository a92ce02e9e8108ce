"""`slipway-job run` on a real Slurm with the real torchrun: a script that knows two conventions, and else nothing."""

from __future__ import annotations

import json
import shutil
from collections.abc import Iterator
from pathlib import Path

import pytest

from slipway_jobs.run import ScriptRun, read_run
from tests.slurm.local_slurm import LocalSlurm
from tests.slurm.training_jobs import TrainingJobs

pytestmark = pytest.mark.slurm

STEPS = 60


@pytest.fixture
def jobs(short_path: Path) -> Iterator[TrainingJobs]:
    with LocalSlurm(short_path / "c", nodes=("cpu-dy-c7i-1", "cpu-dy-c7i-2")) as cluster:
        yield TrainingJobs(cluster, short_path / "u")


def submit(jobs: TrainingJobs) -> str:
    """Submit the script in the user's home."""
    script = shutil.copy(Path(__file__).with_name("counting.py"), jobs.home)
    options = ("--queue", "cpu", "--nodes", "2", "--workers-per-node", "2", "--restarts", "2", "--env", "FLAVOUR=a b")
    return jobs.command("run", *options, script, "--", "--steps", str(STEPS)).stdout


def submitted(jobs: TrainingJobs) -> ScriptRun:
    submit(jobs)
    run = read_run(jobs.directory / "fsx" / "runs" / "counting" / "run.json")
    assert isinstance(run, ScriptRun)
    return run


def wait_for_step(jobs: TrainingJobs, run: ScriptRun, step: int) -> None:
    jobs.cluster.wait(f"step {step}", lambda: saved(run) >= step)


def saved(run: ScriptRun) -> int:
    state = Path(run.checkpoint_directory) / "state.json"
    step: int = json.loads(state.read_text())["step"] if state.exists() else 0
    return step


def test_a_killed_worker_and_a_stop_end_nothing(jobs: TrainingJobs) -> None:
    run = submitted(jobs)
    wait_for_step(jobs, run, 5)
    jobs.kill_worker(run, 3)
    jobs.wait_for_start(run, "train", 2)
    jobs.cluster.wait("its workers", lambda: len(jobs.workers(run)) == 4)
    wait_for_step(jobs, run, saved(run) + 3)
    jobs.cluster.run("scancel", "--batch", "--signal=USR1", jobs.job(run, "train"))

    assert jobs.wait_for(run, "train") == "COMPLETED", jobs.log(run, "train")

    assert [attempt.outcome for attempt in jobs.attempts(run, "train")] == ["failed", "stopped", "finished"]
    assert saved(run) == STEPS
    log = jobs.log(run, "train")
    assert f"rank 3 of 4 begins after step 0 in {Path.cwd()} with a b" in log
    assert log.count("begins after step 0 ") == 4, "each later start went on"
    assert run.done_file("train").exists()
    status = json.loads(jobs.command("status", "counting", "--json").stdout)
    assert (status["state"], [stage["stage"] for stage in status["stages"]]) == ("done", ["train"])
    assert "there is nothing to submit" in submit(jobs)
