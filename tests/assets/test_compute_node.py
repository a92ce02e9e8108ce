"""Behaviour of the set-up of a compute node, from ParallelCluster's call of the entry point on."""

from __future__ import annotations

import re
import shutil
from pathlib import Path

import pytest

from tests.assets.cluster_node import ADDRESS, KERNEL, LOCK, NODE_NAME, PLAIN, STACK, ClusterNode, assert_failed
from tests.assets.sandbox import ASSETS, Outcome

APT_PINS = "aws-neuronx-dkms=2.26.10.0* aws-neuronx-collectives=2.30.59.0* aws-neuronx-runtime-lib=2.30.51.0* aws-neuronx-tools=2.28.23.0*"  # noqa: E501 - one command line
DNF_PINS = APT_PINS.replace("=", "-")


def installs(outcome: Outcome) -> list[str]:
    return [call for call in outcome.calls if call.startswith(("apt-get", "dnf")) and " install " in call]


@pytest.mark.parametrize("operating_system", ["ubuntu2204", "ubuntu2404", "alinux2023"])
def test_every_step_leaves_one_line_with_time_and_duration(tmp_path: Path, operating_system: str) -> None:
    outcome = ClusterNode(tmp_path, operating_system).set_up_compute()

    assert outcome.status == 0, outcome.stderr
    script = (ASSETS / "cluster" / "compute_node.sh").read_text()
    only_without_accelerator = script.split("set_up_node_without_accelerator() {")[1].split("\n}")[0]
    steps = re.findall(r'^ *step "(.*?)"', script.replace(only_without_accelerator, ""), re.MULTILINE)
    assert sorted(re.findall(r": (.*): done in \d+ s$", outcome.stdout, re.MULTILINE)) == sorted(steps)
    assert "compute node ready for training stack xla-2.28.1 after " in outcome.stdout


def test_ubuntu_installs_exactly_the_pinned_packages_from_the_signed_repository(ubuntu: ClusterNode) -> None:
    outcome = ubuntu.set_up_compute()

    headers, neuron = installs(outcome)
    assert headers.endswith(f" install linux-headers-{KERNEL}")
    assert neuron.endswith(f" install {APT_PINS}")
    assert ubuntu.read("/etc/apt/sources.list.d/neuron.list") == (
        f"deb [signed-by={ubuntu.root}/etc/apt/keyrings/neuron.asc] {LOCK['PACKAGE_REPOSITORY']} jammy main\n"
    )
    assert ubuntu.read("/etc/apt/keyrings/neuron.asc") == "key"


def test_ubuntu_holds_kernel_and_neuron_packages_and_stops_unattended_upgrades(ubuntu: ClusterNode) -> None:
    outcome = ubuntu.set_up_compute()

    names = [pin.split("=")[0] for pin in APT_PINS.split()]
    assert outcome.calls_of("apt-mark") == [f"apt-mark hold linux-image-{KERNEL} linux-aws {' '.join(names)}"]
    assert 'Unattended-Upgrade "0"' in ubuntu.read("/etc/apt/apt.conf.d/99-slipway-no-unattended-upgrades")
    assert [call for call in outcome.calls_of("systemctl") if " disable " in call] == [
        "systemctl disable --now apt-daily.timer",
        "systemctl disable --now unattended-upgrades.service",
    ]


def test_ubuntu_without_a_suite_of_its_own_takes_an_older_one(tmp_path: Path) -> None:
    node = ClusterNode(tmp_path, "ubuntu2404")
    node.stub_first("curl", '[[ "$*" != */noble/* ]] || exit 22')

    assert node.set_up_compute().status == 0
    assert "amazonaws.com jammy main" in node.read("/etc/apt/sources.list.d/neuron.list")


