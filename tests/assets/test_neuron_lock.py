"""The lock file as the construct renders it is the one that the scripts read."""

from __future__ import annotations

from pathlib import Path

import pytest

from neuron_constructs.cluster.node_scripts import neuron_lock
from slipway import facts
from tests.assets.cluster_node import PYTHON, ClusterNode

RELEASES = [
    (release.version, operating_system)
    for release in facts.neuron_releases().values()
    for operating_system in release.operating_systems
]


@pytest.mark.parametrize(("release", "operating_system"), RELEASES)
def test_nodes_install_exactly_what_the_facts_pin(tmp_path: Path, release: str, operating_system: str) -> None:
    pins = facts.neuron_release(release)
    node = ClusterNode(tmp_path, operating_system)
    node.stub(f"python{facts.operating_system(operating_system).python_version}", PYTHON)
    (node.bucket / "neuron_release.sh").write_text(neuron_lock(release, operating_system), encoding="utf-8")

    head, compute = node.set_up_head(), node.set_up_compute()

    assert (head.status, compute.status) == (0, 0), head.stderr + compute.stderr
    [pip] = head.calls_of("venv-python")
    assert {f"{name}=={version}" for name, version in pins.python_packages.items()} == {
        argument for argument in pip.split() if "==" in argument
    }
    installed = dict(
        line.split()[1:3] for line in (node.state / "packages").read_text().splitlines() if "neuronx" in line
    )
    assert {name: version.split("-")[0] for name, version in installed.items()} == {
        name: version for name, version in pins.system_packages.items() if name != "aws-neuronx-oci-hook"
    }
