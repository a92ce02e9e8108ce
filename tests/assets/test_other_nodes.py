"""Behaviour of the set-up of login nodes and of compute nodes without accelerator."""

from __future__ import annotations

import pytest

from tests.assets.cluster_node import ADDRESS, INSTANCE_TYPE, KERNEL, NODE_NAME, PLAIN, ClusterNode, assert_failed
from tests.assets.sandbox import Outcome


def neuron_calls(outcome: Outcome) -> list[str]:
    return [call for call in outcome.calls if "neuron" in call and not call.startswith(("aws ", "dpkg-query"))]


def test_node_without_accelerator_gets_no_neuron_packages(ubuntu: ClusterNode) -> None:
    outcome = ubuntu.set_up_compute(PLAIN, stack="none")

    assert outcome.status == 0, outcome.stderr
    assert neuron_calls(outcome) == outcome.calls_of("apt-get") == []
    assert "compute node ready for training stack none after " in outcome.stdout


def test_node_without_accelerator_keeps_its_kernel_and_knows_its_name_and_storage(ubuntu: ClusterNode) -> None:
    outcome = ubuntu.set_up_compute(PLAIN, stack="none")

    assert outcome.calls_of("apt-mark") == [f"apt-mark hold linux-image-{KERNEL} linux-aws"]
    assert 'Unattended-Upgrade "0"' in ubuntu.read("/etc/apt/apt.conf.d/99-slipway-no-unattended-upgrades")
    assert f"{ADDRESS} {NODE_NAME}\n" in ubuntu.read("/etc/hosts")
    assert outcome.calls_of("modprobe") == ["modprobe lustre"]
    assert ubuntu.read("/etc/slipway/node.conf").splitlines() == [
        f"INSTANCE_TYPE={INSTANCE_TYPE}",
        "TRAINING_STACK=none",
        "NEURON_DEVICES=0",
        "EFA_INTERFACES=0",
        "NEURON_DRIVER_VERSION=",
        "NEURON_RUNTIME_VERSION=",
    ]
    assert str((ubuntu.root / "opt/slipway/training-environment").readlink()) == "/apps/neuron/current"


def test_efa_of_a_node_without_accelerator_is_counted(ubuntu: ClusterNode) -> None:
    outcome = ubuntu.set_up_compute(f"{INSTANCE_TYPE}=0:9", stack="none")

    assert_failed(outcome, "count the EFA interfaces", "expected 9 of /sys/class/infiniband/*, found 8")


def test_login_node_has_profile_holds_and_fsx_and_nothing_of_neuron(ubuntu: ClusterNode) -> None:
    outcome = ubuntu.set_up_login()

    assert outcome.status == 0, outcome.stderr
    assert neuron_calls(outcome) == outcome.calls_of("apt-get") == outcome.calls_of("curl") == []
    assert outcome.calls_of("apt-mark") == [f"apt-mark hold linux-image-{KERNEL} linux-aws"]
    assert outcome.calls_of("findmnt")
    assert "SLIPWAY_NEURON_VENV=" in ubuntu.read("/etc/profile.d/slipway-neuron.sh")
    assert "login node ready after " in outcome.stdout


def test_node_without_a_region_is_refused(ubuntu: ClusterNode) -> None:
    ubuntu.write("/etc/parallelcluster/cfnconfig", "stack_name=trainium\ncfn_region=\n")

    assert_failed(ubuntu.set_up_login(), "read the Region")


@pytest.mark.parametrize(("command", "step"), [("findmnt", "check /fsx"), ("apt-mark", "hold the kernel")])
def test_login_node_with_a_fault_is_refused(ubuntu: ClusterNode, command: str, step: str) -> None:
    ubuntu.stub(command, "exit 1")

    assert_failed(ubuntu.set_up_login(), step)


def test_second_run_on_a_login_node_changes_no_file(ubuntu: ClusterNode) -> None:
    ubuntu.set_up_login()
    before = ubuntu.snapshot()

    assert ubuntu.set_up_login().status == 0
    assert ubuntu.snapshot() == before
