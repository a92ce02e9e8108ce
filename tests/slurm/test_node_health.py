"""The health check under a real Slurm: a node that lacks something is drained, and the job runs on another."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from tests.assets.health_node import HealthNode
from tests.slurm.conftest import Start
from tests.slurm.local_slurm import ENDED
from tests.slurm.trainium_cluster import NODES, TrainiumCluster

pytestmark = pytest.mark.slurm

FIRST, SECOND = NODES


def remove_a_device(node: HealthNode) -> None:
    (node.root / "dev" / "neuron7").unlink()


def remove_an_interface(node: HealthNode) -> None:
    (node.root / "sys/class/infiniband/rdmap0s0").unlink()


def load_another_driver(node: HealthNode) -> None:
    node.write("/sys/module/neuron/version", "2.25.4.0\n")


def lose_the_lustre_servers(node: HealthNode) -> None:
    node.stub("stat", "exec sleep 600")


def has_ended(cluster: TrainiumCluster, job: str) -> bool:
    """Return whether a job has ended, and let it start as often as it is requeued."""
    fields = cluster.job(job)
    if fields["JobState"] == "PENDING" and fields["Reason"] == "BeginTime":
        cluster.start_now(job)
    return fields["JobState"] in ENDED


def is_requeued(cluster: TrainiumCluster, job: str) -> bool:
    fields = cluster.job(job)
    return fields["Restarts"] == "1" and fields["JobState"] == "PENDING"


def run_on_one_node(cluster: TrainiumCluster) -> str:
    """Submit a job that Slurm places on the first free node, and return where it ran in the end."""
    job = cluster.submit("--exclusive", "--wrap", "srun true")
    cluster.wait("the job to end", lambda: has_ended(cluster, job))
    ended = cluster.job(job)
    assert ended["JobState"] == "COMPLETED"
    return ended["NodeList"]


def test_a_healthy_node_runs_its_job_and_stays(start_cluster: Start) -> None:
    cluster = start_cluster()

    assert run_on_one_node(cluster) == FIRST
    assert cluster.node(FIRST)["State"] == "IDLE"


@pytest.mark.parametrize(
    ("break_it", "reason"),
    [
        (remove_a_device, "slipway: 15 of 16 Neuron devices"),
        (load_another_driver, "slipway: Neuron driver 2.25.4.0 with runtime 2.30.51.0, pinned is driver 2.26.10.0"),
        (remove_an_interface, "slipway: 7 of 8 EFA interfaces"),
        (lose_the_lustre_servers, "slipway: /fsx does not answer within 5 s"),
    ],
)
def test_the_job_runs_elsewhere_when_the_prolog_finds_a_fault(
    start_cluster: Start, break_it: Callable[[HealthNode], None], reason: str
) -> None:
    cluster = start_cluster()
    break_it(cluster.machines[FIRST])

    assert run_on_one_node(cluster) == SECOND
    assert cluster.node(FIRST)["State"] == "IDLE+DRAIN"
    assert cluster.node(FIRST)["Reason"].startswith(f"{reason} [")
    # sinfo shows 20 characters.
    assert reason[:20] in cluster.run("sinfo", "--list-reasons")
    assert cluster.node(SECOND)["Reason"] == ""


def test_a_job_over_several_nodes_is_requeued_even_if_no_step_would_have_run_on_the_faulty_one(
    start_cluster: Start,
) -> None:
    cluster = start_cluster()
    remove_a_device(cluster.machines[SECOND])

    job = cluster.submit("--nodes=2", "--exclusive", "--wrap", "sleep 600")
    cluster.wait("the job to be requeued", lambda: is_requeued(cluster, job))

    assert "DRAIN" in cluster.node(SECOND)["State"]
    assert cluster.node(FIRST)["Reason"] == ""


def test_an_idle_node_is_drained_without_a_job(start_cluster: Start) -> None:
    cluster = start_cluster(health_check_seconds=1)
    remove_a_device(cluster.machines[FIRST])

    cluster.wait("the health check", lambda: "DRAIN" in cluster.node(FIRST)["State"])

    assert cluster.node(FIRST)["Reason"].startswith("slipway: 15 of 16 Neuron devices [")
    assert cluster.node(SECOND)["State"] == "IDLE"


def test_dynamic_nodes_come_up_with_the_prolog_and_a_faulty_one_is_drained(start_cluster: Start) -> None:
    cluster = start_cluster(cloud=True, health_check_seconds=300)
    remove_a_device(cluster.machines[FIRST])
    assert cluster.node(FIRST)["State"] == "IDLE+CLOUD+POWERED_DOWN"

    assert run_on_one_node(cluster) == SECOND
    assert "DRAIN" in cluster.node(FIRST)["State"]
    assert cluster.node(FIRST)["Reason"].startswith("slipway: 15 of 16 Neuron devices [")

    # What ParallelCluster's clustermgtd does with a drained dynamic node: its next instance is not drained.
    cluster.run("scontrol", "update", f"nodename={FIRST}", "state=power_down_force")
    cluster.wait("the power-down", lambda: cluster.node(FIRST)["State"] == "IDLE+CLOUD+POWERED_DOWN")
