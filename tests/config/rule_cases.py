"""One line or more for each cross-field rule: a change that breaks it, and a near one that is allowed."""

from dataclasses import dataclass, field
from typing import Any

Changes = dict[str, Any]

RESOURCE = "training.queues.0.compute_resources.0"
QUEUE = "training.queues.0"
ENDPOINT = "inference.endpoint"
CERTIFICATE = "arn:aws:acm:us-west-2:111122223333:certificate/12345678-1234-1234-1234-123456789012"
SECRET = "arn:aws:secretsmanager:us-west-2:111122223333:secret:endpoint-key-AbCdEf"
JWT = {"type": "jwt", "issuer": "https://login.example.com/", "jwks_endpoint": "https://login.example.com/keys"}
API_KEY = {"type": "api_key", "secret_arn": SECRET}
RESERVATION = "cr-0123456789abcdef0"
PROMOTER = "arn:aws:iam::444455556666:role/model-promoter"
GROUP = "arn:aws:resource-groups:us-west-2:111122223333:group/trn1-reservations"
ON_KUBERNETES: Changes = {
    "training": None,
    "kubernetes": {"node_groups": [{"name": "cpu", "instance_type": "m6i.8xlarge"}]},
}
AUDIENCE = {"name": "aud", "values": ["endpoint"]}
BOUND_JWT = {**JWT, "required_claims": [AUDIENCE]}
SAFE_PUBLIC: Changes = {
    f"{ENDPOINT}.exposure": "public",
    f"{ENDPOINT}.certificate_arn": CERTIFICATE,
    f"{ENDPOINT}.firewall": {},
}


@dataclass(frozen=True)
class Case:
    """A rule with a change of the minimal environment that breaks it, and one that does not."""

    rule: str
    breaking: Changes
    path: str
    message: str
    allowed: Changes
    also: frozenset[str] = field(default_factory=frozenset)
    """Other rules that the same change cannot help breaking."""


def queue(name: str, instance_type: str = "trn1.32xlarge", **keys: Any) -> Changes:
    """Return a queue with one compute resource."""
    return {"name": name, "compute_resources": [{"name": "nodes", "instance_type": instance_type}], **keys}


def queues(count: int, resources: int = 1) -> list[Changes]:
    """Return many queues."""
    return [
        {
            "name": f"q{number}",
            "compute_resources": [{"name": f"r{i}", "instance_type": "trn1.32xlarge"} for i in range(resources)],
        }
        for number in range(count)
    ]


REGION = [
    Case("region-known", {"region": "us-west-3"}, "region", "Did you mean 'us-west-2'?", {}),
    Case(
        "region-has-parallelcluster",
        {
            "region": "ap-south-2",
            "network.training_availability_zone_id": "aps2-az1",
            "network.other_availability_zone_ids": ["aps2-az2"],
            f"{RESOURCE}.instance_type": "trn2.48xlarge",
            "inference": None,
        },
        "region",
        "ParallelCluster 3.16.1 does not support ap-south-2",
        {
            "region": "us-east-2",
            "network.training_availability_zone_id": "use2-az1",
            "network.other_availability_zone_ids": ["use2-az2"],
            f"{RESOURCE}.instance_type": "trn2.48xlarge",
        },
    ),
    Case(
        "parallelcluster-release-known",
        {"training.parallelcluster_version": "3.13.1"},
        "training.parallelcluster_version",
        "Slipway does not know ParallelCluster '3.13.1'. Write 3.16.1.",
        {"training.parallelcluster_version": "3.16.1"},
    ),
    Case(
        "zones-in-region",
        {"network.other_availability_zone_ids": ["use1-az1"]},
        "network.other_availability_zone_ids[0]",
        "use1-az1 is not a zone of us-west-2. Its zones are usw2-az1, usw2-az2, usw2-az3 and usw2-az4",
        {"network.other_availability_zone_ids": ["usw2-az3"]},
    ),
    Case(
        "zones-distinct",
        {"network.other_availability_zone_ids": ["usw2-az1", "usw2-az4"]},
        "network.other_availability_zone_ids[1]",
        "usw2-az4 appears twice",
        {"network.other_availability_zone_ids": ["usw2-az1", "usw2-az3"]},
    ),
]

