"""Behaviour of the inference hosts' user data: a host joins the cluster only when everything is in place."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from tests.assets.sandbox import ASSETS, Outcome, Sandbox

SCRIPT = ASSETS / "inference" / "host_setup.sh"
USER_DATA_LIMIT_BYTES = 16 * 1024
VARIABLES = {
    "SLIPWAY_ECS_CLUSTER": "llm-inference",
    "SLIPWAY_MODEL_BUCKET": "llm-models",
    "SLIPWAY_MODEL_PREFIX": "models/",
    "SLIPWAY_MODEL_MOUNT": "/mnt/models",
    "SLIPWAY_NEURON_DEVICES": "1",
}
FSTAB_ENTRY = "s3://llm-models/models/ /mnt/models mount-s3 _netdev,nosuid,nodev,nofail,ro,allow-other"
AMI_FSTAB = "UUID=1 / xfs defaults,noatime 1 1\n"

# Mounted is what systemd started; the package database knows mount-s3 once dnf has installed it.
STUBS = {
    "dnf": ': >"$STATE/installed"',
    "mount-s3": "printf -- '--allow-other\\n  --memory-target <MiB>\\n'",
    "mountpoint": '[[ -e "$STATE/mounted" ]]',
    "rpm": '[[ -e "$STATE/installed" ]]',
    "systemctl": 'if [[ "$1" == start ]]; then : >"$STATE/mounted"; fi',
    "systemd-escape": "printf 'mnt-models.mount\\n'",
}


class InferenceHost(Sandbox):
    """An inf2.xlarge at the start of its user data."""

    def __init__(self, directory: Path) -> None:
        super().__init__(directory)
        for command, body in STUBS.items():
            self.stub(command, body)
        self.write("/dev/null")
        self.write("/dev/neuron0")
        self.write("/etc/fstab", AMI_FSTAB)
        # The AMI's file has no newline at its end, and CDK's capacity provider may have written the cluster already.
        self.write("/etc/ecs/ecs.config", "ECS_CLUSTER=llm-inference\nECS_ENABLE_INF_SUPPORT=true")

    def boot(self, **environment: str) -> Outcome:
        """Run the script as user data, each wait with a single attempt unless the environment says otherwise."""
        limits = {f"SLIPWAY_{name}_SECONDS": "0" for name in ("DEVICE", "INSTALL", "MOUNT")}
        return self.run(SCRIPT, **VARIABLES | limits | environment)


@pytest.fixture
def host(tmp_path: Path) -> InferenceHost:
    return InferenceHost(tmp_path)


def assert_kept_out(host: InferenceHost, outcome: Outcome, step: str, reason: str = "") -> None:
    assert outcome.status != 0
    assert f"FAILED at step '{step}'" in outcome.stderr
    assert reason in outcome.stderr
    assert "systemctl mask --now --no-block ecs.service" in outcome.calls
    assert "ECS_CLUSTER" not in host.read("/etc/ecs/ecs.config")
    assert "host ready" not in outcome.stdout


def test_host_mounts_the_models_and_then_names_its_cluster(host: InferenceHost) -> None:
    outcome = host.boot()

    assert outcome.status == 0, outcome.stderr
    assert host.read("/etc/fstab") == f"{AMI_FSTAB}{FSTAB_ENTRY},memory-target=2048 0 0\n"
    assert (host.root / "mnt/models").is_dir()
    assert host.read("/etc/ecs/ecs.config") == (
        "ECS_ENABLE_INF_SUPPORT=true\nECS_AWSVPC_BLOCK_IMDS=true\nECS_ENABLE_TASK_IAM_ROLE=true\n"
        "ECS_CLUSTER=llm-inference\n"
    )
    assert outcome.calls_of("dnf") == ["dnf install -y mount-s3"]
    assert outcome.calls_of("systemd-escape") == ["systemd-escape --suffix=mount --path /mnt/models"]
    assert outcome.calls.index("systemctl daemon-reload") < outcome.calls.index("systemctl start mnt-models.mount")
    assert outcome.stdout.count(": done in ") == 6


def test_agent_waits_for_the_mount_after_a_reboot(host: InferenceHost) -> None:
    outcome = host.boot()

    drop_in = host.read("/etc/systemd/system/ecs.service.d/slipway-models.conf")
    assert drop_in == "[Unit]\nRequiresMountsFor=/mnt/models\n"
    assert outcome.calls_of("systemctl")[-1] == "systemctl daemon-reload"


def test_user_data_never_starts_the_agent(host: InferenceHost) -> None:
    assert not [call for call in host.boot().calls if "ecs" in call]


def test_old_mountpoint_gets_no_option_it_does_not_know(host: InferenceHost) -> None:
    host.stub("mount-s3", "printf -- '--allow-other\\n'")

    host.boot()

    assert host.read("/etc/fstab").endswith(f"{FSTAB_ENTRY} 0 0\n")


def test_host_without_an_agent_configuration_gets_one(host: InferenceHost) -> None:
    (host.root / "etc/ecs/ecs.config").unlink()
    (host.root / "etc/ecs").rmdir()

    assert host.boot().status == 0
    assert host.read("/etc/ecs/ecs.config").startswith("ECS_AWSVPC_BLOCK_IMDS=true\n")


@pytest.mark.parametrize("prefix", ["models", "/models", "/models/"])
def test_slashes_around_the_prefix_do_not_matter(host: InferenceHost, prefix: str) -> None:
    host.boot(SLIPWAY_MODEL_PREFIX=prefix)

    assert FSTAB_ENTRY in host.read("/etc/fstab")


def test_second_run_installs_nothing_and_changes_no_file(host: InferenceHost) -> None:
    host.boot()
    before = host.snapshot()

    outcome = host.boot()

    assert outcome.status == 0, outcome.stderr
    assert outcome.calls_of("dnf") == []
    assert host.snapshot() == before


def test_changed_prefix_replaces_the_mount_entry(host: InferenceHost) -> None:
    host.boot()
    host.boot(SLIPWAY_MODEL_PREFIX="other/")

    assert host.read("/etc/fstab").count("/mnt/models") == 1
    assert "s3://llm-models/other/ " in host.read("/etc/fstab")


BROKEN_HOSTS: list[tuple[str, str, Callable[[InferenceHost], object]]] = [
    (
        "wait for the Neuron devices",
        "expected 1 of /dev/neuron*, found 0",
        lambda host: (host.root / "dev/neuron0").unlink(),
    ),
    ("wait for the Neuron devices", "found 2", lambda host: host.write("/dev/neuron1")),
    ("install Mountpoint", "gave up within 0 s", lambda host: host.stub("dnf", "exit 1")),
    ("mount the models", "", lambda host: host.stub("mount-s3", "exit 1")),
    (
        "mount the models",
        "systemctl start mnt-models.mount",
        lambda host: host.stub_first("systemctl", '[[ "$1" != start ]] || exit 1'),
    ),
    ("mount the models", "/mnt/models is not mounted", lambda host: host.stub("mountpoint", "exit 32")),
    (
        "tie the ECS agent to the mount",
        "",
        lambda host: host.stub_first("systemctl", '[[ "$1" != daemon-reload || ! -e "$STATE/mounted" ]] || exit 1'),
    ),
]


@pytest.mark.parametrize(("step", "reason", "break_host"), BROKEN_HOSTS, ids=[row[0] for row in BROKEN_HOSTS])
def test_broken_host_stays_out_of_the_cluster(
    host: InferenceHost, step: str, reason: str, break_host: Callable[[InferenceHost], object]
) -> None:
    break_host(host)

    assert_kept_out(host, host.boot(), step, reason)


@pytest.mark.parametrize(
    ("variable", "value"),
    [
        *((variable, "") for variable in VARIABLES),
        ("SLIPWAY_MODEL_PREFIX", "two words"),
        ("SLIPWAY_MODEL_MOUNT", "a,b"),
    ],
)
def test_missing_or_impossible_variable_is_named(host: InferenceHost, variable: str, value: str) -> None:
    assert_kept_out(host, host.boot(**{variable: value}), "check the variables", f"{variable} must be set")


def test_host_without_expected_devices_is_refused(host: InferenceHost) -> None:
    assert_kept_out(host, host.boot(SLIPWAY_NEURON_DEVICES="0"), "check the variables", "a number from 1")


def test_host_stays_out_even_if_systemctl_fails(host: InferenceHost) -> None:
    host.stub("systemctl", "exit 1")

    outcome = host.boot()

    assert outcome.status != 0
    assert "ECS_CLUSTER" not in host.read("/etc/ecs/ecs.config")


def test_mount_that_fails_twice_is_tried_again(host: InferenceHost) -> None:
    host.stub_first("systemctl", '[[ "$1" != start ]] || (($(grep -c " start " "$STATE/calls") > 2)) || exit 1')

    outcome = host.boot(SLIPWAY_MOUNT_SECONDS="30")

    assert outcome.status == 0, outcome.stderr
    assert outcome.calls.count("systemctl start mnt-models.mount") == 3


def test_installation_that_hangs_is_ended_at_the_deadline(host: InferenceHost) -> None:
    host.stub("dnf", "exec sleep 50")

    outcome = host.boot(SLIPWAY_INSTALL_SECONDS="1")

    assert_kept_out(host, outcome, "install Mountpoint", "gave up within 1 s, last status 124")


def test_device_that_appears_late_is_waited_for(host: InferenceHost) -> None:
    device = host.root / "dev/neuron0"
    device.unlink()
    host.stub("sleep", f': >"{device}"')

    assert host.boot(SLIPWAY_DEVICE_SECONDS="20").status == 0


def test_script_works_behind_exports_and_in_front_of_other_lines(host: InferenceHost, tmp_path: Path) -> None:
    """The construct renders the variables before the text, CDK's capacity provider adds its own line after it."""
    exports = "".join(f"export {name}={value}\n" for name, value in VARIABLES.items())
    user_data = tmp_path / "user-data"
    user_data.write_text(f'#!/bin/bash\n{exports}{SCRIPT.read_text()}echo ECS_CLUSTER=x >>"$ECS_CONFIG"\n')

    outcome = host.run(user_data)

    assert outcome.status == 0, outcome.stderr
    assert host.read("/etc/ecs/ecs.config").endswith("ECS_CLUSTER=llm-inference\nECS_CLUSTER=x\n")


def test_user_data_leaves_room_for_the_variables() -> None:
    assert SCRIPT.stat().st_size <= USER_DATA_LIMIT_BYTES / 2
