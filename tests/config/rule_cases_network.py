"""Rules about a VPC that is there already: a change that breaks each, and a near one that is allowed."""

from typing import Any

from tests.config.rule_cases import BOUND_JWT, ENDPOINT, SAFE_PUBLIC, Case, Changes

PRIVATE_SUBNETS = [
    {"id": "subnet-0aaaaaaaaaaaaaaa4", "availability_zone_id": "usw2-az4"},
    {"id": "subnet-0aaaaaaaaaaaaaaa1", "availability_zone_id": "usw2-az1"},
]
FURTHER_SUBNET = {"id": "subnet-0ccccccccccccccc0"}
PUBLIC_SUBNETS = [
    {"id": "subnet-0bbbbbbbbbbbbbbb4", "availability_zone_id": "usw2-az4"},
    {"id": "subnet-0bbbbbbbbbbbbbbb1", "availability_zone_id": "usw2-az1"},
]


def existing(**keys: Any) -> Changes:
    """Return an existing VPC with two private subnets."""
    vpc = {"vpc_id": "vpc-0123456789abcdef0", "cidr": "10.80.0.0/16", "private_subnets": PRIVATE_SUBNETS}
    return {"network.existing": {**vpc, **keys}}


EXISTING_NETWORK = [
    Case(
        "existing-network-complete",
        {**existing(), "network.cidr": "10.40.0.0/16"},
        "network.cidr",
        "it describes a new VPC, and network.existing names one. Remove it: network.existing has the range.",
        existing(),
    ),
    *(
        Case("existing-network-complete", {**existing(), f"network.{name}": value}, f"network.{name}", "Remove it", {})
        for name, value in {
            "private_subnet_prefix_length": 20,
            "public_subnet_prefix_length": 24,
            "nat_gateways": 1,
        }.items()
    ),
    Case(
        # The nodes' owner may have public addresses of their own.
        "vpc-range-valid",
        existing(cidr="10.80.1.0/16"),
        "network.existing.cidr",
        "names a host inside a range. Write 10.80.0.0/16.",
        existing(cidr="11.0.0.0/16"),
    ),
    Case(
        "existing-private-subnets-cover-zones",
        existing(private_subnets=PRIVATE_SUBNETS[:1]),
        "network.existing.private_subnets",
        "there is no subnet in usw2-az1. Add one for each: {id: subnet-..., availability_zone_id: usw2-az1}.",
        existing(),
    ),
    Case(
        "existing-private-subnets-cover-zones",
        existing(
            private_subnets=[*PRIVATE_SUBNETS, {"id": "subnet-0ccccccccccccccc0", "availability_zone_id": "usw2-az4"}]
        ),
        "network.existing.private_subnets[2].availability_zone_id",
        "usw2-az4 has a subnet already. Leave one of them out",
        existing(),
    ),
    Case(
        "existing-private-subnets-cover-zones",
        existing(
            private_subnets=[*PRIVATE_SUBNETS, {"id": "subnet-0ccccccccccccccc0", "availability_zone_id": "usw2-az3"}]
        ),
        "network.existing.private_subnets[2].availability_zone_id",
        "usw2-az3 is not a zone of the environment. Write usw2-az4 or usw2-az1, or add it to",
        existing(),
    ),
    Case(
        "existing-public-subnets-cover-zones",
        {**existing(), **SAFE_PUBLIC, f"{ENDPOINT}.authentication": BOUND_JWT},
        "network.existing.public_subnets",
        "there is no subnet in usw2-az4 and usw2-az1",
        {**existing(public_subnets=PUBLIC_SUBNETS), **SAFE_PUBLIC, f"{ENDPOINT}.authentication": BOUND_JWT},
    ),
    Case(
        "existing-subnets-distinct",
        existing(public_subnets=[dict(PRIVATE_SUBNETS[0]), PUBLIC_SUBNETS[1]]),
        "network.existing.public_subnets[0].id",
        "subnet-0aaaaaaaaaaaaaaa4 appears twice",
        existing(public_subnets=PUBLIC_SUBNETS),
    ),
]