def test_amazon_linux_installs_exactly_the_pinned_packages(amazon_linux: ClusterNode) -> None:
    outcome = amazon_linux.set_up_compute()

    assert outcome.calls_of("dnf") == [
        f"dnf -y --disableexcludes=main install kernel-devel-uname-r = {KERNEL}",
        f"dnf -y --disableexcludes=main install {DNF_PINS}",
    ]
    repository = amazon_linux.read("/etc/yum.repos.d/neuron.repo").splitlines()
    assert f"baseurl={LOCK['PACKAGE_REPOSITORY']}" in repository
    assert "gpgcheck=1" in repository
    assert f"gpgkey=file://{amazon_linux.root}/etc/pki/rpm-gpg/RPM-GPG-KEY-neuron" in repository
    assert amazon_linux.read("/etc/pki/rpm-gpg/RPM-GPG-KEY-neuron") == "key"
    assert amazon_linux.read("/etc/dnf/dnf.conf").splitlines()[-1] == "excludepkgs=kernel* lustre-client* aws-neuronx-*"


def test_amazon_linux_takes_no_other_key_than_the_pinned_one(amazon_linux: ClusterNode) -> None:
    amazon_linux.lock(PACKAGE_KEY="0" * 40)

    outcome = amazon_linux.set_up_compute()

    assert_failed(outcome, "install the Neuron packages", f"has the fingerprint '{LOCK['PACKAGE_KEY']}', not 0000")
    assert not [call for call in outcome.calls_of("dnf") if "neuronx" in call]
    assert not (amazon_linux.root / "etc/yum.repos.d/neuron.repo").exists()


@pytest.mark.parametrize("operating_system", ["ubuntu2204", "alinux2023"])
def test_second_run_installs_nothing_and_changes_no_file(tmp_path: Path, operating_system: str) -> None:
    node = ClusterNode(tmp_path, operating_system)
    node.set_up_compute()
    (node.root / "lib/modules" / KERNEL / "build").mkdir(parents=True)
    before = node.snapshot()

    outcome = node.set_up_compute()

    assert outcome.status == 0, outcome.stderr
    assert outcome.calls_of("apt-get") == outcome.calls_of("dnf") == []
    assert node.snapshot() == before


def test_another_training_stack_replaces_the_installed_packages_and_the_loaded_driver(ubuntu: ClusterNode) -> None:
    ubuntu.set_up_compute()
    ubuntu.lock("xla-2.29.1", SYSTEM_PACKAGES=LOCK["SYSTEM_PACKAGES"].replace("dkms=2.26.10.0", "dkms=2.27.4.0"))
    ubuntu.stub_first("apt-get", f"printf 'installed linux-image-{KERNEL} 1\\n' >\"$STATE/packages\"")

    outcome = ubuntu.set_up_compute(stack="xla-2.29.1")

    assert outcome.status == 0, outcome.stderr
    assert "aws-neuronx-dkms=2.27.4.0*" in installs(outcome)[-1]
    assert outcome.calls_of("modprobe") == ["modprobe --remove neuron", "modprobe neuron", "modprobe lustre"]
    assert "NEURON_DRIVER_VERSION=2.27.4.0\n" in ubuntu.read("/etc/slipway/node.conf")


@pytest.mark.parametrize(
    "wrong_lines",
    [
        f"10.0.99.1 {NODE_NAME}.llm.pcluster {NODE_NAME}\n",
        f"10.0.99.1 {NODE_NAME}.llm.pcluster\n10.0.99.2 {NODE_NAME}.llm.pcluster {NODE_NAME}\n",
    ],
)
def test_hosts_file_gives_the_node_its_primary_address_only(ubuntu: ClusterNode, wrong_lines: str) -> None:
    # The names of other nodes may begin with this node's name.
    kept = f"# hosts\n127.0.0.1 localhost\n\n10.0.64.8   {NODE_NAME}0.llm.pcluster {NODE_NAME}0\n"
    ubuntu.write("/etc/hosts", kept + wrong_lines)

    ubuntu.set_up_compute()

    assert ubuntu.read("/etc/hosts") == f"{kept}{ADDRESS} {NODE_NAME}.llm.pcluster {NODE_NAME}\n"


