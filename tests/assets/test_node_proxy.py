"""Nodes of a cluster with an HTTP proxy: the set-up, shells, services and AWS's agents use it, but not for S3."""

from __future__ import annotations

import subprocess
import urllib.request
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.assets.cluster_node import PLAIN, ClusterNode
from tests.assets.sandbox import ASSETS, Outcome

URL = "http://proxy.example.internal:3128"
BYPASS = "localhost,169.254.169.254,10.40.0.0/16,.s3.us-west-2.amazonaws.com"
# What ParallelCluster's shell has when it runs a custom action (aws-parallelcluster 3.16.1, resources/*/user_data.sh).
OF_PARALLELCLUSTER = {
    **dict.fromkeys(("http_proxy", "https_proxy", "HTTP_PROXY", "HTTPS_PROXY"), URL),
    **dict.fromkeys(("no_proxy", "NO_PROXY"), "localhost,127.0.0.1,169.254.169.254"),
}
VARIABLES = [
    f"http_proxy={URL}",
    f"https_proxy={URL}",
    f"HTTP_PROXY={URL}",
    f"HTTPS_PROXY={URL}",
    f"no_proxy={BYPASS}",
    f"NO_PROXY={BYPASS}",
]
# An agent that is installed: the others of proxy.sh are not.
AGENT = "amazon-ssm-agent.service"
SYSTEMCTL = f'[[ "$1" != cat || "$2" == {AGENT} || "$2" == apt-daily.timer ]]'

SetUp = Callable[..., Outcome]
ROLES = {
    "head": lambda node, **environment: node.set_up_head(**environment),
    "login": lambda node, **environment: node.set_up_login(**environment),
    "compute": lambda node, **environment: node.set_up_compute(PLAIN, stack="none", **environment),
}


def with_proxy(node: ClusterNode) -> ClusterNode:
    node.set_proxy(URL, BYPASS)
    node.stub("systemctl", SYSTEMCTL)
    return node


@pytest.mark.parametrize("role", ROLES)
def test_node_has_the_variables_for_services_and_shells(ubuntu: ClusterNode, role: str) -> None:
    outcome = ROLES[role](with_proxy(ubuntu), **OF_PARALLELCLUSTER)

    assert outcome.status == 0, outcome.stderr
    assert ubuntu.read("/etc/slipway/proxy.conf").splitlines() == VARIABLES
    # Shells read it after ParallelCluster's proxy.sh, which comes first by its name.
    profile = ubuntu.read("/etc/profile.d/slipway-proxy.sh").replace("/etc/", f"{ubuntu.root}/etc/")
    shell = subprocess.run(
        ["bash", "-c", f"{profile}\nexec env"], env=OF_PARALLELCLUSTER, capture_output=True, text=True, check=True
    )
    assert set(VARIABLES) <= set(shell.stdout.splitlines())


@pytest.mark.parametrize("role", ROLES)
def test_node_without_proxy_gets_nothing_of_it(ubuntu: ClusterNode, role: str) -> None:
    outcome = ROLES[role](ubuntu)

    assert outcome.status == 0, outcome.stderr
    assert not (ubuntu.root / "etc/slipway/proxy.conf").exists()
    assert not (ubuntu.root / "etc/profile.d/slipway-proxy.sh").exists()
    assert not [call for call in outcome.calls_of("systemctl") if "agent" in call]


def test_installed_agents_are_restarted_once_with_the_variables(ubuntu: ClusterNode) -> None:
    first = with_proxy(ubuntu).set_up_login()
    again = ubuntu.set_up_login()

    drop_in = ubuntu.read(f"/etc/systemd/system/{AGENT}.d/slipway-proxy.conf")
    assert drop_in == "[Service]\nEnvironmentFile=/etc/slipway/proxy.conf\n"
    restart = f"systemctl try-restart {AGENT}"
    assert [call for call in first.calls_of("systemctl") if "try-restart" in call] == [restart]
    assert restart not in again.calls_of("systemctl")


def test_agent_that_does_not_restart_ends_no_set_up(ubuntu: ClusterNode) -> None:
    with_proxy(ubuntu).stub("systemctl", f'[[ "$1" != try-restart ]] && {SYSTEMCTL}')

    outcome = ubuntu.set_up_login()

    assert outcome.status == 0, outcome.stderr
    assert "WARNING: amazon-ssm-agent did not restart and does not use the proxy" in outcome.stderr


def test_agents_are_restarted_for_another_bypass(ubuntu: ClusterNode) -> None:
    with_proxy(ubuntu).set_up_login()
    ubuntu.set_proxy(URL, "localhost,.example.internal")

    outcome = ubuntu.set_up_login()

    assert f"systemctl try-restart {AGENT}" in outcome.calls_of("systemctl")
    assert "no_proxy=localhost,.example.internal" in ubuntu.read("/etc/slipway/proxy.conf").splitlines()


def test_set_up_itself_uses_the_proxy_and_not_for_s3(ubuntu: ClusterNode) -> None:
    with_proxy(ubuntu)
    ubuntu.stub_first("aws", 'printf "%s\\n" "$no_proxy" >>"$STATE/no_proxy"')
    ubuntu.stub("modprobe", 'printf "%s %s\\n" "$https_proxy" "$NO_PROXY" >"$STATE/seen"')

    outcome = ubuntu.set_up_login(**OF_PARALLELCLUSTER)

    assert outcome.status == 0, outcome.stderr
    assert (ubuntu.state / "seen").read_text(encoding="utf-8") == f"{URL} {BYPASS}\n"
    fetches = set((ubuntu.state / "no_proxy").read_text(encoding="utf-8").splitlines())
    [no_proxy] = fetches
    # The AWS CLI asks Python.
    assert urllib.request.proxy_bypass("scripts.s3.us-west-2.amazonaws.com", {"no": no_proxy})
    assert not urllib.request.proxy_bypass("ec2.us-west-2.amazonaws.com", {"no": no_proxy})


def test_services_that_reach_the_network_read_the_file() -> None:
    for unit in ("slipway-neuron-monitor.service", "slipway-security-updates.service"):
        assert "EnvironmentFile=-/etc/slipway/proxy.conf" in (ASSETS / "cluster" / unit).read_text(encoding="utf-8")


def test_file_is_the_one_that_jobs_read() -> None:
    stage = Path(ASSETS / "jobs/slipway_jobs/chain/templates/slurm/stage.sh.j2").read_text(encoding="utf-8")
    assert "/etc/profile.d/slipway-proxy.sh" in stage