NETWORK = [
    Case(
        "vpc-range-valid",
        {"network.cidr": "10.40.1.0/16"},
        "network.cidr",
        "names a host inside a range. Write 10.40.0.0/16.",
        {"network.cidr": "10.41.0.0/16"},
    ),
    Case(
        "vpc-range-valid",
        {"network.cidr": "10.400.0.0/16"},
        "network.cidr",
        "is not an IPv4 range (got '10.400.0.0/16')",
        {"network.cidr": "10.255.0.0/16"},
    ),
    Case(
        "vpc-range-size",
        {"network.cidr": "10.0.0.0/15"},
        "network.cidr",
        "a VPC cannot be larger (got /15)",
        {"network.cidr": "10.0.0.0/16"},
    ),
    Case(
        "vpc-range-private",
        {"network.cidr": "11.0.0.0/16"},
        "network.cidr",
        "11.0.0.0/16 is not a private range",
        {"network.cidr": "100.64.0.0/16"},
    ),
    Case(
        "vpc-range-free-of-docker",
        {"network.cidr": "172.17.0.0/16"},
        "network.cidr",
        "overlaps Docker's own range 172.17.0.0/16",
        {"network.cidr": "172.18.0.0/16"},
    ),
    Case(
        "subnets-fit-vpc",
        {"network.private_subnet_prefix_length": 17},
        "network.private_subnet_prefix_length",
        "2 public /24 and 2 private /17 subnets do not fit into 10.40.0.0/16. Write 18 or more",
        {"network.private_subnet_prefix_length": 18},
    ),
    Case(
        "subnets-fit-vpc",
        {"network.cidr": "10.40.0.0/24", "network.private_subnet_prefix_length": 26},
        "network.public_subnet_prefix_length",
        "Write a larger number",
        {
            "network.cidr": "10.40.0.0/24",
            "network.public_subnet_prefix_length": 27,
            "network.private_subnet_prefix_length": 26,
        },
    ),
    Case(
        "nat-gateways-within-zones",
        {"network.nat_gateways": 3},
        "network.nat_gateways",
        "more NAT gateways than zones (got 3, with 2 zones). Write 2 or less.",
        {"network.nat_gateways": 2},
    ),
    Case(
        # A /27 has 27 usable addresses: nodes, head node, 2 file servers, the load balancer's 8, two hosts (one during
        # a deployment) and their tasks.
        "training-subnet-large-enough",
        {"network.private_subnet_prefix_length": 27, f"{RESOURCE}.max_count": 13},
        "network.private_subnet_prefix_length",
        "27 usable addresses and 28 can be needed: 13 for nodes, 1 for the head node, 2 for /fsx, "
        "12 for the endpoint. Write 26 or less.",
        {"network.private_subnet_prefix_length": 27, f"{RESOURCE}.max_count": 12},
    ),
    Case(
        # Without EFA a trn1.32xlarge has an address on each of its 8 network cards.
        "training-subnet-large-enough",
        {"network.private_subnet_prefix_length": 27, f"{RESOURCE}.max_count": 2, f"{RESOURCE}.efa": False},
        "network.private_subnet_prefix_length",
        "16 for nodes",
        {"network.private_subnet_prefix_length": 27, f"{RESOURCE}.max_count": 2, f"{RESOURCE}.efa": True},
        also=frozenset({"efa-between-nodes"}),
    ),
    Case(
        # Login nodes bring a load balancer, the accounting database a second address for its replacement.
        "training-subnet-large-enough",
        {
            "network.private_subnet_prefix_length": 27,
            "storage.home": {},
            "storage.accounting_database": {},
            "training.login_nodes": {"count": 1},
        },
        "network.private_subnet_prefix_length",
        "28 can be needed: 1 for nodes, 1 for the head node, 9 for login nodes, 2 for /fsx, 1 for /home, "
        "2 for the accounting database, 12 for the endpoint",
        {
            "network.private_subnet_prefix_length": 27,
            "storage.home": {},
            "storage.accounting_database": {},
            "training.login_nodes": {"count": 0},
        },
    ),
    Case(
        "load-balancer-subnets-large-enough",
        {"network.public_subnet_prefix_length": 28, **SAFE_PUBLIC, f"{ENDPOINT}.authentication": BOUND_JWT},
        "network.public_subnet_prefix_length",
        "needs larger subnets (got /28). Write 27 or less.",
        {"network.public_subnet_prefix_length": 28},
    ),
]

