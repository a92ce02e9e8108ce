"""A data set of the Hub, fetched on a real Slurm: the job is killed, goes on, is cancelled. Stood in for: the Hub."""

from __future__ import annotations

import json
import os
import signal
from collections.abc import Iterator
from pathlib import Path

import pytest

from slipway_jobs.run import DataRun, read_run
from tests.jobs.hub_server import HubServer, hub_server
from tests.slurm.local_slurm import LocalSlurm
from tests.slurm.training_jobs import TrainingJobs

pytestmark = pytest.mark.slurm

FIRST, SECOND = "train-00000.jsonl", "train-00001.jsonl"
LINE = json.dumps({"text": "a line of text to train on"}).encode() + b"\n"


@pytest.fixture
def hub() -> Iterator[HubServer]:
    files = {FIRST: LINE * 100, SECOND: LINE * 500_000, "README.md": b"# A data set"}
    with hub_server(HubServer(kind="dataset", name="owner/text", files=files)) as server:
        yield server


@pytest.fixture
def jobs(short_path: Path, hub: HubServer) -> Iterator[TrainingJobs]:
    shared = short_path / "u" / "fsx" / "data"
    with LocalSlurm(short_path / "c", nodes=("cpu-dy-c7i-1",)) as cluster:
        user = TrainingJobs(cluster, short_path / "u", environment={"data_directory": str(shared)})
        user.variables["HF_ENDPOINT"] = hub.url
        shared.mkdir(parents=True)
        shared.chmod(0o1777)
        yield user


def submit(jobs: TrainingJobs) -> DataRun:
    jobs.command("fetch", "hf:owner/text", "--to", jobs.directory / "fsx" / "data" / "text", "--yes")
    run = read_run(jobs.directory / "fsx" / "runs" / "fetch-text" / "run.json")
    assert isinstance(run, DataRun)
    return run


def fetching(run: DataRun) -> list[int]:
    """The processes of a run's fetch stage."""
    found = []
    for folder in Path("/proc").glob("[0-9]*"):
        try:
            words = (folder / "cmdline").read_bytes().split(b"\0")
        except OSError:
            continue
        if b"slipway_jobs.importing" in words and str(run.file).encode() in words:
            found.append(int(folder.name))
    return found


def test_a_fetch_is_killed_cancelled_and_goes_on(jobs: TrainingJobs, hub: HubServer) -> None:
    hub.stalled.add(SECOND)
    run = submit(jobs)
    folder = Path(run.data.directory)
    jobs.cluster.wait("the first file", (folder / FIRST).exists)
    jobs.cluster.wait("the second", lambda: hub.given(SECOND) > 0)
    assert json.loads(jobs.command("status", run.name, "--json").stdout)["state"] == "running"
    for process in fetching(run):
        os.kill(process, signal.SIGKILL)
    assert jobs.wait_for(run, "fetch") == "FAILED"
    assert jobs.command("status", run.name, check=False).returncode == 3
    assert not (folder / SECOND).exists()
    unready = jobs.command("check", "tiny-llama", "--set", f"data.source={folder}", check=False)
    assert (unready.returncode, f"{folder} is not complete: a fetch fills it" in unready.stderr) == (1, True)

    hub.requests.clear()
    submit(jobs)
    jobs.cluster.wait("the second again", lambda: hub.given(SECOND) > 0)
    jobs.command("cancel", run.name)
    assert jobs.wait_for(run, "fetch") == "CANCELLED"

    hub.stalled.clear()
    submit(jobs)
    assert jobs.wait_for(run, "fetch") == "COMPLETED", jobs.log(run, "fetch")
    assert hub.given(FIRST) == 0, "what was there is not fetched again"
    assert {path.name: path.read_bytes() for path in folder.iterdir() if path.suffix == ".jsonl"} == {
        FIRST: hub.files[FIRST],
        SECOND: hub.files[SECOND],
    }
    assert f"{SECOND} is there, sha256 right" in jobs.command("logs", run.name).stdout
    status = json.loads(jobs.command("status", run.name, "--json").stdout)
    assert [stage["state"] for stage in status["stages"]] == ["done"]
    assert status["cost"]["usd"] > 0
    assert "is complete" in jobs.command("fetch", "hf:owner/text", "--to", folder).stdout
    jobs.command("check", "tiny-llama", "--set", f"data.source={folder}", "--set", "hardware.nodes=1")
