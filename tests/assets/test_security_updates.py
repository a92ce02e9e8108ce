"""Security updates of head and login nodes: when they run, what they say, what they leave alone."""

from __future__ import annotations

import pytest

from tests.assets.cluster_node import ClusterNode
from tests.assets.sandbox import ASSETS, Outcome

TIMER = "slipway-security-updates.timer"
SCRIPT = "/opt/slipway/security_updates.sh"


def update(node: ClusterNode) -> Outcome:
    """Run what the timer runs."""
    return node.run(ASSETS / "cluster" / "security_updates.sh")


def with_ubuntus_programs(node: ClusterNode) -> ClusterNode:
    node.stub("unattended-upgrade", 'printf "%s %s\\n" "$DEBIAN_FRONTEND" "$NEEDRESTART_MODE" >"$STATE/variables"')
    node.stub(
        "needrestart",
        'printf "NEEDRESTART-VER: 3.6\\nNEEDRESTART-SVC: munge.service\\nNEEDRESTART-SVC: ssh.service\\n"',
    )
    return node


@pytest.mark.parametrize("role", ["head", "login"])
def test_the_timer_is_started_last(role: str, ubuntu: ClusterNode) -> None:
    outcome = {"head": ubuntu.set_up_head, "login": ubuntu.set_up_login}[role]()

    assert outcome.status == 0, outcome.stderr
    assert outcome.calls[-1] == f"systemctl enable --quiet --now {TIMER}"
    assert ubuntu.read(f"/etc/systemd/system/{TIMER}")
    assert f"ExecStart=/bin/bash {SCRIPT}\n" in ubuntu.read("/etc/systemd/system/slipway-security-updates.service")
    assert ubuntu.read(SCRIPT) == (ASSETS / "cluster/security_updates.sh").read_text(encoding="utf-8")


def test_a_second_set_up_stops_the_timer_before_it_needs_the_package_lock(ubuntu: ClusterNode) -> None:
    ubuntu.stub("systemctl", f'[[ "$1" != cat || "$2" == {TIMER} ]]')

    outcome = ubuntu.set_up_head()

    calls = outcome.calls_of("systemctl")
    assert calls.index(f"systemctl disable --now {TIMER}") < calls.index(f"systemctl enable --quiet --now {TIMER}")
    first_hold = next(call for call in outcome.calls if call.startswith("apt-mark hold"))
    assert outcome.calls.index(f"systemctl disable --now {TIMER}") < outcome.calls.index(first_hold)


def test_compute_nodes_are_replaced_not_updated(ubuntu: ClusterNode) -> None:
    outcome = ubuntu.set_up_compute()

    assert outcome.status == 0, outcome.stderr
    assert not [call for call in outcome.calls if "enable" in call and TIMER in call]
    assert not (ubuntu.root / SCRIPT.lstrip("/")).exists()


def test_ubuntu_says_what_still_runs_old_code(ubuntu: ClusterNode) -> None:
    with_ubuntus_programs(ubuntu).write("/run/reboot-required")

    outcome = update(ubuntu)

    assert outcome.status == 0, outcome.stderr
    assert outcome.stdout.splitlines()[-1] == (
        "slipway security updates: installed; a reboot is due; services with old code: munge.service ssh.service"
    )
    assert [call.split()[0] for call in outcome.calls] == ["apt-get", "unattended-upgrade", "needrestart"]
    assert (ubuntu.state / "variables").read_text() == "noninteractive l\n"
    assert not outcome.calls_of("systemctl")


def test_ubuntu_without_unattended_upgrades_installs_it(ubuntu: ClusterNode) -> None:
    ubuntu.stub_first(
        "apt-get",
        'if [[ "$*" == *install* ]]; then printf "#!/bin/sh\\n" >"${0%/*}/unattended-upgrade"; '
        'chmod 755 "${0%/*}/unattended-upgrade"; fi',
    )

    outcome = update(ubuntu)

    assert outcome.status == 0, outcome.stderr
    assert outcome.calls_of("apt-get")[-1].endswith("install unattended-upgrades")


@pytest.mark.parametrize("failing", ["apt-get", "unattended-upgrade"])
def test_a_failure_is_said_and_ends_the_unit_as_failed(failing: str, ubuntu: ClusterNode) -> None:
    with_ubuntus_programs(ubuntu).stub(failing, "exit 7")

    outcome = update(ubuntu)

    assert outcome.status == 7
    assert "security updates: FAILED with status 7" in outcome.stdout
    assert "installed;" not in outcome.stdout


def test_amazon_linux_looks_beyond_the_release_of_its_image(amazon_linux: ClusterNode) -> None:
    amazon_linux.stub("dnf", '[[ "$*" != *--reboothint ]]')

    outcome = update(amazon_linux)

    assert outcome.status == 0, outcome.stderr
    (upgrade, *_) = outcome.calls_of("dnf")
    assert upgrade.endswith(" upgrade --security")
    assert "--releasever=latest" in upgrade
    assert outcome.stdout.splitlines()[-1].startswith("slipway security updates: installed; a reboot is due;")
    amazon_linux.set_up_login()
    (held,) = [line for line in amazon_linux.read("/etc/dnf/dnf.conf").splitlines() if line.startswith("excludepkgs=")]
    assert held == "excludepkgs=" + " ".join(
        argument.removeprefix("--exclude=") for argument in upgrade.split() if argument.startswith("--exclude=")
    )
