"""Rules about an existing VPC and an isolated network: a change that breaks each, and a near one that is allowed."""

from typing import Any

from tests.config.rule_cases import BOUND_JWT, CERTIFICATE, ENDPOINT, ON_KUBERNETES, QUEUE, SAFE_PUBLIC, Case, Changes
from tests.config.rule_cases_inference import MODEL

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
            "s3_endpoint": {},
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

AMI = "ami-0123456789abcdef0"
ISOLATED: Changes = {
    "network.isolated": True,
    "training.head_node": {"custom_ami_id": AMI},
    f"{QUEUE}.custom_ami_id": AMI,
    f"{MODEL}.mirror_image": True,
}
"""An environment that asks nothing of the internet."""


def without(key: str) -> Changes:
    """Return the isolated environment without one of its lines."""
    return {name: value for name, value in ISOLATED.items() if name != key}


def in_ecr(region: str) -> Changes:
    """Return an isolated environment whose engine comes from a repository of the account."""
    image = f"111122223333.dkr.ecr.{region}.amazonaws.com/tgi:3.3.5-neuron"
    return {**without(f"{MODEL}.mirror_image"), f"{MODEL}.image": image}


ISOLATED_NETWORK = [
    Case(
        "isolated-network-without-nat",
        {**ISOLATED, "network.nat_gateways": 1},
        "network.nat_gateways",
        "an isolated network has no NAT gateway. Remove it, or write `isolated: false`.",
        ISOLATED,
    ),
    Case(
        "isolated-network-leads-to-proxy",
        {**ISOLATED, "network.proxy": {"url": "http://10.40.0.10:3128"}},
        "network.proxy",
        "nothing leads from a new VPC without NAT to the proxy",
        # What comes through the proxy need not be baked or copied.
        {**existing(), "network.isolated": True, "network.proxy": {"url": "http://10.80.0.10:3128"}},
    ),
    Case(
        "isolated-network-without-kubernetes",
        {"network.isolated": True, f"{MODEL}.mirror_image": True, **ON_KUBERNETES},
        "kubernetes",
        "the cluster's software comes from public registries",
        ON_KUBERNETES,
    ),
    Case(
        "isolated-head-node-baked",
        without("training.head_node"),
        "training.head_node",
        "the head node fetches Python packages, and does not reach the internet",
        ISOLATED,
    ),
    Case(
        "isolated-queue-baked",
        without(f"{QUEUE}.custom_ami_id"),
        "training.queues[0].name",
        "fetch the Neuron packages, and do not reach the internet",
        # A node without accelerator fetches nothing.
        {
            **without(f"{QUEUE}.custom_ami_id"),
            f"{QUEUE}.compute_resources": [{"name": "cpu", "instance_type": "c7i.8xlarge", "efa": False}],
        },
    ),
    Case(
        "isolated-model-image-in-ecr",
        without(f"{MODEL}.mirror_image"),
        "inference.models[0].engine",
        "do not reach the registry of the engine's image. Add `mirror_image: true`",
        in_ecr("us-west-2"),
    ),
    Case(
        "isolated-model-image-in-ecr",
        in_ecr("us-east-1"),
        "inference.models[0].image",
        "or `image:` with one in Amazon ECR in this Region.",
        in_ecr("us-west-2"),
    ),
    Case(
        "isolated-endpoint-without-tokens",
        {**ISOLATED, f"{ENDPOINT}.certificate_arn": CERTIFICATE, f"{ENDPOINT}.authentication": BOUND_JWT},
        "inference.endpoint.authentication.type",
        "the load balancer fetches the issuer's keys over the internet",
        {**ISOLATED, **SAFE_PUBLIC, f"{ENDPOINT}.authentication": BOUND_JWT},
    ),
]
