"""The local Slurm itself: several side by side, nothing left afterwards."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.slurm.local_slurm import LocalSlurm, SlurmError, fields

pytestmark = pytest.mark.slurm

NODES = ("train-dy-trn1-1",)


def test_two_clusters_run_side_by_side_and_leave_no_process(short_path: Path) -> None:
    with LocalSlurm(short_path / "a", nodes=NODES) as one, LocalSlurm(short_path / "b", nodes=NODES, cpus=32) as other:
        assert one.node(NODES[0])["CPUTot"] == "128"
        assert other.node(NODES[0])["CPUTot"] == "32"
        # A job that still runs when the cluster is stopped.
        job = one.submit("--wrap", "sleep 600")
        one.wait("the job to run", lambda: one.job(job)["JobState"] == "RUNNING")

    used = [path.name for path in Path("/proc").glob("[0-9]*") if str(short_path).encode() in environment_of(path)]
    assert used == []


def environment_of(process: Path) -> bytes:
    try:
        return (process / "environ").read_bytes()
    except OSError:
        return b""


def test_queues_are_partitions(short_path: Path) -> None:
    with LocalSlurm(short_path / "a", nodes=("train-dy-trn1-1", "prepare-dy-cpu-1")) as cluster:
        assert cluster.run("sinfo", "--noheader", "--format=%P").split() == ["train*", "prepare"]


def test_a_configuration_that_slurm_refuses_is_reported_with_the_logs(short_path: Path) -> None:
    cluster = LocalSlurm(short_path / "a", nodes=NODES, settings={"SelectType": "select/none_such"})

    with pytest.raises(SlurmError, match="none_such"):
        cluster.start()


def test_a_path_too_long_for_sockets_is_refused(tmp_path: Path) -> None:
    with pytest.raises(ValueError, match="too long a path"):
        LocalSlurm(tmp_path / ("a" * 60), nodes=NODES).start()


def test_values_of_scontrol_may_hold_spaces() -> None:
    shown = "NodeName=n State=IDLE+DRAIN Reason=slipway: 15 of 16 Neuron devices [root@2026-11-21T10:25:05]  \n"

    assert fields(shown) == {
        "NodeName": "n",
        "State": "IDLE+DRAIN",
        "Reason": "slipway: 15 of 16 Neuron devices [root@2026-11-21T10:25:05]",
    }