STORAGE = [
    Case(
        "lustre-capacity-step",
        {"storage.lustre.capacity_gib": 3600},
        "storage.lustre.capacity_gib",
        "FSx for Lustre does not sell this size (got 3600). Write 2400 or 4800.",
        {"storage.lustre.capacity_gib": 4800},
    ),
    Case(
        "lustre-throughput-tier",
        {"storage.lustre.throughput_mb_s_per_tib": 200},
        "storage.lustre.throughput_mb_s_per_tib",
        "FSx for Lustre does not sell this throughput (got 200). Write 125, 250, 500 or 1000.",
        {"storage.lustre.throughput_mb_s_per_tib": 1000},
    ),
    Case(
        "home-capacity-sold",
        {"storage.home": {"capacity_gib": 63}},
        "storage.home.capacity_gib",
        "FSx for OpenZFS does not sell this size (got 63). Write 64 to 524288.",
        {"storage.home": {"capacity_gib": 64}},
    ),
    Case(
        "home-throughput-sold",
        {"storage.home": {"throughput_mb_s": 160}},
        "storage.home.throughput_mb_s",
        "FSx for OpenZFS does not sell this throughput (got 160). Write 64, 128, 256,",
        {"storage.home": {"throughput_mb_s": 4096}},
    ),
    Case(
        "model-readers-distinct",
        {"storage.model_readers": [PROMOTER, PROMOTER]},
        "storage.model_readers[1]",
        f"{PROMOTER} appears twice. Remove this line.",
        {"storage.model_readers": [PROMOTER, f"{PROMOTER}-2"]},
    ),
    Case(
        "model-readers-distinct",
        {"storage.model_readers": [PROMOTER.replace("aws", "aws-cn")]},
        "storage.model_readers[0]",
        "the ARN is of the partition aws-cn, us-west-2 is in aws. Write arn:aws:iam:",
        {"storage.model_readers": [PROMOTER]},
    ),
    Case(
        "home-in-one-place",
        {"storage.home": {}, "training.home": {"size_gib": 200}},
        "training.home",
        "/home is on FSx for OpenZFS already",
        {"storage.home": {}, "training.apps": {"size_gib": 200}},
    ),
    Case(
        "slurm-storage-with-cluster",
        {**ON_KUBERNETES, "storage.accounting_database": {}},
        "storage.accounting_database",
        "only a Slurm cluster uses it. Remove it, or add `training`.",
        ON_KUBERNETES,
    ),
    Case(
        "accounting-database-type-known",
        {"storage.accounting_database": {"instance_type": "db.t4g.medum"}},
        "storage.accounting_database.instance_type",
        "Slipway does not know the database instance class 'db.t4g.medum'. Did you mean 'db.t4g.medium'?",
        {"storage.accounting_database": {"instance_type": "db.t4g.medium", "multi_az": True}},
    ),
    Case(
        "file-system-in-training-zone",
        {"storage.lustre.availability_zone_id": "usw2-az1"},
        "storage.lustre.availability_zone_id",
        "the file system must be in the training zone usw2-az4 (got usw2-az1)",
        {"storage.lustre.availability_zone_id": "usw2-az4"},
    ),
    Case(
        "queue-in-file-system-zone",
        {f"{QUEUE}.availability_zone_id": "usw2-az1"},
        "training.queues[0].availability_zone_id",
        "the queue is in usw2-az1, the file system in usw2-az4",
        {f"{QUEUE}.availability_zone_id": "usw2-az4"},
    ),
]

TAGS = [
    Case("tag-key-not-reserved", {"tags": {"AWS:team": "x"}}, "tags.AWS:team", "reserved", {"tags": {"awsteam": "x"}}),
    Case("tag-key-not-reserved", {"tags": {"slipway:x": "x"}}, "tags.slipway:x", "reserved", {"tags": {"team:x": "x"}}),
    Case("tag-key-allowed", {"tags": {"a*b": "x"}}, "tags['a*b']", "does not accept", {"tags": {"a b+c/d@e": "x"}}),
    Case("tag-key-allowed", {"tags": {"k" * 129: "x"}}, f"tags['{'k' * 56}...]", "got 129", {"tags": {"k" * 128: "x"}}),
    Case(
        "tag-keys-distinct",
        {"tags": {"Owner": "x", "team": "x", "owner": "x"}},
        "tags.owner",
        "differs from the tag 'Owner' only in capitals, and IAM takes them for the same key. Keep one of the two.",
        {"tags": {"Owner": "x", "owners": "x"}},
    ),
    Case("tag-value-allowed", {"tags": {"team": "a;b"}}, "tags.team", "does not accept", {"tags": {"team": ""}}),
    Case("tag-value-allowed", {"tags": {"team": "v" * 257}}, "tags.team", "got 257", {"tags": {"team": "v" * 256}}),
]
