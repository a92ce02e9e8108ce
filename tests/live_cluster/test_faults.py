"""What can happen to a cluster, what a user then sees of it, and what still runs and costs when it is over."""

from __future__ import annotations

import os
import time

import pytest

from slipway.assembly.stacks import ENVIRONMENT_TAG
from slipway.aws.account import Account
from slipway.project import PROJECT
from slipway.rehearse.isolation import only_variables
from slipway.remove.scope import read_scope
from slipway.remove.teardown import compute_fleet, compute_nodes
from slipway.remove.teardown.inspection import inspect
from slipway.remove.teardown.programs import Programs
from slipway.remove.teardown.teardown import Teardown
from slipway_pause.fleet import ComputeFleet
from tests.live_cluster import fleet_status, head_node
from tests.live_cluster.conftest import Show, Start
from tests.live_cluster.live_cluster import LiveCluster

pytestmark = pytest.mark.nightly

NODES = [f"trn1-dy-trn1-32xl-{number}" for number in (1, 2, 3, 4)]
LONGEST = 600
"""Seconds that Slurm may take to give a lost node up."""

REPORT = "srun -l printenv SLURMD_NODENAME"


def reason(cluster: LiveCluster, node: str) -> str:
    return f"{node} {cluster.node(node)['State']}: {cluster.node(node)['Reason']}"


def pending(cluster: LiveCluster, job: str) -> str:
    shown = cluster.job(job)
    return f"the job is {shown['JobState']} ({shown['Reason']})"


def test_too_little_capacity(start_cluster: Start, show: Show) -> None:
    """EC2 has two instances, the job wants four."""
    cluster = start_cluster()
    cluster.account.set_capacity(2)
    job = cluster.submit("--nodes=4", "--wrap", REPORT)
    code = "(Code:InsufficientInstanceCapacity)"
    cluster.wait("nodes to be down", lambda: cluster.node(NODES[0])["Reason"].startswith(code))
    show(reason(cluster, NODES[0]))
    show(pending(cluster, job))
    assert not cluster.instances.known, "all or nothing: EC2 starts four or none"

    cluster.wait("clustermgtd to note it", lambda: "due to insufficient capacity" in cluster.log_of("clustermgtd"))
    cluster.account.set_capacity(None)
    cluster.wait_for_state(job, "COMPLETED")
    show("when EC2 has four, the job runs by itself")
    cluster.wait_until_nothing_runs()


def test_a_node_loses_a_device(start_cluster: Start, show: Show) -> None:
    """A Neuron device fails on a running node, and the next job finds it."""
    cluster = start_cluster()
    first = cluster.submit("--nodes=1", "--wrap", REPORT)
    node = cluster.wait_for_state(first, "COMPLETED")["NodeList"]
    instance = cluster.instances.of_node(node)
    machine = cluster.instances.known[instance].machine
    assert machine
    machine.lose_a_device()
    job = cluster.submit("--nodes=1", f"--nodelist={node}", "--wrap", REPORT)
    cluster.wait("the drain", lambda: "slipway: 15 of 16 Neuron devices" in cluster.node(node)["Reason"])
    show(reason(cluster, node))
    cluster.wait("clustermgtd to end the instance", lambda: instance not in cluster.instances.running())
    assert cluster.wait_for_state(job, "COMPLETED")["NodeList"] == node
    show("clustermgtd terminates the instance; the job runs on a new one under the same name")
    cluster.wait_until_nothing_runs()


@pytest.mark.parametrize("slurmd_timeout", [30, 180])
def test_spot_capacity_is_taken(slurmd_timeout: int, start_cluster: Start, show: Show) -> None:
    """EC2 takes the instance of a running job."""
    cluster = start_cluster(waits={**head_node.SHORT_WAITS, "SlurmdTimeout": slurmd_timeout})
    job = cluster.submit("--nodes=2", "--requeue", "--wrap", "srun sleep 20")
    cluster.wait_for_state(job, "RUNNING")
    cluster.account.terminate(cluster.instances.of_node(NODES[1]))
    lost = time.monotonic()
    cluster.wait("the job to be requeued", lambda: cluster.job(job)["Restarts"] == "1", LONGEST)
    cluster.wait_for_state(job, "RUNNING", LONGEST)
    show(f"with `SlurmdTimeout={slurmd_timeout}` the job runs again after {time.monotonic() - lost:.0f} s")
    cluster.wait_for_state(job, "COMPLETED")
    cluster.wait_until_nothing_runs()


def test_no_node_can_be_set_up(start_cluster: Start, show: Show) -> None:
    """The set-up of every node fails: protected mode after ten failures."""
    cluster = start_cluster()
    cluster.instances.broken_boots = True
    job = cluster.submit("--nodes=4", "--wrap", REPORT)

    def is_protected() -> bool:
        cluster.start_if_held(job)
        return cluster.fleet_status() == "PROTECTED"

    cluster.wait("protected mode", is_protected)
    show(
        f"the fleet is PROTECTED after {len(cluster.instances.known)} instances, the partition "
        f"{cluster.run('sinfo', '--noheader', '--partition=trn1', '--format=%a').split()[0]}"
    )
    show(pending(cluster, job))
    cluster.wait("no instance to run", lambda: not cluster.instances.running())

    cluster.instances.broken_boots = False
    fleet_status.replace_status(cluster.account.dynamodb, cluster.account.fleet_table, "PROTECTED", "START_REQUESTED")
    cluster.wait_for_state(job, "COMPLETED")
    show("after `pcluster update-compute-fleet --status START_REQUESTED` the job runs")
    cluster.wait_until_nothing_runs()


