"""A rehearsal notices whatever happens to an existing VPC; `make rehearse-...` proves that nothing does."""

from pathlib import Path

import boto3
import pytest

from slipway.rehearse import phases
from slipway.rehearse.isolation import only_variables
from tests.assembly import ENVIRONMENT_FILES
from tests.rehearse.sessions import EMPTY_ACCOUNT, emulated

pytestmark = pytest.mark.rehearsal
VPC = "vpc-0123456789abcdef0"


def test_a_change_of_an_existing_vpc_fails_the_rehearsal(tmp_path: Path) -> None:
    with emulated(ENVIRONMENT_FILES["existingvpc"], tmp_path, EMPTY_ACCOUNT) as session:
        assert phases.find_leftovers(session) == "nothing is left"
        assert session.emulated
        with only_variables(session.emulated.variables):
            ec2 = boto3.client("ec2", endpoint_url=session.emulated.process.endpoint, region_name="us-west-2")
            tables = ec2.describe_route_tables(Filters=[{"Name": "vpc-id", "Values": [VPC]}])["RouteTables"]
            private = next(row for row in tables if any(route.get("NatGatewayId") for route in row["Routes"]))
            ec2.create_tags(Resources=["subnet-0aaaaaaaaaaaaaaa4"], Tags=[{"Key": "left", "Value": "behind"}])
            ec2.delete_route(RouteTableId=private["RouteTableId"], DestinationCidrBlock="0.0.0.0/0")
            ec2.modify_vpc_attribute(VpcId=VPC, EnableDnsHostnames={"Value": False})

        with pytest.raises(phases.PhaseFailedError, match="not as it was: Subnets, RouteTables, enableDnsHostnames"):
            phases.find_leftovers(session)