def test_hosts_file_keeps_localhost_on_the_loopback_address(ubuntu: ClusterNode) -> None:
    ubuntu.write("/etc/hosts", f"127.0.0.1 localhost {NODE_NAME}\n")

    ubuntu.set_up_compute()

    assert ubuntu.read("/etc/hosts") == f"127.0.0.1 localhost\n{ADDRESS} {NODE_NAME}\n"


def test_ports_profile_and_driver(ubuntu: ClusterNode) -> None:
    outcome = ubuntu.set_up_compute()

    assert ubuntu.read("/etc/sysctl.d/90-slipway-neuron.conf") == "net.ipv4.ip_local_reserved_ports = 44000,48620\n"
    assert outcome.calls_of("sysctl")[0] == f"sysctl --quiet --load={ubuntu.root}/etc/sysctl.d/90-slipway-neuron.conf"
    assert "/opt/aws/neuron/bin" in ubuntu.read("/etc/profile.d/slipway-neuron.sh")
    assert outcome.calls_of("modprobe") == ["modprobe neuron", "modprobe lustre"]


def test_profile_puts_the_tools_on_path_once(ubuntu: ClusterNode, tmp_path: Path) -> None:
    ubuntu.set_up_compute()
    probe = tmp_path / "probe.sh"
    profile = ubuntu.root / "etc/profile.d/slipway-neuron.sh"
    probe.write_text(f'source {profile}\nsource {profile}\nprintf "%s %s" "$PATH" "$SLIPWAY_NEURON_VENV"\n')

    assert ubuntu.run(probe).stdout == f"{ubuntu.programs}:/opt/aws/neuron/bin /opt/slipway/training-environment"


def test_copy_that_fails_twice_is_tried_again(ubuntu: ClusterNode) -> None:
    (ubuntu.state / "failures").write_text("2")

    outcome = ubuntu.set_up_compute(SLIPWAY_DOWNLOAD_SECONDS="30")

    assert outcome.status == 0, outcome.stderr
    copies = outcome.calls_of("aws")
    assert copies[0] == copies[1] == copies[2] != copies[3]
    assert all(" s3://scripts-bucket/cluster/" in copy for copy in copies)


def test_installation_that_fails_once_is_tried_again(amazon_linux: ClusterNode) -> None:
    amazon_linux.stub_first("dnf", '[[ -e "$STATE/warm" ]] || { : >"$STATE/warm"; exit 1; }')

    outcome = amazon_linux.set_up_compute(SLIPWAY_PACKAGE_SECONDS="30")

    assert outcome.status == 0, outcome.stderr
    assert "status 1, next attempt in 0 s: dnf" in outcome.stdout


def test_devices_that_appear_late_are_waited_for(ubuntu: ClusterNode) -> None:
    (ubuntu.root / "dev/neuron3").unlink()
    ubuntu.stub("sleep", ': >"$ROOT/dev/neuron3"; chmod 666 "$ROOT/dev/neuron3"')

    assert ubuntu.set_up_compute(SLIPWAY_DEVICE_SECONDS="20").status == 0


def test_node_without_efa_is_not_checked_for_it(ubuntu: ClusterNode) -> None:
    outcome = ubuntu.set_up_compute("trn1.32xlarge=16:0")

    assert outcome.status == 0
    assert "no EFA interface expected" in outcome.stdout


def test_node_conf_says_what_the_node_must_show(ubuntu: ClusterNode) -> None:
    ubuntu.set_up_compute()

    assert ubuntu.read("/etc/slipway/node.conf").splitlines() == [
        "INSTANCE_TYPE=trn1.32xlarge",
        f"TRAINING_STACK={STACK}",
        "NEURON_DEVICES=16",
        "EFA_INTERFACES=8",
        "NEURON_DRIVER_VERSION=2.26.10.0",
        "NEURON_RUNTIME_VERSION=2.30.51.0",
    ]
    assert [path.name for path in (ubuntu.root / "etc/slipway").iterdir()] == ["node.conf"]


