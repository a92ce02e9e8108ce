"""What the stand-ins assume of ParallelCluster, against its two packages: command line, names, states and folders."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from moto.server import ThreadedMotoServer

from slipway.remove.teardown import jobs
from slipway.remove.teardown.compute_fleet import ComputeFleet, NoAnswerError
from tests.assembly import PROJECT
from tests.assets import cluster_node, health_node
from tests.contracts.real_packages import unpacked
from tests.remove.teardown import test_compute_fleet
from tests.slurm import trainium_cluster

pytestmark = pytest.mark.contract

PCLUSTER = PROJECT / ".tools" / "parallelcluster" / "bin"
NODE_NAMES = (*trainium_cluster.NODES, cluster_node.NODE_NAME, health_node.NODE_NAME)

# A node as `scontrol show nodes` prints it for the daemons, its state and reason in the words of the stand-in.
ASK_DAEMONS = """
import json, sys
from common.schedulers import slurm_commands
from slurm_plugin.slurm_resources import parse_nodename
names, shown = json.loads(sys.argv[1]), sys.argv[2]
records = slurm_commands._extract_scontrol_records(shown, slurm_commands.SCONTROL_NODE_INFO_FIELD_REGEX)
(node,) = slurm_commands._parse_nodes_info(records)
print(json.dumps({
    "binaries": slurm_commands.SLURM_BINARIES_DIR,
    "names": [parse_nodename(name) for name in names],
    "drained": node.is_drained(),
    "reason": node.reason,
}))
"""


@pytest.fixture(scope="module")
def daemons() -> dict[str, Any]:
    """What clustermgtd makes of the stand-ins' names and of the line with which they show a drained node."""
    (drained,) = re.findall(r"printf '(State=\S+ Reason=%s)", health_node.STUBS["scontrol"])
    shown = f"NodeName={health_node.NODE_NAME} NodeAddr=10.0.0.1 NodeHostName=x\n   " + drained.replace(
        " Reason=%s", " Partitions=train\n   Reason=slipway: 15 of 16 Neuron devices"
    )
    folders = [str(unpacked("aws-parallelcluster-node")), str(unpacked("retrying"))]
    done = subprocess.run(
        [sys.executable, "-c", ASK_DAEMONS, json.dumps(NODE_NAMES), shown],
        env={"PYTHONPATH": os.pathsep.join(folders), "PATH": os.environ["PATH"]},
        capture_output=True,
        text=True,
        check=True,
    )
    answer: dict[str, Any] = json.loads(done.stdout)
    return answer


def test_the_daemons_know_the_stand_ins_node_names(daemons: dict[str, Any]) -> None:
    assert daemons["names"] == [["train", "dy", "trn1"]] * len(NODE_NAMES)


def test_the_daemons_replace_a_node_that_the_health_check_drained(daemons: dict[str, Any]) -> None:
    assert daemons["drained"]
    assert daemons["reason"] == "slipway: 15 of 16 Neuron devices"


def test_slurms_commands_are_where_scripts_look_for_them(daemons: dict[str, Any]) -> None:
    assert f"{daemons['binaries']}/squeue " in jobs._SCRIPT
    assert f"${{ROOT}}{daemons['binaries']}:" in health_node.HEALTH_CHECK.read_text(encoding="utf-8")


@pytest.fixture
def account(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Iterator[None]:
    """An account without a cluster, for the real command line."""
    server = ThreadedMotoServer(ip_address="127.0.0.1", port=0, verbose=False)
    server.start()
    host, port = server.get_host_and_port()
    monkeypatch.setenv("AWS_ENDPOINT_URL", f"http://{host}:{port}")
    for name in ("AWS_ACCESS_KEY_ID", "AWS_SECRET_ACCESS_KEY"):
        monkeypatch.setenv(name, "test")
    monkeypatch.setenv("HOME", str(tmp_path))
    yield
    server.stop()


@pytest.mark.usefixtures("account")
def test_a_refusal_is_json_with_a_message_as_the_stand_in_has_it() -> None:
    with pytest.raises(NoAnswerError, match=r"^Cluster 'team-cluster' does not exist"):
        ComputeFleet(PCLUSTER / "pcluster", "team-cluster", "us-west-2").stop(lambda _: None)


def test_the_fleet_has_the_statuses_that_the_stand_in_answers_with() -> None:
    source = Path(test_compute_fleet.__file__).read_text(encoding="utf-8")
    answered = set(re.findall(r'"([A-Z_]{6,})"', source)) - {"STOP_SECONDS"}
    model = "from pcluster.api.models import ComputeFleetStatus as status; print(*vars(status))"
    done = subprocess.run([PCLUSTER / "python", "-c", model], capture_output=True, text=True, check=True)

    assert {"RUNNING", "STOPPED", "STOP_REQUESTED", "UNKNOWN"} <= answered <= set(done.stdout.split())
