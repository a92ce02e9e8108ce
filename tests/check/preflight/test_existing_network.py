"""PF28: every row of what must hold of an existing VPC, each broken once in an account that fits otherwise."""

from collections.abc import Callable, Mapping
from typing import Any

import pytest

from slipway.check.preflight.answer import Answer
from slipway.check.preflight.check import CHECKS
from tests.check.preflight.aws import Aws
from tests.check.preflight.conftest import Ask, NeedsFactory
from tests.check.preflight.handmade import resources_of_stack, standing_stack
from tests.check.preflight.test_every_check import action
from tests.check.preflight.well_networks import existing_vpc

VPC, PRIVATE, PUBLIC = "vpc-0123456789abcdef0", "subnet-0aaaaaaaaaaaaaaa4", "subnet-0bbbbbbbbbbbbbbb4"
Break = Callable[[dict[str, Any]], object]


def routes(account: Mapping[str, Any], number: int) -> list[dict[str, Any]]:
    """The routes of a table."""
    found: list[dict[str, Any]] = account["ec2.DescribeRouteTables"]["RouteTables"][number]["Routes"]
    return found


def subnet(account: Mapping[str, Any], id_: str) -> dict[str, Any]:
    """What EC2 says of a subnet."""
    found: dict[str, Any] = account["subnets"][id_]
    return found


BROKEN: dict[str, tuple[Break, str, str, str]] = {
    "no VPC": (lambda a: a["ec2.DescribeVpcs"].update(Vpcs=[]), VPC, "failed", "has no such VPC in us-west-2"),
    "range": (
        lambda a: a["ec2.DescribeVpcs"]["Vpcs"][0]["CidrBlockAssociationSet"][0].update(CidrBlock="10.9.0.0/16"),
        VPC,
        "failed",
        "10.80.0.0/16 is not one of its ranges: 10.9.0.0/16",
    ),
    "names": (lambda a: a["attributes"].update(enableDnsHostnames=False), VPC, "failed", "`enableDnsHostnames` is off"),
    "resolver": (lambda a: a["attributes"].update(enableDnsSupport=False), VPC, "failed", "`enableDnsSupport` is off"),
    "no subnet": (lambda a: a["subnets"].pop(PRIVATE), PRIVATE, "failed", "has no such subnet in us-west-2"),
    "another VPC": (
        lambda a: subnet(a, PUBLIC).update(VpcId="vpc-9"),
        PUBLIC,
        "failed",
        "it is in vpc-9, not in vpc-0123456789abcdef0",
    ),
    "another zone": (
        lambda a: subnet(a, PRIVATE).update(AvailabilityZoneId="usw2-az3"),
        PRIVATE,
        "failed",
        "it is in usw2-az3",
    ),
    "another range": (
        lambda a: subnet(a, PRIVATE).update(CidrBlock="100.64.0.0/20"),
        PRIVATE,
        "failed",
        "its range 100.64.0.0/20 is not in 10.80.0.0/16",
    ),
    "few addresses": (
        lambda a: subnet(a, PRIVATE).update(AvailableIpAddressCount=3),
        PRIVATE,
        "failed",
        "it has too few: 3 free addresses, ",
    ),
    "black hole": (
        lambda a: routes(a, 0)[0].update(State="blackhole"),
        PRIVATE,
        "failed",
        "no default route that works",
    ),
    "private in public": (
        lambda a: routes(a, 0)[0].update(GatewayId="igw-1"),
        PRIVATE,
        "failed",
        "its default route leads to igw-1",
    ),
    "S3": (lambda a: routes(a, 0).pop(), PRIVATE, "warning", "no gateway endpoint takes its traffic to S3"),
    "public in private": (
        lambda a: routes(a, 1)[0].update(GatewayId="tgw-1"),
        PUBLIC,
        "failed",
        "its default route leads to tgw-1, not to an internet gateway",
    ),
}


def asked(aws: Aws, ask: Ask, needs_of: NeedsFactory, broken: Break = lambda _: None) -> list[Answer]:
    """The answers about tests/environments/existingvpc.yaml in an account that fits, with one thing broken."""
    account = existing_vpc()
    broken(account)
    aws.replies |= {name: reply for name, reply in account.items() if "." in name}
    return ask("PF28", needs_of("existingvpc"), aws)


def test_an_account_that_fits_passes(aws: Aws, ask: Ask, needs_of: NeedsFactory) -> None:
    answers = asked(aws, ask, needs_of)

    assert [(answer.status, answer.subject) for answer in answers] == [
        ("passed", VPC),
        *(("passed", id_) for id_ in (PRIVATE, "subnet-0aaaaaaaaaaaaaaa1", PUBLIC, "subnet-0bbbbbbbbbbbbbbb1")),
    ]


@pytest.mark.parametrize("name", BROKEN)
def test_what_does_not_fit_is_told(name: str, aws: Aws, ask: Ask, needs_of: NeedsFactory) -> None:
    broken, subject, status, message = BROKEN[name]
    answers = [answer for answer in asked(aws, ask, needs_of, broken) if answer.status != "passed"]

    assert {(answer.subject, answer.status) for answer in answers if message in answer.message} >= {(subject, status)}
    assert all(message in answer.message and answer.fix for answer in answers)


def test_few_addresses_are_a_warning_once_the_environment_has_taken_its_share(
    aws: Aws, ask: Ask, needs_of: NeedsFactory
) -> None:
    aws.replies |= {
        "cloudformation.DescribeStacks": standing_stack("slipway-existingvpc-storage", environment="existingvpc"),
        "cloudformation.ListStackResources": resources_of_stack({"fs-1": "AWS::FSx::FileSystem"}),
    }
    answers = asked(aws, ask, needs_of, BROKEN["few addresses"][0])

    assert [answer.status for answer in answers if answer.subject == PRIVATE] == ["warning"]
    assert {action(call) for call in aws.calls} == set(CHECKS["PF28"].actions)


def test_the_training_subnet_needs_room_for_all_stacks(aws: Aws, ask: Ask, needs_of: NeedsFactory) -> None:
    """Slurm's 2 nodes, 5 of Kubernetes with 11 each, 16 for its API, 5 for storage, 4 for the endpoint."""
    messages = {answer.subject: answer.message for answer in asked(aws, ask, needs_of)}

    assert messages[PRIVATE] == "private, usw2-az4, 4000 free addresses, 82 can be needed"
    assert messages[PUBLIC] == "public, usw2-az4, 4000 free addresses, 8 can be needed"


def test_an_environment_with_a_vpc_of_its_own_asks_nothing(aws: Aws, ask: Ask, needs_of: NeedsFactory) -> None:
    assert ask("PF28", needs_of("default"), aws) == []
    assert not aws.calls
