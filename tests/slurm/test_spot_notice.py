"""EC2's notice on a real Slurm: the job on the node saves, is queued again and ends on other nodes."""

from __future__ import annotations

import subprocess
from pathlib import Path

import pytest

from tests.assets.instance_metadata import instance_metadata
from tests.assets.sandbox import ASSETS
from tests.slurm.local_slurm import LocalSlurm
from tests.slurm.stand_in_kit import write_stand_in_kit
from tests.slurm.training_jobs import RECIPES, TrainingJobs

pytestmark = pytest.mark.slurm

NODES = tuple(f"cpu-dy-c7i-{number}" for number in range(1, 4))
SCRIPT = ASSETS / "cluster" / "spot_notice.sh"


def machine(cluster: LocalSlurm, node: str, directory: Path) -> Path:
    """Make what the script looks at on a node."""
    (directory / "opt" / "slurm").mkdir(parents=True)
    (directory / "opt" / "slurm" / "bin").symlink_to(cluster.files.commands)
    (directory / "run").mkdir()
    name = directory / "etc" / "parallelcluster" / "slurm_plugin" / "slurm_nodename"
    name.parent.mkdir(parents=True)
    name.write_text(node, encoding="utf-8")
    return directory


def test_a_job_saves_before_ec2_takes_one_of_its_nodes(short_path: Path) -> None:
    with LocalSlurm(short_path / "c", nodes=NODES) as cluster, instance_metadata() as service:
        jobs = TrainingJobs(cluster, short_path / "u", kit=write_stand_in_kit(short_path / "kit", torchrun=False))
        (jobs.home / "hold-7").touch()
        run = jobs.submit(RECIPES / "tiny-llama.yaml", restarts__limit=0)
        cluster.wait("all workers to hold", lambda: len(list(jobs.home.glob("holding-*"))) == 4)
        first = cluster.job(jobs.job(run, "train"))["BatchHost"]
        (taken,) = {"cpu-dy-c7i-1", "cpu-dy-c7i-2"} - {first}
        environment = {"ROOT": str(machine(cluster, taken, short_path / "m"))}
        with subprocess.Popen(
            ["bash", SCRIPT], env=environment | {"SLIPWAY_METADATA_SERVICE": service.address}, stderr=subprocess.PIPE
        ) as agent:
            cluster.wait("a look without a notice", lambda: service.asked > 0)
            assert not cluster.node(taken)["Reason"]

            service.give_notice()

            _, said = agent.communicate(timeout=120)
        assert agent.returncode == 0, said
        assert cluster.node(taken)["Reason"].startswith("slipway: Spot, terminate at 2017-09-18T08:22:00Z [")
        jobs.wait_for_step(run, 7)
        (jobs.home / "hold-7").unlink()
        assert jobs.wait_for(run, "publish") == "COMPLETED", jobs.log(run, "train")
        assert [attempt.outcome for attempt in jobs.attempts(run, "train")] == ["stopped", "finished"]
        assert [attempt.counted for attempt in jobs.attempts(run, "train")] == [False, False]
        log = jobs.log(run, "train")
        assert log.count("asked to stop by a signal") == 1
        assert "goes on after step 7" in log
        assert "DRAIN" in cluster.node(taken)["State"]
