"""An environment without the internet: deployed, destroyed, and nothing of it left."""

from pathlib import Path

import boto3
import pytest

from slipway.rehearse import phases
from slipway.rehearse.isolation import only_variables
from tests.assembly import environment_path
from tests.rehearse.sessions import EMPTY_ACCOUNT, emulated


@pytest.mark.rehearsal
def test_an_isolated_environment_comes_and_goes_with_its_endpoints(tmp_path: Path) -> None:
    with emulated(environment_path("isolated"), tmp_path, EMPTY_ACCOUNT) as session:
        assert session.emulated is not None
        with only_variables(session.emulated.variables):
            ec2 = boto3.client("ec2")
        for phase in (phases.bootstrap, phases.deploy):
            phase(session)
        endpoints = ec2.describe_vpc_endpoints()["VpcEndpoints"]
        gateways = [*ec2.describe_nat_gateways()["NatGateways"], *ec2.describe_internet_gateways()["InternetGateways"]]
        for phase in (phases.unprotect, phases.destroy, phases.find_leftovers):
            phase(session)
        left = ec2.describe_vpc_endpoints()["VpcEndpoints"]

    assert {endpoint["VpcEndpointType"] for endpoint in endpoints} == {"Interface", "Gateway"}
    assert len(endpoints) == 16
    assert gateways == []
    assert {endpoint["State"] for endpoint in left} <= {"deleted"}