def test_each_node_finds_the_environment_of_its_own_stack(ubuntu: ClusterNode) -> None:
    ubuntu.lock("xla-2.29.1")

    assert ubuntu.set_up_compute(stack="xla-2.29.1").status == 0
    assert str((ubuntu.root / "opt/slipway/training-environment").readlink()) == "/apps/neuron/xla-2.29.1"


def test_driver_that_was_built_for_another_kernel_is_built_again(ubuntu: ClusterNode) -> None:
    ubuntu.set_up_compute()
    (ubuntu.state / "driver").unlink()
    ubuntu.stub("dkms", 'printf 2.26.10.0 >"$STATE/driver"')

    outcome = ubuntu.set_up_compute()

    assert outcome.status == 0, outcome.stderr
    assert outcome.calls_of("dkms") == [f"dkms autoinstall --kernelver {KERNEL}"]
    assert installs(outcome)[0].endswith(f" install linux-headers-{KERNEL}")


def test_baked_image_that_holds_everything_needs_no_package_source(ubuntu: ClusterNode) -> None:
    """The image has packages and driver; the devices, the file systems and the node's name are new."""
    ubuntu.set_up_compute()
    for written in ("etc/slipway/node.conf", "etc/profile.d/slipway-neuron.sh", "sys/module/neuron/version"):
        (ubuntu.root / written).unlink()
    ubuntu.stub_first("curl", '[[ "$*" == *169.254.169.254* ]] || exit 6')

    outcome = ubuntu.set_up_compute()

    assert outcome.status == 0, outcome.stderr
    assert not [call for call in outcome.calls if call.startswith(("apt-get", "dnf", "dkms"))]
    assert len(outcome.calls_of("modprobe")) == 2


def test_lustre_client_keeps_few_dirty_pages(ubuntu: ClusterNode) -> None:
    assert ubuntu.set_up_compute().calls_of("lctl") == ["lctl set_param osc.*.max_dirty_mb=64"]

    ubuntu.stub("lctl", "exit 2")
    assert ubuntu.set_up_compute().status == 0
    (ubuntu.programs / "lctl").unlink()
    assert "no lctl" in ubuntu.set_up_compute().stdout


def test_neuron_monitor_is_started_where_the_head_node_has_prepared_it(ubuntu: ClusterNode) -> None:
    unit = "slipway-neuron-monitor.service"
    for file in (unit, "python/requirements.txt"):
        ubuntu.write(f"/apps/slipway/neuron_monitor/{file}")

    assert f"systemctl enable --quiet --now {unit}" in ubuntu.set_up_compute().calls
    assert not [call for call in ubuntu.set_up_compute(PLAIN, stack="none").calls if unit in call]


def test_node_without_local_disks_needs_no_scratch(ubuntu: ClusterNode) -> None:
    shutil.rmtree(ubuntu.root / "dev/disk")
    ubuntu.stub("mountpoint", "exit 1")

    outcome = ubuntu.set_up_compute()

    assert outcome.status == 0, outcome.stderr
    assert "no local NVMe disks" in outcome.stdout


def test_scratch_is_opened_for_every_user(ubuntu: ClusterNode) -> None:
    (ubuntu.root / "scratch").chmod(0o755)

    assert ubuntu.set_up_compute().status == 0
    assert (ubuntu.root / "scratch").stat().st_mode & 0o7777 == 0o1777


def test_slower_mount_options_are_said_and_no_reason_to_end_a_node(ubuntu: ClusterNode) -> None:
    ubuntu.stub("findmnt", "echo rw,flock")

    outcome = ubuntu.set_up_compute()

    assert outcome.status == 0, outcome.stderr
    assert "WARNING: /fsx is mounted without noatime: rw,flock" in outcome.stdout
