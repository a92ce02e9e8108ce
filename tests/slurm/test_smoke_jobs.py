"""The smoke jobs, as the head node installs them, end to end on a real Slurm; Neuron's and EFA's tools are stubs."""

from __future__ import annotations

import pytest

from tests.slurm.conftest import Start
from tests.slurm.trainium_cluster import NODES, TrainiumCluster

pytestmark = pytest.mark.slurm

# The layout of `neuron-ls --json-output` with the keys that the jobs read: aws-neuron-sdk of 2026-08-21 (81ce03a),
# tools/neuron-sys-tools/neuron-ls.rst, line 213. A device of Trn1 has 2 NeuronCores; one of Trn2 has 8 physical ones,
# and with "logical_neuroncore_config": 2 its nc_count is 4 and its neuroncore_ids are 0 to 3.
NEURON_LS = """
hidden="$(cat "$STATE/hidden_devices" 2>/dev/null || echo none)"
cores="$(cat "$STATE/cores" 2>/dev/null || echo '"nc_count": 2')"
separator='['
for device in "$ROOT"/dev/neuron[0-9]*; do
  [[ "${device##*/}" != "$hidden" ]] || continue
  printf '%s\\n    {\\n        "neuron_device": %s,\\n        %s\\n    }' "$separator" "${device##*neuron}" "$cores"
  separator=','
done
printf '\\n]\\n'
"""
# libfabric 2.7.0a1 (af8ddbe): the lines of util/info.c, print_short_info, line 278; prov/efa/src/efa_prov.c, line 84,
# lists all devices with the fabric efa-direct first, a copy of what then has the fabric efa; the domain of both is the
# device's name with -rdm (efa_domain.h, line 66). Before 2.1 (NEWS.md, line 1421) there was no efa-direct.
FI_INFO = """
for fabric in $(cat "$STATE/fabrics" 2>/dev/null || echo efa-direct efa); do
  for interface in "$ROOT"/sys/class/infiniband/*; do
    printf 'provider: efa\\n    fabric: %s\\n    domain: %s-rdm\\n    version: 201.0\\n' "$fabric" "${interface##*/}"
    printf '    type: FI_EP_RDM\\n    protocol: FI_PROTO_EFA\\n'
  done
done
"""
# Over several nodes it starts a step in the allocation: aws-neuron-sdk of 2026-08-21, tools/neuron-sys-tools/
# nccom-test.rst, line 385. The text of a failed check and what it prints beside its table are guesses.
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


@pytest.mark.parametrize("fabrics", ["efa-direct efa", "efa"])
def test_efa_counts_each_interface_once_whatever_fabrics_it_has(cluster: TrainiumCluster, fabrics: str) -> None:
    for machine in cluster.machines.values():
        machine.remember(fabrics=fabrics)

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


def test_all_reduce_takes_the_logical_neuron_cores_of_trn2(cluster: TrainiumCluster) -> None:
    cluster.machines[NODES[0]].remember(cores='"nc_count": 4, "logical_neuroncore_config": 2')

    state, log = run(cluster, "all_reduce", nodes=1)

    assert state == "COMPLETED", log
    assert log.endswith("PASSED with 64 ranks on 1 node(s)\n")


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
