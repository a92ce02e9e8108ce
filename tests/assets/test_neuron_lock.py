"""The generated files as the construct renders them are the ones that the scripts read."""

from __future__ import annotations

import re
import subprocess
from pathlib import Path
from urllib.parse import urlsplit

import pytest

from neuron_constructs.cluster.node_scripts import cluster_file, lock_file, neuron_lock
from slipway import facts
from tests.assets.cluster_node import PYTHON, ClusterNode
from tests.assets.sandbox import ASSETS

STACKS = [
    (stack.name, operating_system)
    for stack in facts.training_stacks().values()
    for operating_system in stack.operating_systems
]
RELEASE = max(facts.parallelcluster_releases())


@pytest.mark.parametrize(("stack", "operating_system"), STACKS)
def test_nodes_install_exactly_what_the_facts_pin(tmp_path: Path, stack: str, operating_system: str) -> None:
    def node(name: str) -> ClusterNode:
        created = ClusterNode(tmp_path / name, operating_system)
        created.stub(f"python{facts.operating_system(operating_system).python_version}", PYTHON)
        (created.bucket / lock_file(stack)).write_text(neuron_lock(stack, operating_system), encoding="utf-8")
        (created.bucket / "training_stacks.sh").write_text(cluster_file((stack,), RELEASE, {}), encoding="utf-8")
        return created

    pins, compute_node = facts.training_stack(stack), node("compute")

    head, compute = node("head").set_up_head(), compute_node.set_up_compute(stack=stack)

    assert (head.status, compute.status) == (0, 0), head.stderr + compute.stderr
    [pip] = [call for call in head.calls_of("venv-python") if "python_packages.py" in call]
    assert {f"{name}=={version}" for name, version in {**pins.python_packages, **pins.job_packages}.items()} == {
        argument for argument in pip.split() if "==" in argument
    }
    installed = dict(
        line.split()[1:3] for line in (compute_node.state / "packages").read_text().splitlines() if "neuronx" in line
    )
    assert {name: version.split("-")[0] for name, version in installed.items()} == {
        name: version for name, version in pins.system_packages.items() if name != "aws-neuronx-oci-hook"
    }


@pytest.mark.parametrize(("stack", "operating_system"), STACKS)
def test_packages_come_from_neuron_and_pytorch_over_https(stack: str, operating_system: str) -> None:
    script = f'{neuron_lock(stack, operating_system)}printf "%s\\n" "$PACKAGE_REPOSITORY" "${{PYTHON_SOURCES[@]#*=}}"'
    addresses = subprocess.run(["bash", "-euc", script], capture_output=True, text=True, check=True).stdout.split()

    assert {urlsplit(address).scheme for address in addresses} == {"https"}
    assert {urlsplit(address).hostname for address in addresses} <= {
        "apt.repos.neuron.amazonaws.com",
        "yum.repos.neuron.amazonaws.com",
        "pip.repos.neuron.amazonaws.com",
        "download.pytorch.org",
    }


@pytest.mark.parametrize(("stack", "operating_system"), STACKS)
def test_stacks_of_the_job_kit_take_torch_without_cuda(stack: str, operating_system: str) -> None:
    script = f'{neuron_lock(stack, operating_system)}printf "%s\\n" "${{PYTHON_SOURCES[@]}}"'
    sources = subprocess.run(["bash", "-euc", script], capture_output=True, text=True, check=True).stdout.split()

    assert ("torch=https://download.pytorch.org/whl/cpu" in sources) is facts.training_stack(stack).job_kit


def test_head_node_and_then_a_static_node_can_be_set_up_before_cloudformation_gives_up() -> None:
    script = f"{cluster_file(('xla-2.28.1',), RELEASE, {})}printf '%s' \"$NODE_SETUP_SECONDS\""
    set_up = int(subprocess.run(["bash", "-euc", script], capture_output=True, text=True, check=True).stdout)
    release = facts.parallelcluster_release(RELEASE)
    compute = release.compute_node_bootstrap_timeout_seconds
    head = release.head_node_bootstrap_timeout_seconds

    assert release.node_start_seconds + set_up <= compute
    assert release.node_start_seconds + set_up + compute <= head
    assert head + release.custom_resource_reserve_seconds <= release.custom_resource_timeout_seconds


def test_no_step_may_last_longer_than_the_whole_set_up() -> None:
    scripts = "".join(path.read_text(encoding="utf-8") for path in (ASSETS / "cluster").glob("*.sh"))
    limits = dict(re.findall(r"\$\{SLIPWAY_(PACKAGE|PIP|JOB_KIT|DEVICE|DOWNLOAD)_SECONDS:-(\d+)\}", scripts))

    assert len(limits) == 5
    assert max(map(int, limits.values())) < facts.parallelcluster_release(RELEASE).node_setup_seconds
