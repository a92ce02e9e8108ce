"""Baking a training stack into an image, as `pcluster build-image` does it, and the nodes that boot from the image."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.assets.baking import bake
from tests.assets.cluster_node import KERNEL, STACK, ClusterNode, assert_failed
from tests.assets.sandbox import Outcome

PINS = [
    "aws-neuronx-dkms=2.26.10.0",
    "aws-neuronx-collectives=2.30.59.0",
    "aws-neuronx-runtime-lib=2.30.51.0",
    "aws-neuronx-tools=2.28.23.0",
]


def boot(machine: ClusterNode) -> Outcome:
    """Boot a node from the image: the devices appear."""
    machine.add_devices(neuron=16)
    return machine.set_up_compute()


def test_the_image_holds_the_pinned_packages_and_says_so(ubuntu: ClusterNode) -> None:
    outcome = bake(ubuntu)

    assert outcome.status == 0, outcome.stderr
    assert ubuntu.read("/etc/slipway/baked").splitlines() == [f"TRAINING_STACK={STACK}", *PINS, f"KERNEL={KERNEL}"]
    assert f" linux-image-{KERNEL} " in outcome.calls_of("apt-mark")[0]
    assert f"{STACK} baked into the image after " in outcome.stdout


def test_the_image_has_the_security_updates_of_the_day_without_the_kernel(ubuntu: ClusterNode) -> None:
    outcome = bake(ubuntu)

    names = [call.split()[0] for call in outcome.calls]
    assert names.index("apt-mark") < names.index("unattended-upgrade")
    assert '"linux-";' in ubuntu.read("/etc/apt/apt.conf.d/99-slipway-security-updates")
    assert "slipway security updates: installed" in outcome.stdout


def test_a_bake_without_its_security_updates_fails(ubuntu: ClusterNode) -> None:
    ubuntu.stub_first("apt-mark", 'printf "#!/bin/sh\\nexit 1\\n" >"${0%/*}/unattended-upgrade"')

    assert_failed(bake(ubuntu), "install the security updates")


def test_a_node_of_the_image_installs_nothing(ubuntu: ClusterNode) -> None:
    bake(ubuntu)

    outcome = boot(ubuntu)

    assert outcome.status == 0, outcome.stderr
    assert outcome.calls_of("apt-get") == outcome.calls_of("dkms") == []
    assert f"the image was baked with {STACK}" in outcome.stdout


def test_neither_scripts_nor_package_lists_stay_in_the_image(ubuntu: ClusterNode) -> None:
    ubuntu.write("/var/lib/apt/lists/archive_jammy_Packages", "stale by the first boot")

    outcome = bake(ubuntu)

    assert "apt-get clean" in outcome.calls
    assert not list(ubuntu.root.glob("var/lib/apt/lists/*"))
    assert [path.name for path in ubuntu.root.glob("opt/slipway/*")] == ["baked"]
    assert not list(ubuntu.root.glob("apps/*/*"))


def test_a_node_of_an_image_for_another_release_is_repaired_and_says_what_it_costs(ubuntu: ClusterNode) -> None:
    bake(ubuntu, "seed-2.20")

    outcome = boot(ubuntu)

    assert outcome.status == 0, outcome.stderr
    warning = next(line for line in outcome.stdout.splitlines() if "WARNING" in line)
    assert "baked with 'TRAINING_STACK=seed-2.20 aws-neuronx-dkms=2.18.12.0" in warning
    assert f"bake an image with {STACK} (slipway docs node-image)" in warning
    [install] = [call for call in outcome.calls_of("apt-get") if "aws-neuronx" in call]
    assert [f"{pin}*" for pin in PINS] == install.split()[-4:]


def test_a_node_of_an_image_that_nothing_is_baked_into_says_so(ubuntu: ClusterNode) -> None:
    assert "nothing is baked into the image" in ubuntu.set_up_compute().stdout


def test_an_image_whose_packages_cannot_be_fetched_is_not_made(ubuntu: ClusterNode) -> None:
    ubuntu.stub("apt-get", "exit 100")

    assert_failed(bake(ubuntu), "install the kernel headers", "gave up within 0 s")
    assert not (ubuntu.root / "etc/slipway/baked").exists()


def test_an_image_without_a_built_driver_is_not_made(ubuntu: ClusterNode) -> None:
    ubuntu.stub("modinfo", "exit 1")

    assert_failed(bake(ubuntu), "build the Neuron driver", f"dkms built no Neuron driver 2.26.10.0 for kernel {KERNEL}")
    assert not (ubuntu.root / "etc/slipway/baked").exists()


@pytest.mark.parametrize("operating_system", ["alinux2023", "rocky9"])
def test_an_image_of_a_system_that_the_training_stack_does_not_support_is_not_made(
    tmp_path: Path, operating_system: str
) -> None:
    assert_failed(bake(ClusterNode(tmp_path, operating_system)), "check the operating system")
