"""What an environment uses and does not own is after `cdk destroy` what it was before `cdk deploy`."""

from pathlib import Path
from typing import Any

import boto3
import pytest

from slipway.rehearse import phases
from slipway.rehearse.isolation import only_variables
from slipway.rehearse.session import Session
from tests.assembly import environment_path
from tests.rehearse.sessions import EMPTY_ACCOUNT, emulated

ENVIRONMENT = "existingvpc"
VPC = "vpc-0123456789abcdef0"


def network_of(session: Session) -> dict[str, Any]:
    """Everything that EC2 says of the VPC: itself, and what is in it."""
    assert session.emulated is not None
    with only_variables(session.emulated.variables):
        ec2 = boto3.client("ec2")
    inside = [{"Name": "vpc-id", "Values": [VPC]}]
    return {
        "vpc": ec2.describe_vpcs(VpcIds=[VPC])["Vpcs"],
        # How many addresses are free is no property of a subnet.
        "subnets": [
            {name: value for name, value in subnet.items() if name != "AvailableIpAddressCount"}
            for subnet in ec2.describe_subnets(Filters=inside)["Subnets"]
        ],
        "route tables": ec2.describe_route_tables(Filters=inside)["RouteTables"],
        "security groups": ec2.describe_security_groups(Filters=inside)["SecurityGroups"],
        "network ACLs": ec2.describe_network_acls(Filters=inside)["NetworkAcls"],
        "NAT gateways": ec2.describe_nat_gateways(Filters=inside)["NatGateways"],
        "endpoints": ec2.describe_vpc_endpoints(Filters=inside)["VpcEndpoints"],
        "flow logs": ec2.describe_flow_logs(Filters=[{"Name": "resource-id", "Values": [VPC]}])["FlowLogs"],
    }


@pytest.mark.rehearsal
def test_a_deployment_and_its_destruction_change_nothing_of_the_network(tmp_path: Path) -> None:
    with emulated(environment_path(ENVIRONMENT), tmp_path, EMPTY_ACCOUNT) as session:
        before = network_of(session)
        for phase in (phases.bootstrap, phases.deploy):
            phase(session)
        deployed = network_of(session)
        for phase in (phases.unprotect, phases.destroy, phases.find_leftovers):
            phase(session)
        after = network_of(session)

    assert len(before["subnets"]) > 2
    assert len(deployed.pop("security groups")) > len(before["security groups"])
    assert deployed == {part: what for part, what in before.items() if part != "security groups"}
    assert after == before
