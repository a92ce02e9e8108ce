"""The smoke jobs, as the head node installs them, end to end on a real Slurm; Neuron's and EFA's tools are stubs."""

from __future__ import annotations

import pytest

from tests.slurm.conftest import Start
from tests.slurm.trainium_cluster import NODES, TrainiumCluster

pytestmark = pytest.mark.slurm

# Each device has two NeuronCores, as on Trn1.
NEURON_LS = """
hidden="$(cat "$STATE/hidden_devices" 2>/dev/null || echo none)"
separator='['
for device in "$ROOT"/dev/neuron[0-9]*; do
  [[ "${device##*/}" != "$hidden" ]] || continue
  printf '%s\\n    {\\n        "neuron_device": %s,\\n        "nc_count": 2\\n    }' "$separator" "${device##*neuron}"
  separator=','
done
printf '\\n]\\n'
"""
FI_INFO = """
for interface in "$ROOT"/sys/class/infiniband/*; do
  printf 'provider: efa\\n    fabric: efa\\n    domain: %s-rdm\\n    type: FI_EP_RDM\\n' "${interface##*/}"
done
"""
# Over several nodes it starts a step in the allocation, as the real one does in its Slurm mode.
NCCOM_TEST = """
[[ ! -e "$STATE/broken_link" ]] || { echo "data integrity check failed"; exit 1; }
echo "nccom-test $*"
if [[ "$*" == *"--slurm-mode --slurm-job-id $SLURM_JOB_ID "* ]]; then
  srun --jobid="$SLURM_JOB_ID" sh -c 'echo "neuron-bench on $SLURMD_NODENAME"'
fi
"""


@pytest.fixture
def cluster(start_cluster: Start) -> TrainiumCluster:
    cluster = start_cluster()
    for name, body in {"neuron-ls": NEURON_LS, "fi_info": FI_INFO, "nccom-test": NCCOM_TEST}.items():
        cluster.tool(name, body)
    return cluster


def run(cluster: TrainiumCluster, name: str, nodes: int = 2) -> tuple[str, str]:
    """Run a smoke job and return its state and its log."""
    job = cluster.submit(f"--nodes={nodes}", cluster.smoke_job(name), SLIPWAY_SMOKE_BLOCKS="1")
    ended = cluster.wait_for_end(job)
    log = cluster.files.directory / f"{ended['JobName']}-{job}.log"
    return ended["JobState"], log.read_text(encoding="utf-8")


def test_neuron_ls_counts_the_devices_of_each_node(cluster: TrainiumCluster) -> None:
    state, log = run(cluster, "neuron_ls")

    assert state == "COMPLETED", log
    for node in NODES:
        assert f"{node}: neuron-ls sees 16 of 16 Neuron devices" in log
    assert log.endswith("PASSED on 2 node(s)\n")


def test_neuron_ls_fails_where_the_tools_see_fewer_devices_than_the_kernel(cluster: TrainiumCluster) -> None:
    cluster.machines[NODES[1]].remember(hidden_devices="neuron5")

    state, log = run(cluster, "neuron_ls")

    assert state == "FAILED"
    assert f"{NODES[1]}: neuron-ls sees 15 of 16 Neuron devices" in log
    assert f"{NODES[0]}: neuron-ls sees 16 of 16 Neuron devices" in log
    assert "FAILED: a node above lacks devices" in log


def test_neuron_ls_fails_where_the_tools_do_not_run(cluster: TrainiumCluster) -> None:
    cluster.tool("neuron-ls", "exit 1")

    state, log = run(cluster, "neuron_ls")

    assert state == "FAILED"
    assert "0 of 16" in log


def test_efa_counts_the_interfaces_of_each_node(cluster: TrainiumCluster) -> None:
    state, log = run(cluster, "efa")

    assert state == "COMPLETED", log
    assert f"{NODES[1]}: libfabric sees 8 of 8 EFA interfaces" in log


def test_efa_fails_without_a_provider(cluster: TrainiumCluster) -> None:
    cluster.tool("fi_info", "echo 'fi_getinfo: -61' >&2; exit 61")

    state, log = run(cluster, "efa")

    assert state == "FAILED"
    assert "FAILED: a node above lacks EFA interfaces" in log


def test_all_reduce_on_one_node_takes_every_neuron_core(cluster: TrainiumCluster) -> None:
    state, log = run(cluster, "all_reduce", nodes=1)

    assert state == "COMPLETED", log
    checked, timed = [line for line in log.splitlines() if line.startswith("nccom-test -r 32 -N 1 ")]
    assert "--check" in checked
    assert "--check" not in timed
    assert "--slurm-mode" not in log
    assert log.endswith("PASSED with 32 ranks on 1 node(s)\n")


def test_all_reduce_over_nodes_runs_in_the_jobs_own_allocation(cluster: TrainiumCluster) -> None:
    state, log = run(cluster, "all_reduce")

    assert state == "COMPLETED", log
    assert "nccom-test -r 64 -N 2 " in log
    for node in NODES:
        assert f"neuron-bench on {node}" in log


def test_all_reduce_with_a_wrong_result_fails(cluster: TrainiumCluster) -> None:
    cluster.machines[NODES[0]].remember(broken_link="")

    state, log = run(cluster, "all_reduce", nodes=1)

    assert state == "FAILED"
    assert f"FAILED: all-reduce over 32 ranks on {NODES[0]}" in log


def test_all_reduce_over_nodes_without_efa_is_refused(cluster: TrainiumCluster) -> None:
    for machine in cluster.machines.values():
        machine.expect(efa=0)

    state, log = run(cluster, "all_reduce")

    assert state == "FAILED"
    assert "FAILED: several nodes need EFA, and this queue's have none" in log


def test_fsx_is_written_and_read_by_each_node_and_left_clean(cluster: TrainiumCluster) -> None:
    state, log = run(cluster, "fsx")

    assert state == "COMPLETED", log
    for node in NODES:
        assert f"{node}: wrote " in log
    assert log.endswith("PASSED on 2 node(s)\n")
    assert list((cluster.machines[NODES[0]].root / "fsx").iterdir()) == []


def test_fsx_that_returns_other_data_fails(cluster: TrainiumCluster) -> None:
    cluster.tool("cmp", "echo 'differ: byte 1'; exit 1")

    state, log = run(cluster, "fsx")

    assert state == "FAILED"
    assert "FAILED: a node cannot write to /fsx, or read what it wrote" in log
