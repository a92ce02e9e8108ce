"""Environment files that together hold every pair of what is Slipway's and what was there before."""

from collections.abc import Callable
from dataclasses import dataclass
from functools import cache

from tests.covering_array import Choices, Row, Values, covering, keys_of

REGION = "us-west-2"
_GROUP = {"client_security_group_id": "sg-0a1b2c3d4e5f60009"}
_LUSTRE = {"file_system_id": "fs-0a1b2c3d4e5f60009", "mount_name": "fsx", **_GROUP}
_OPEN_ZFS = {"type": "openzfs", "volume_id": "fsvol-0a1b2c3d4e5f60009", **_GROUP}
_EFS = {"type": "efs", "file_system_id": "fs-0a1b2c3d4e5f60008", **_GROUP}
_SIZES = {"capacity_gib": 1200, "throughput_mb_s_per_tib": 125}
_NETWORK = {
    "vpc_id": "vpc-0a1b2c3d4e5f60009",
    "cidr": "10.80.0.0/16",
    "private_subnets": [
        {"id": f"subnet-0a1b2c3d4e5f6000{zone}", "availability_zone_id": f"usw2-az{zone}"} for zone in (4, 1)
    ],
}
_QUEUE = {"name": "trn1", "compute_resources": [{"name": "nodes", "instance_type": "trn1.32xlarge", "max_count": 1}]}
_NODES = {"name": "cpu", "instance_type": "m6i.8xlarge"}
_ADMINISTRATOR = "arn:aws:iam::123456789012:role/admin"
_KEY = f"arn:aws:kms:{REGION}:123456789012:key/0a1b2c3d-1111-4000-8000-000000000009"

CHOICES: Choices = {
    "lustre": {"own": {"lustre": _SIZES}, "existing": {"lustre": {**_SIZES, "existing": _LUSTRE}}},
    "home": {
        "volume": {},
        "own": {"home": {}},
        "openzfs": {"home": {"existing": _OPEN_ZFS}},
        "efs": {"home": {"existing": _EFS}},
    },
    "buckets": {
        "own": {},
        "some": {"existing_buckets": {"data": "example-data"}},
        "all": {
            "existing_buckets": {
                "data": "example-data",
                "checkpoints": "example-checkpoints",
                "models": "example-models",
            }
        },
    },
    "key": {"none": {}, "customers": {"kms": {"key_arn": _KEY}}},
    "nodes": {
        "slurm": {"training": {"cluster_name": "matrix", "queues": [_QUEUE]}},
        "kubernetes": {"kubernetes": {"administrator_arns": [_ADMINISTRATOR], "node_groups": [_NODES]}},
    },
}
"""What there is to choose: keys of `storage`, and of the file itself."""


@dataclass(frozen=True)
class Conflict:
    """Choices that do not go together."""

    choices: tuple[str, ...]
    meets: Callable[..., bool]


@cache
def rows() -> tuple[Row, ...]:
    """Return the choices of each file."""
    only_slurm = Conflict(("home", "nodes"), lambda home, nodes: nodes == "kubernetes" and home != "volume")
    return tuple(covering(CHOICES, [only_slurm]))


def is_in_existing_network(row: Row) -> bool:
    """Whether a file names its VPC: without it no file system that is there already can be reached."""
    return row["lustre"] == "existing" or row["home"] in {"openzfs", "efs"}


def content(row: Row) -> Values:
    """Return the values of a file."""
    keys = keys_of(CHOICES, row)
    of_file: Values = {name: keys.pop(name) for name in ("kms", "training", "kubernetes") if name in keys}
    return {
        "name": "matrix",
        "region": REGION,
        "network": {
            "training_availability_zone_id": "usw2-az4",
            "other_availability_zone_ids": ["usw2-az1"],
            **({"existing": _NETWORK} if is_in_existing_network(row) else {}),
        },
        "storage": keys,
        **of_file,
    }
