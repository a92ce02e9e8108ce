"""A cluster in a network without the internet: what aws-parallelcluster says, and which endpoints the judge wants."""

from pathlib import Path
from typing import Any

import pytest

from slipway.review.judge.assembly import read_assembly
from tests.conftest import AssemblyFactory
from tests.review.judge.test_team_and_directory import judged, open_findings

pytestmark = pytest.mark.judge


@pytest.fixture
def isolated(assemblies: AssemblyFactory) -> dict[str, Any]:
    """An environment without NAT, as the judge reads it."""
    return read_assembly(assemblies("isolated").directory)


def test_a_cluster_without_nat_is_accepted(isolated: dict[str, Any], tmp_path: Path) -> None:
    assert open_findings(judged(isolated, tmp_path)) == []


def test_a_service_without_its_endpoint_is_found(isolated: dict[str, Any], tmp_path: Path) -> None:
    (network,) = [stack for stack in isolated["stacks"] if stack["name"] == "slipway-isolated-network"]
    resources = network["template"]["Resources"]
    for logical_id, resource in list(resources.items()):
        if resource.get("Properties", {}).get("ServiceName") == "com.amazonaws.us-west-2.cloudformation":
            del resources[logical_id]

    findings = open_findings(judged(isolated, tmp_path))

    assert {source for source, _ in findings} == {"subnets without way out"}
    assert all("reach no cloudformation: there is no VPC endpoint" in message for _, message in findings)
    assert len(findings) == 3, "head node, queue, login nodes"


def test_managed_dns_needs_a_way_out(isolated: dict[str, Any], tmp_path: Path) -> None:
    (training,) = [stack for stack in isolated["stacks"] if stack["name"] == "slipway-isolated-training"]
    (cluster,) = [
        resource
        for resource in training["template"]["Resources"].values()
        if resource["Type"] == "Custom::PclusterCluster"
    ]
    del cluster["Properties"]["ClusterConfiguration"]["Scheduling"]["SlurmSettings"]["Dns"]

    findings = open_findings(judged(isolated, tmp_path))

    assert any("its default route must lead to a NAT gateway" in message for _, message in findings)