def test_a_capacity_block_begins_and_ends(start_cluster: Start, show: Show) -> None:
    """A Capacity Block is not active yet when a job wants it, then becomes active, and ends."""
    cluster = start_cluster("ultracluster")
    cluster.wait("the reservation", lambda: "pcluster-cr-" in cluster.run("scontrol", "show", "reservations"))
    job = cluster.submit("--partition=block", "--nodes=1", "--wrap", REPORT)
    cluster.wait("the job to wait", lambda: "Reserv" in cluster.job(job)["Reason"])
    show(f"before: {pending(cluster, job)}")
    assert not cluster.instances.known

    # clustermgtd asks EC2 again after ten minutes, or when it starts.
    cluster.account.set_block("active")
    cluster.restart_clustermgtd()
    cluster.wait_for_state(job, "COMPLETED")
    show("while it is active: the job runs, and the static nodes stay")
    cluster.wait("all static nodes", lambda: len(cluster.instances.running()) == 4)

    running = cluster.submit("--partition=block", "--nodes=1", "--requeue", "--wrap", "sleep 600")
    cluster.wait_for_state(running, "RUNNING")
    cluster.account.set_block("expired")
    for instance in cluster.instances.running():
        cluster.account.terminate(instance)
    cluster.account.set_capacity(0)
    cluster.restart_clustermgtd()
    cluster.wait("the job to be requeued", lambda: cluster.job(running)["Restarts"] == "1")

    def waits_for_the_block() -> bool:
        cluster.start_if_held(running)
        return "reserved" in cluster.job(running)["Reason"].lower()

    cluster.wait("the job to wait again", waits_for_the_block)
    show(f"after its end: {pending(cluster, running)}")
    assert not cluster.instances.running()


def test_the_head_node_restarts(start_cluster: Start, show: Show) -> None:
    """The head node restarts while a job runs."""
    cluster = start_cluster()
    job = cluster.submit("--nodes=2", "--wrap", "srun sleep 30")
    cluster.wait_for_state(job, "RUNNING")
    before = set(cluster.instances.running())
    cluster.restart_head_node()
    ended = cluster.wait_for_state(job, "COMPLETED")
    assert ended["Restarts"] == "0"
    assert set(cluster.instances.known) == before
    show("the job runs on, its instances stay")
    cluster.wait_until_nothing_runs()


def test_pause_and_resume(start_cluster: Start, show: Show) -> None:
    """`slipway pause` while a job runs, then `slipway resume`."""
    cluster = start_cluster()
    job = cluster.submit("--nodes=2", "--requeue", "--wrap", "srun sleep 15")
    cluster.wait_for_state(job, "RUNNING")
    fleet = ComputeFleet(cluster.account.dynamodb, cluster.cluster.name)
    show(f"pause: the fleet {fleet.stop()}")
    cluster.wait("the fleet to stop", lambda: cluster.fleet_status() == "STOPPED")
    cluster.wait("no instance to run", lambda: not cluster.instances.running())
    show(pending(cluster, job))

    show(f"resume: {fleet.start()}")
    cluster.wait_for_state(job, "COMPLETED")
    show("the job runs again")
    cluster.wait_until_nothing_runs()


def test_destroy_while_a_job_runs(start_cluster: Start, show: Show, monkeypatch: pytest.MonkeyPatch) -> None:
    """`slipway destroy` while a job runs, up to the deletion of the stacks."""
    cluster = start_cluster()
    scope = read_scope(cluster.cluster.assembly)
    cluster.account.create_stack(cluster.cluster.name, {ENVIRONMENT_TAG: scope.environment})
    job = cluster.submit("--nodes=2", "--requeue", "--wrap", "srun sleep 600")
    cluster.wait_for_state(job, "RUNNING")
    for module in (compute_fleet, compute_nodes):
        monkeypatch.setattr(module, "POLL_SECONDS", 1.0)

    with only_variables({**cluster.account.environment, "PATH": os.environ["PATH"]}):
        account = Account.in_region(scope.region, None)
        found = inspect(scope, account)
        assert found.probably_busy == (cluster.cluster.name,)
        said: list[str] = []
        programs = Programs.of_project(PROJECT)
        Teardown(scope, found, account, programs, cluster.cluster.assembly, LONGEST, said.append).empty_clusters()

    assert f"{cluster.cluster.name}: compute fleet STOPPED" in said
    show("without `--with-running-jobs` it refuses: jobs probably run on the nodes")
    show("`pcluster update-compute-fleet` stops the fleet, and no node is left before a stack is deleted")
    cluster.wait("no instance to run", lambda: not cluster.instances.running())
    show(pending(cluster, job))
    known = set(cluster.instances.known)
    time.sleep(2 * head_node.SHORT_WAITS["loop_time"])
    assert set(cluster.instances.known) == known, "no node starts again"


def test_a_queue_is_updated(start_cluster: Start, show: Show) -> None:
    """An update gives a queue another machine image while a job runs."""
    cluster = start_cluster()
    old = cluster.submit("--nodes=2", "--wrap", "srun sleep 30")
    cluster.wait_for_state(old, "RUNNING")
    before = set(cluster.instances.running())
    image = "ami-0fedcba9876543210"
    cluster.update_queue("trn1", image)
    new = cluster.submit("--nodes=4", "--wrap", REPORT)
    cluster.wait_for_state(old, "COMPLETED")
    assert cluster.job(old)["Restarts"] == "0"
    show("the job runs on to its end on the old nodes, which then end")

    cluster.wait_for_state(new, "COMPLETED")
    started = set(cluster.instances.known) - before
    images = {instance["ImageId"] for name, instance in cluster.account.instances().items() if name in started}
    assert len(started) == 4
    assert images == {image}
    show("the next job waits for new nodes, with the new image")
    cluster.wait_until_nothing_runs()
