"""`slipway-job status` with what a real Slurm answers: the words of squeue and of its errors."""

from __future__ import annotations

import os
import shlex
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from slipway_jobs.chain.slurm_scheduler import SlurmScheduler
from slipway_jobs.run import Stage
from slipway_jobs.watching.report import RunReport
from slipway_jobs.watching.run_report import run_reports
from tests.jobs.test_device_sampler import Node
from tests.jobs.watching.run_folder import Cluster, RunFolder, put_on_neuron
from tests.slurm.local_slurm import LocalSlurm
from tests.slurm.training_jobs import KIT

pytestmark = pytest.mark.slurm


@pytest.fixture
def slurm(short_path: Path) -> Iterator[LocalSlurm]:
    """Return a Slurm with one node, and without accounting."""
    # How long a command waits for a controller that is gone; by default half a minute.
    with LocalSlurm(short_path / "slurm", nodes=("train-dy-trn1-1",), settings={"MessageTimeout": "2"}) as slurm:
        yield slurm


@pytest.fixture
def folder(slurm: LocalSlurm, short_path: Path, monkeypatch: pytest.MonkeyPatch) -> RunFolder:
    """Return a run on the cluster, whose jobs are the test's."""
    folder = Cluster(short_path / "cluster", monkeypatch).submit(publish=False)
    for name, value in slurm.environment.items():
        monkeypatch.setenv(name, value)
    return folder


def look(folder: RunFolder) -> RunReport:
    return run_reports([folder.run], SlurmScheduler())[0]


def shown(folder: RunFolder) -> dict[Stage, tuple[str, str | None]]:
    return {stage.stage: (stage.state, stage.reason) for stage in look(folder).stages}


def test_running_waiting_failed_and_cancelled_jobs(slurm: LocalSlurm, folder: RunFolder) -> None:
    release = slurm.files.directory / "release"
    held = f"timeout 300 sh -c 'until test -e {release}; do sleep 0.1; done'"
    first = slurm.submit("--exclusive", "--wrap", f"{held}; exit 1")
    busy = slurm.submit("--exclusive", "--wrap", "true")
    after = slurm.submit(f"--dependency=afterok:{first}", "--kill-on-invalid-dep=yes", "--wrap", "true")
    folder.submit({"prepare": first, "compile": busy, "train": after, "convert": "99999"})
    slurm.wait("the first job to run", lambda: slurm.job(first)["JobState"] == "RUNNING")
    slurm.wait("the second to be looked at", lambda: slurm.job(busy)["Reason"] in ("Resources", "Priority"))
    folder.attempt("prepare", started=1, job=first)

    before = shown(folder)
    assert before["prepare"] == ("running", None)
    assert before["compile"] in [
        ("pending", "Resources: waits for free nodes"),
        ("pending", "Priority: other jobs are first"),
    ]
    assert before["train"] == ("waiting", "Dependency: waits for the stage before")
    # Slurm knows no such job.
    assert before["convert"] == ("cancelled", None)
    assert look(folder).general_notices == ()

    release.touch()
    slurm.wait_for_end(first)
    slurm.wait_for_end(after)

    ended = look(folder)
    states = {stage.stage: stage.state for stage in ended.stages}
    assert (ended.state, ended.stage) == ("failed", "prepare")
    assert (states["prepare"], states["train"]) == ("failed", "cancelled")


def test_slurm_that_has_stopped_is_told(slurm: LocalSlurm, folder: RunFolder) -> None:
    slurm.stop()

    report = look(folder)

    assert {stage.state for stage in report.stages} == {"unknown"}
    [notice] = report.general_notices
    assert notice.startswith("Slurm does not answer, so this is what the files tell: squeue: ")


def test_the_sampler_of_neuron_devices_ends_with_the_job_and_leaves_its_status(
    slurm: LocalSlurm, short_path: Path
) -> None:
    node = Node(short_path)
    release, script = short_path / "release", short_path / "node.sh"
    script.write_text(node.script(f"until test -e {release}; do sleep 0.1; done; exit 7"), encoding="utf-8")
    job = slurm.submit("--exclusive", "--wrap", f"srun --ntasks-per-node=1 bash {script}")
    slurm.wait("a sample", node.sample.exists)
    assert node.monitor_runs()
    release.touch()
    slurm.wait_for_end(job)
    assert slurm.job(job)["ExitCode"] == "7:0"
    slurm.wait("neuron-monitor to end", lambda: not node.monitor_runs())

    release.unlink()
    job = slurm.submit("--exclusive", "--wrap", f"srun --ntasks-per-node=1 bash {script}")
    node.sample.unlink()
    slurm.wait("another sample", node.sample.exists)
    slurm.run("scancel", job)
    slurm.wait_for_end(job)
    slurm.wait("neuron-monitor to end", lambda: not node.monitor_runs())


def test_neuron_top_runs_beside_the_training_on_the_node_that_is_named(
    slurm: LocalSlurm, folder: RunFolder, short_path: Path
) -> None:
    programs = short_path / "programs"
    programs.mkdir()
    (programs / "neuron-top").write_text('#!/bin/sh\ntest -t 1 && echo "neuron-top in job $SLURM_JOB_ID"\n')
    (programs / "neuron-top").chmod(0o755)
    job = slurm.submit("--exclusive", "--mem=0", "--wrap", "sleep 60")
    slurm.wait("the job to run", lambda: slurm.job(job)["JobState"] == "RUNNING")
    folder.finish("prepare")
    folder.submit({"compile": job, "train": "99998"}, done_before=("prepare",))
    put_on_neuron(folder.run, nodes=1)

    # `script` gives it a terminal.
    command = shlex.join([sys.executable, "-m", "slipway_jobs", "top", folder.run.name])
    finished = subprocess.run(
        ["script", "--quiet", "--return", "--command", command, "/dev/null"],
        env={**os.environ, "PYTHONPATH": str(KIT), "PATH": f"{programs}:{os.environ['PATH']}"},
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )

    slurm.run("scancel", job)
    assert finished.returncode == 0, finished.stdout
    assert f"neuron-top in job {job}" in finished.stdout
