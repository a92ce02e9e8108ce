"""A compute node that cannot be set up: it ends with the name of the step and the reason, whatever goes wrong."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from tests.assets.cluster_node import KERNEL, ClusterNode, assert_failed
from tests.assets.sandbox import ASSETS

# What a failing command of a step looks like: the stub's name and the step that must be named.
FAILING_COMMANDS = [
    ("apt-get", "install the kernel headers"),
    ("apt-mark", "hold the kernel and the Neuron packages"),
    ("curl", "read the expectations"),
    ("sysctl", "reserve ports"),
    ("findmnt", "check /fsx"),
]


def test_ubuntu_does_not_take_an_older_suite_for_an_unreachable_repository(ubuntu: ClusterNode) -> None:
    ubuntu.stub_first("curl", '[[ "$*" != */dists/* ]] || exit 6')

    assert_failed(ubuntu.set_up_compute(), "install the Neuron packages", "cannot be reached, curl status 6")


def test_package_manager_that_installs_something_else_is_noticed(ubuntu: ClusterNode) -> None:
    ubuntu.stub("apt-get", "printf 'installed aws-neuronx-dkms 2.27.4.0\\n' >>\"$STATE/packages\"")

    outcome = ubuntu.set_up_compute()

    assert_failed(outcome, "install the Neuron packages", "are not the pinned ones")


def test_copy_that_never_works_ends_the_node(ubuntu: ClusterNode) -> None:
    (ubuntu.bucket / "steps.sh").unlink()

    # Bash counts whole seconds of the clock: 1 s can be over at once, before a second attempt.
    outcome = ubuntu.set_up_compute(SLIPWAY_DOWNLOAD_SECONDS="4", SLIPWAY_RETRY_PAUSE_SECONDS="1")

    assert_failed(outcome, "fetch the set-up scripts", "s3://scripts-bucket/cluster/steps.sh within 4 s")
    assert len(outcome.calls_of("aws")) > 2


def test_installation_that_hangs_is_ended_at_the_deadline(amazon_linux: ClusterNode) -> None:
    amazon_linux.stub("dnf", "exec sleep 50")

    outcome = amazon_linux.set_up_compute(SLIPWAY_PACKAGE_SECONDS="1")

    assert_failed(outcome, "install the kernel headers", "gave up within 1 s")
    assert "last status 124: dnf -y" in outcome.stderr


def test_slow_package_source_ends_at_the_deadline_of_the_whole_set_up(amazon_linux: ClusterNode) -> None:
    amazon_linux.stub("dnf", "exec sleep 50")

    outcome = amazon_linux.set_up_compute(SLIPWAY_PACKAGE_SECONDS="600", SLIPWAY_SETUP_SECONDS="2")

    assert_failed(outcome, "install the kernel headers", "s into the 2 s of the set-up, last status 124: dnf -y")


def test_command_that_hangs_outside_of_every_limit_ends_at_the_deadline_too(ubuntu: ClusterNode) -> None:
    # At the deadline timeout sends SIGTERM to the script and to the process group it is in: more than one signal.
    more_signals = "(trap '' TERM; for _ in {1..40}; do kill -TERM 0; sleep 0.005; done) >/dev/null 2>&1 &"
    ubuntu.stub("apt-mark", f"{more_signals} sleep 0.01; kill -TERM 0; exec sleep 50")

    outcome = ubuntu.set_up_compute()

    assert_failed(outcome, "hold the kernel and the Neuron packages", "the 750 s for the whole set-up are over")


@pytest.mark.parametrize(("command", "step"), FAILING_COMMANDS, ids=[command for command, _ in FAILING_COMMANDS])
def test_failing_command_names_its_step(ubuntu: ClusterNode, command: str, step: str) -> None:
    ubuntu.stub(command, "exit 7")

    assert_failed(ubuntu.set_up_compute(), step)


def hide_python(node: ClusterNode) -> None:
    (node.programs / "python3.10").unlink()
    node.stub_first("apt-get", '[[ "$*" != *python3.10* ]] || exit 100')


BROKEN_NODES: list[tuple[str, str, Callable[[ClusterNode], object]]] = [
    (
        "wait for the Neuron devices",
        "expected 16 of /dev/neuron[0-9]*, found 15",
        lambda node: (node.root / "dev/neuron3").unlink(),
    ),
    ("wait for the Neuron devices", "found 17", lambda node: node.write("/dev/neuron16")),
    (
        "count the EFA interfaces",
        "expected 8 of /sys/class/infiniband/*, found 7",
        lambda node: (node.root / "sys/class/infiniband/rdmap0s0").unlink(),
    ),
    ("load the Neuron driver", "", lambda node: node.stub_first("modprobe", '[[ "$1" != neuron ]] || exit 1')),
    (
        "load the Neuron driver",
        "Neuron driver 2.20.1.0 with runtime library 2.30.51.0: xla-2.28.1 pins driver 2.26.10.0",
        lambda node: node.stub_first("modprobe", '[[ "$1" != neuron ]] || printf 2.20.1.0 >"$STATE/driver"'),
    ),
    (
        "build the Neuron driver",
        "dkms built no Neuron driver 2.26.10.0",
        lambda node: node.stub("modinfo", "exit 1"),
    ),
    (
        "wait for the Neuron devices",
        "expected 16 of /dev/neuron[0-9]* -perm -o=rw, found 15",
        lambda node: (node.root / "dev/neuron3").chmod(0o600),
    ),
    (
        "check the Neuron tools",
        "not every user may run /opt/aws/neuron/bin/neuron-top",
        lambda node: node.stub_first("sysctl", 'chmod o-x "$ROOT/opt/aws/neuron/bin/neuron-top"'),
    ),
    ("reserve ports", "reserves the ports '' instead of", lambda node: node.stub("sysctl")),
    ("check /scratch", "/scratch is not mounted", lambda node: node.stub("mountpoint", "exit 1")),
    (
        "check /fsx",
        f"no module for kernel {KERNEL}",
        lambda node: node.stub_first("modprobe", '[[ "$1" != lustre ]] || exit 1'),
    ),
    ("check /fsx", "/fsx is not a mounted Lustre", lambda node: node.stub("findmnt", "exit 1")),
    ("check /fsx", "/fsx is mounted without flock: rw,noatime", lambda node: node.stub("findmnt", "echo rw,noatime")),
    ("check /fsx", "/fsx does not answer", lambda node: (node.root / "fsx").rmdir()),
    (
        "correct /etc/hosts",
        "gave '' as",
        lambda node: node.stub_first("curl", '[[ "$*" != *local-ipv4* ]] || exit 0'),
    ),
    (
        "read the expectations",
        "",
        lambda node: node.stub_first(
            "curl", 'case "$*" in *api/token) exit 28 ;; *instance-type) printf trn1.32xlarge; exit ;; esac'
        ),
    ),
    (
        "install the Neuron packages",
        "gave up",
        lambda node: node.stub_first("curl", '[[ "$*" != *GPG-PUB-KEY* ]] || exit 22'),
    ),
    (
        "read the training stack",
        "training_stacks/xla-2.28.1.sh lacks PYTHON_VERSION",
        lambda node: node.lock(PYTHON_VERSION=""),
    ),
    (
        "install the Neuron packages",
        "pins no version of aws-neuronx-collectives",
        lambda node: node.lock(SYSTEM_PACKAGES="(aws-neuronx-dkms=2.26.10.0)"),
    ),
    (
        "check the operating system",
        "xla-2.28.1 runs on ubuntu2404, not on ubuntu2204",
        lambda node: node.lock(OPERATING_SYSTEMS="(ubuntu2404)"),
    ),
    ("provide Python", "gave up", hide_python),
    (
        "hold the kernel and the Neuron packages",
        f"linux-image-{KERNEL} is not installed",
        lambda node: (node.state / "packages").write_text("installed linux-image-5.15.0-aws 1\n"),
    ),
]


@pytest.mark.parametrize(("step", "reason", "break_node"), BROKEN_NODES, ids=[row[0] for row in BROKEN_NODES])
def test_broken_node_fails_with_step_and_reason(
    ubuntu: ClusterNode, step: str, reason: str, break_node: Callable[[ClusterNode], object]
) -> None:
    break_node(ubuntu)

    assert_failed(ubuntu.set_up_compute(), step, reason)


def test_node_that_slurm_would_drain_at_once_is_refused(ubuntu: ClusterNode) -> None:
    (ubuntu.state / "fault").write_text("neuron3 mem_ecc_uncorrected: 2\n")

    outcome = ubuntu.set_up_compute()

    assert_failed(outcome, "check the node's health", "neuron3 mem_ecc_uncorrected: 2")


def test_unknown_operating_system_is_refused_before_anything_is_changed(tmp_path: Path) -> None:
    node = ClusterNode(tmp_path, "rocky9")

    outcome = node.set_up_compute()

    assert_failed(outcome, "check the operating system", "rocky 9.5 is none of ubuntu2204, ubuntu2404, alinux2023")
    assert {call.split()[0] for call in outcome.calls} == {"aws", "curl"}
    assert not [call for call in outcome.calls_of("curl") if "169.254.169.254" not in call]


@pytest.mark.parametrize(
    "expectation", ["trn1.32xlarge", "trn1.32xlarge=00:8", "trn1.32xlarge=16", "trn1.32xlarge=16:-1", "=16:8", ""]
)
def test_senseless_expectation_is_refused(ubuntu: ClusterNode, expectation: str) -> None:
    outcome = ubuntu.set_up_compute(expectation)

    assert_failed(
        outcome, "read the expectations", f"'{expectation}' is not INSTANCE_TYPE=NEURON_DEVICES:EFA_INTERFACES"
    )


@pytest.mark.parametrize(
    ("stack", "expectation"), [("none", "trn1.32xlarge=16:8"), ("xla-2.28.1", "trn1.32xlarge=0:0")]
)
def test_devices_and_training_stack_must_fit(ubuntu: ClusterNode, stack: str, expectation: str) -> None:
    outcome = ubuntu.set_up_compute(expectation, stack=stack)

    assert_failed(outcome, "read the expectations", f"{expectation} does not fit the training stack {stack}")


def test_instance_type_that_the_queue_does_not_expect_is_refused(ubuntu: ClusterNode) -> None:
    outcome = ubuntu.set_up_compute("trn1.2xlarge=1:0", "trn1n.32xlarge=16:16")

    assert_failed(outcome, "read the expectations", "does not say what to expect of a trn1.32xlarge")


@pytest.mark.parametrize(
    "arguments",
    [
        (),
        ("compute", "bucket", "prefix"),
        ("compute", "bucket", "prefix", "xla-2.28.1"),
        ("compute", "bucket", "prefix", "../steps", "trn1.32xlarge=16:8"),
        ("head", "b", "p", "x"),
        ("login", "b", "p", "x"),
        ("worker", "b", "p"),
    ],
)
def test_wrong_arguments_are_refused(ubuntu: ClusterNode, arguments: tuple[str, ...]) -> None:
    outcome = ubuntu.run(ASSETS / "cluster" / "node_configured.sh", *arguments)

    assert_failed(outcome, "read the arguments", "expected 'head BUCKET PREFIX', 'login BUCKET PREFIX' or")
    assert outcome.calls == []
