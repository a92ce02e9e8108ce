"""The rule cases of what is there already, and of the key."""

from typing import Any

from tests.config.rule_cases import Case

GROUP = "sg-0123456789abcdef0"
LUSTRE = {"file_system_id": "fs-0123456789abcdef0", "mount_name": "fsx", "client_security_group_id": GROUP}
EFS = {"type": "efs", "file_system_id": "fs-0123456789abcdef1", "client_security_group_id": GROUP}
KEY = "arn:aws:kms:{region}:111122223333:key/1234abcd-12ab-34cd-56ef-1234567890ab"
BUCKETS = {"data": "example-data", "checkpoints": "example-checkpoints", "models": "example-models"}
READER = "arn:aws:iam::444455556666:role/promoter"


NETWORK = {
    "network.existing": {
        "vpc_id": "vpc-0123456789abcdef0",
        "cidr": "10.80.0.0/16",
        "private_subnets": [
            {"id": f"subnet-0aaaaaaaaaaaaaaa{zone}", "availability_zone_id": f"usw2-az{zone}"} for zone in (4, 1)
        ],
    }
}


def directory(path: str) -> dict[str, Any]:
    """A further directory of the nodes."""
    return {"path": path, "existing": {**EFS}}


EXISTING = [
    Case(
        "key-in-region",
        {"kms": {"key_arn": KEY.format(region="eu-north-1")}},
        "kms.key_arn",
        "the ARN is of eu-north-1, the environment in 'us-west-2'",
        {"kms": {"key_arn": KEY.format(region="us-west-2")}},
    ),
    Case(
        "existing-file-system-without-lifecycle",
        {**NETWORK, "storage.lustre.existing": LUSTRE, "storage.lustre.lifecycle": "persistent"},
        "storage.lustre.lifecycle",
        "`cdk destroy` never deletes a file system that was there before",
        # What FSx does not sell as PERSISTENT_2 may stand.
        {
            **NETWORK,
            "storage.lustre.existing": LUSTRE,
            "storage.lustre.capacity_gib": 3600,
            "storage.lustre.throughput_mb_s_per_tib": 200,
        },
    ),
    Case(
        "existing-file-systems-in-existing-network",
        {"storage.lustre.existing": LUSTRE},
        "storage.lustre.existing",
        "a new VPC does not reach a file system that is there already",
        {**NETWORK, "storage.lustre.existing": LUSTRE},
    ),
    Case(
        "existing-home-without-sizes",
        {**NETWORK, "storage.home": {"existing": EFS, "capacity_gib": 256}},
        "storage.home.capacity_gib",
        "Slipway does not change a file system that is there already",
        {**NETWORK, "storage.home": {"existing": EFS}},
    ),
    Case(
        "shared-directories-distinct",
        {**NETWORK, "storage.shared_directories": [directory("/datasets"), directory("/datasets")]},
        "storage.shared_directories[1].path",
        "/datasets is the path of an earlier directory",
        {**NETWORK, "storage.shared_directories": [directory("/datasets"), directory("/results")]},
    ),
    Case(
        "shared-directories-distinct",
        {**NETWORK, "storage.shared_directories": [directory("/apps")]},
        "storage.shared_directories[0].path",
        "/apps is a directory of the cluster's own",
        {**NETWORK, "storage.shared_directories": [directory("/apps-2")]},
    ),
    Case(
        "shared-directories-distinct",
        {**NETWORK, "storage.shared_directories": [directory("/usr")]},
        "storage.shared_directories[0].path",
        "/usr is a directory of the operating system",
        {**NETWORK, "storage.shared_directories": [directory("/users")]},
    ),
    Case(
        "existing-buckets-distinct",
        {"storage.existing_buckets": {**BUCKETS, "models": "example-data"}},
        "storage.existing_buckets.models",
        "example-data is the bucket for data already",
        {"storage.existing_buckets": BUCKETS},
    ),
    Case(
        "existing-models-read-by-roles",
        {"storage.existing_buckets": BUCKETS, "storage.model_readers": [READER]},
        "storage.model_readers",
        "Slipway does not change the policy of example-models",
        {"storage.existing_buckets": {"data": "example-data"}, "storage.model_readers": [READER]},
    ),
    Case(
        "existing-models-not-through-lustre",
        {"storage.existing_buckets": BUCKETS, "inference.models.0.source": {"type": "lustre"}},
        "inference.models[0].source.type",
        "new versions would not appear on /fsx",
        {
            **NETWORK,
            "storage.lustre.existing": LUSTRE,
            "storage.existing_buckets": BUCKETS,
            "inference.models.0.source": {"type": "lustre"},
        },
    ),
    Case(
        "deleted-objects-of-own-bucket",
        {"storage.existing_buckets": BUCKETS, "storage.deleted_object_days": 90},
        "storage.deleted_object_days",
        "Slipway does not change the lifecycle rules of example-data, example-checkpoints",
        {"storage.existing_buckets": {"data": "example-data"}, "storage.deleted_object_days": 90},
    ),
]
