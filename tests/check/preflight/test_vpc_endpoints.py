"""PF29: VPC endpoints that AWS must offer, and those that an isolated existing VPC must have."""

from collections.abc import Callable
from typing import Any

import pytest

from slipway.assembly.existing_network import existing_network
from slipway.check.preflight.answer import Answer
from slipway.check.preflight.needs import Needs
from tests.check.preflight.aws import Aws
from tests.check.preflight.conftest import Ask, NeedsFactory

VPC = "vpc-0123456789abcdef0"
HTTPS = {"IpProtocol": "tcp", "FromPort": 443, "ToPort": 443, "IpRanges": [{"CidrIp": "10.0.0.0/8"}]}


def account_of(needs: Needs) -> dict[str, Any]:
    """What EC2 says of the VPC in an account where everything is there: endpoints by service, and the rest."""
    network = existing_network(stack.template for stack in needs.stacks)
    assert network
    assert network.endpoints
    endpoints = {
        needed.service: {
            "VpcEndpointId": f"vpce-{needed.service}",
            "VpcEndpointType": needed.kind.capitalize(),
            "ServiceName": f"com.amazonaws.us-west-2.{needed.service}",
            "State": "available",
            "PrivateDnsEnabled": needed.kind == "interface",
            "RouteTableIds": [] if needed.kind == "interface" else ["rtb-1"],
            "Groups": [{"GroupId": "sg-1"}],
        }
        for needed in network.endpoints
    }
    return {"endpoints": endpoints, "rules": [dict(HTTPS)], "tables": [{"RouteTableId": "rtb-1"}]}


def asked(
    aws: Aws, ask: Ask, needs: Needs, broken: Callable[[dict[str, Any]], object] = lambda _: None
) -> list[Answer]:
    """The answers in such an account, with one thing broken."""
    account = account_of(needs)
    broken(account)
    aws.replies |= {
        "ec2.DescribeVpcEndpoints": {"VpcEndpoints": list(account["endpoints"].values())},
        "ec2.DescribeSecurityGroups": {"SecurityGroups": [{"GroupId": "sg-1", "IpPermissions": account["rules"]}]},
        "ec2.DescribeRouteTables": {
            "RouteTables": [{**table, "Associations": [{"Main": True}]} for table in account["tables"]]
        },
    }
    return ask("PF29", needs, aws)


def test_an_isolated_vpc_with_all_endpoints_passes(aws: Aws, ask: Ask, needs_of: NeedsFactory) -> None:
    (answer,) = asked(aws, ask, needs_of("existing"))

    assert (answer.status, answer.subject) == ("passed", f"VPC endpoints of {VPC}")


BROKEN: dict[str, tuple[Callable[[dict[str, Any]], object], str, str, str]] = {
    "no interface endpoint": (
        lambda account: account["endpoints"].pop("ecr.dkr"),
        "failed",
        f"{VPC} has no interface endpoint for it",
        f"create-vpc-endpoint --region us-west-2 --vpc-id {VPC} --service-name com.amazonaws.us-west-2.ecr.dkr "
        "--vpc-endpoint-type Interface --subnet-ids subnet-0aaaaaaaaaaaaaaa4 subnet-0aaaaaaaaaaaaaaa1",
    ),
    "no gateway endpoint": (
        lambda account: account["endpoints"].pop("dynamodb"),
        "failed",
        f"{VPC} has no gateway endpoint for it",
        "--service-name com.amazonaws.us-west-2.dynamodb",
    ),
    "not available yet": (
        lambda account: account["endpoints"]["logs"].update(State="pending"),
        "failed",
        "has no interface endpoint",
        "com.amazonaws.us-west-2.logs",
    ),
    "own names": (
        lambda account: account["endpoints"]["ec2"].update(PrivateDnsEnabled=False),
        "failed",
        "its private DNS names are off",
        "modify-vpc-endpoint --region us-west-2 --vpc-endpoint-id vpce-ec2 --private-dns-enabled",
    ),
    "no route": (
        lambda account: account["endpoints"]["s3"].update(RouteTableIds=["rtb-other"]),
        "failed",
        "rtb-1 has no route to it",
        "--vpc-endpoint-id vpce-s3 --add-route-table-ids rtb-1",
    ),
    "closed group": (
        lambda account: account["rules"][0].update(IpRanges=[{"CidrIp": "10.80.0.0/24"}]),
        "warning",
        "lets in HTTPS from 10.80.0.0/16",
        "--add-security-group-ids",
    ),
    "another port": (lambda account: account["rules"][0].update(FromPort=444, ToPort=444), "warning", "HTTPS", "rule"),
}


@pytest.mark.parametrize("name", BROKEN)
def test_what_is_missing_is_named(name: str, aws: Aws, ask: Ask, needs_of: NeedsFactory) -> None:
    broken, status, message, fix = BROKEN[name]
    answers = asked(aws, ask, needs_of("existing"), broken)

    assert {answer.status for answer in answers} == {status}
    assert all(message in answer.message and fix in str(answer.fix) for answer in answers)


def test_an_environment_with_a_way_out_asks_nothing(aws: Aws, ask: Ask, needs_of: NeedsFactory) -> None:
    assert ask("PF29", needs_of("default"), aws) == []
    assert ask("PF29", needs_of("existingvpc"), aws) == []


def test_new_endpoints_are_offered_in_their_zones(aws: Aws, ask: Ask, needs_of: NeedsFactory) -> None:
    (answer,) = ask("PF29", needs_of("isolated"), aws)

    assert answer.status == "passed"
    assert answer.message.endswith("offered where they are asked from: usw2-az1, usw2-az4")


def test_a_zone_without_a_service_fails_before_the_deployment(aws: Aws, ask: Ask, needs_of: NeedsFactory) -> None:
    def offers(parameters: Any) -> Any:
        names = parameters["Filters"][0]["Values"]
        return {
            "ServiceDetails": [
                {
                    "ServiceName": name,
                    "AvailabilityZoneIds": ["usw2-az1"] if name.endswith(".ecs") else ["usw2-az1", "usw2-az4"],
                }
                for name in names
                if not name.endswith(".ecr.api")
            ]
        }

    aws.replies["ec2.DescribeVpcEndpointServices"] = offers
    answers = ask("PF29", needs_of("isolated"), aws)

    assert [(answer.subject, answer.message) for answer in answers] == [
        ("com.amazonaws.us-west-2.ecr.api", "AWS offers it in no zone, not in usw2-az1, usw2-az4"),
        ("com.amazonaws.us-west-2.ecs", "AWS offers it in usw2-az1, not in usw2-az4"),
    ]
    assert {answer.status for answer in answers} == {"failed"}
