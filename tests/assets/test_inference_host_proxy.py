"""An inference host with an HTTP proxy: packages, AWS, images and the ECS agent go through it."""

from __future__ import annotations

from pathlib import Path

import pytest

from neuron_constructs.proxy import Proxy
from tests.assets.inference_host import InferenceHost, user_data
from tests.assets.sandbox import ASSETS

PROXY = Proxy(
    url="http://proxy.example.internal:3128", bypass=("169.254.169.254", "169.254.170.2", ".s3.us-west-2.amazonaws.com")
)
BYPASS = "169.254.169.254,169.254.170.2,.s3.us-west-2.amazonaws.com"
VARIABLES = {
    **dict.fromkeys(("http_proxy", "https_proxy", "HTTP_PROXY", "HTTPS_PROXY"), PROXY.url),
    **dict.fromkeys(("no_proxy", "NO_PROXY"), BYPASS),
}
SEEN = 'printf "%s %s %s %s\\n" "$https_proxy" "$HTTP_PROXY" "$no_proxy" "$NO_PROXY" >"$STATE/seen-by-{}"\n'


@pytest.fixture
def host(tmp_path: Path) -> InferenceHost:
    return InferenceHost(tmp_path, warm=1, proxy=PROXY)


def test_set_up_reaches_packages_aws_and_images_through_the_proxy(host: InferenceHost) -> None:
    for program in ("dnf", "aws", "docker"):
        host.stub_first(program, SEEN.format(program))

    outcome = host.boot()

    assert outcome.status == 0, outcome.stderr
    assert host.is_proven
    for program in ("dnf", "aws", "docker"):
        seen = (host.state / f"seen-by-{program}").read_text(encoding="utf-8")
        assert seen == f"{PROXY.url} {PROXY.url} {BYPASS} {BYPASS}\n"


def test_services_have_the_variables_before_they_start(host: InferenceHost) -> None:
    outcome = host.boot()

    lines = host.read("/etc/slipway/proxy.conf").splitlines()
    assert dict(line.split("=", 1) for line in lines) == VARIABLES
    for service in ("amazon-ssm-agent", "docker", "ecs"):
        drop_in = host.read(f"/etc/systemd/system/{service}.service.d/slipway-proxy.conf")
        assert drop_in == "[Service]\nEnvironmentFile=/etc/slipway/proxy.conf\n"
    calls = outcome.calls_of("systemctl")
    assert calls.index("systemctl try-restart amazon-ssm-agent.service") < calls.index(
        "systemctl start --job-mode=ignore-dependencies docker.service"
    )


def test_agent_reaches_docker_and_metadata_without_the_proxy(host: InferenceHost) -> None:
    host.boot()

    options = host.read("/etc/ecs/ecs.config").splitlines()
    assert f"HTTP_PROXY={PROXY.url}" in options
    assert f"HTTPS_PROXY={PROXY.url}" in options
    assert f"NO_PROXY={BYPASS},/var/run/docker.sock" in options


def test_agent_of_sessions_that_does_not_restart_keeps_no_host_from_service(host: InferenceHost) -> None:
    host.stub_first("systemctl", '[[ "$1" != try-restart ]] || exit 1')

    outcome = host.boot()

    assert outcome.status == 0, outcome.stderr
    assert "WARNING: no sessions: its agent did not restart" in outcome.stderr


def test_host_without_proxy_gets_nothing_of_it(tmp_path: Path) -> None:
    host = InferenceHost(tmp_path)

    assert host.boot().status == 0

    assert not (host.root / "etc/slipway/proxy.conf").exists()
    assert "PROXY" not in host.read("/etc/ecs/ecs.config")
    assert "SLIPWAY_PROXY=" not in user_data("mountpoint", published=False, warm_pool_count=0)


@pytest.mark.parametrize(
    "service", sorted((ASSETS / "inference" / "host").glob("*.service")), ids=lambda file: file.name
)
def test_each_service_of_a_host_reads_the_variables(service: Path) -> None:
    assert "EnvironmentFile=-/etc/slipway/proxy.conf" in service.read_text(encoding="utf-8")
