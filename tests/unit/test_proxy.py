"""An environment with an HTTP proxy: who uses it, what never goes through it, and that hosts may reach it."""

import json
import urllib.request
from pathlib import Path
from typing import Any

import pytest

from slipway.config import load_environment
from slipway.config.environment import Environment
from slipway_stacks.settings.proxy import proxy_bypass, proxy_settings
from tests.assembly import Assembly, environment_path
from tests.config.files import MINIMAL, changed, load, write
from tests.conftest import AssemblyFactory

URL = "http://proxy.example.internal:3128"
CLUSTER = "Custom::PclusterCluster"


@pytest.fixture(scope="module")
def proxied(assemblies: AssemblyFactory) -> Assembly:
    return assemblies("proxied")


def environment() -> Environment:
    return load_environment(environment_path("proxied"))


def cluster_configuration(assembly: Assembly) -> Any:
    resources = assembly.template("training")["Resources"].values()
    [configuration] = [
        resource["Properties"]["ClusterConfiguration"]
        for resource in resources
        if "ClusterConfiguration" in resource.get("Properties", {})
    ]
    return configuration


def is_direct(host: str) -> bool:
    """Whether Python's programs, the AWS CLI among them, reach a host without the proxy."""
    return bool(urllib.request.proxy_bypass(host, {"no": ",".join(proxy_bypass(environment()))}))


def test_every_kind_of_node_uses_it(proxied: Assembly) -> None:
    configuration = cluster_configuration(proxied)

    kinds = [configuration["HeadNode"], *configuration["LoginNodes"]["Pools"]]
    kinds += configuration["Scheduling"]["SlurmQueues"]
    assert len(kinds) == 4
    assert all(kind["Networking"]["Proxy"] == {"HttpProxyAddress": URL} for kind in kinds)


def test_hosts_of_the_endpoint_are_told_of_it_and_may_reach_its_port(proxied: Assembly) -> None:
    text = json.dumps(proxied.template("inference"))

    assert f"export SLIPWAY_PROXY={URL}" in text
    assert "export SLIPWAY_PROXY_BYPASS=localhost,127.0.0.1" in text
    egress = [
        rule
        for resource in proxied.template("inference")["Resources"].values()
        if resource["Type"] == "AWS::EC2::SecurityGroup"
        for rule in resource["Properties"].get("SecurityGroupEgress", ())
    ]
    assert [rule["CidrIp"] for rule in egress if rule.get("FromPort") == 3128] == ["0.0.0.0/0"]


@pytest.mark.parametrize(
    "host",
    [
        "localhost",
        "127.0.0.1",
        "169.254.169.254",
        "169.254.170.2",
        "169.254.170.23",
        "ip-10-80-1-2.us-east-2.compute.internal",
        "trn1-dy-trn1-32xl-1.proxied.pcluster",
        "internal-endpoint-123.us-east-2.elb.amazonaws.com",
        "s3.us-east-2.amazonaws.com",
        "data.s3.us-east-2.amazonaws.com",
        "al2023-repos-us-east-2-de612dc2.s3.dualstack.us-east-2.amazonaws.com",
    ],
)
def test_what_never_goes_through_it(host: str) -> None:
    assert is_direct(host)


@pytest.mark.parametrize(
    "host",
    ["pypi.org", "huggingface.co", "ec2.us-east-2.amazonaws.com", "s3.us-west-2.amazonaws.com", "public.ecr.aws"],
)
def test_what_goes_through_it(host: str) -> None:
    assert not is_direct(host)


def test_ranges_and_the_other_metadata_address_are_there_for_programs_that_know_them() -> None:
    assert {"10.80.0.0/16", "fd00:ec2::254", "::1"} <= set(proxy_bypass(environment()))


def test_what_the_file_adds_comes_last() -> None:
    proxy = proxy_settings(environment())

    assert proxy is not None
    assert proxy.no_proxy.endswith(",.example.internal,10.90.0.0/16")


def test_instances_have_another_domain_in_us_east_1(tmp_path: Path) -> None:
    there = {
        "region": "us-east-1",
        "network.training_availability_zone_id": "use1-az5",
        "network.other_availability_zone_ids": ["use1-az4"],
    }
    bypass = proxy_bypass(load(tmp_path, changed(MINIMAL, there)))

    assert ".ec2.internal" in bypass
    assert not [entry for entry in bypass if entry.endswith("compute.internal")]


def test_an_isolated_network_reaches_all_of_aws_in_the_region_past_it() -> None:
    spec = environment()
    network = spec.network.model_copy(update={"isolated": True})
    bypass = ",".join(proxy_bypass(spec.model_copy(update={"network": network})))

    assert urllib.request.proxy_bypass("ec2.us-east-2.amazonaws.com", {"no": bypass})
    assert not urllib.request.proxy_bypass("pypi.org", {"no": bypass})
    assert network.reaches_internet


def test_an_environment_without_proxy_has_none(tmp_path: Path) -> None:
    assert proxy_settings(load_environment(write(tmp_path, changed(MINIMAL, {})))) is None
