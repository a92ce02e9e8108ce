"""A cluster in an existing VPC passes ParallelCluster, which looks for the VPC and subnets in the account."""

import json
from pathlib import Path

import pytest

from slipway.review.judge.assembly import read_assembly
from tests.conftest import AssemblyFactory
from tests.review.judge.test_team_and_directory import judged, open_findings

pytestmark = pytest.mark.judge


def test_a_cluster_in_an_existing_vpc_passes(assemblies: AssemblyFactory, tmp_path: Path) -> None:
    assert open_findings(judged(read_assembly(assemblies("existingvpc").directory), tmp_path)) == []


def test_a_subnet_that_the_account_lacks_is_refused(assemblies: AssemblyFactory, tmp_path: Path) -> None:
    text = json.dumps(read_assembly(assemblies("existingvpc").directory))
    assembly = json.loads(
        text.replace('"SubnetId": "subnet-0aaaaaaaaaaaaaaa4"', '"SubnetId": "subnet-0fffffffffffffff0"')
    )

    assert "subnet-0fffffffffffffff0" in str(open_findings(judged(assembly, tmp_path)))


def test_a_cluster_with_a_proxy_on_every_kind_of_node_passes(assemblies: AssemblyFactory, tmp_path: Path) -> None:
    assert open_findings(judged(read_assembly(assemblies("proxied").directory), tmp_path)) == []
