"""Environment files that together hold every pair of choices about a Kubernetes cluster, and about its node groups.

Covering arrays (covertable) pair the choices about a cluster, and those about a node group. A cluster holds many node
groups, so few syntheses are enough for all of them.
"""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import cache
from itertools import cycle
from typing import NamedTuple

from slipway import facts
from tests.covering_array import Choices, Row, Values, covering, keys_of, written


class Home(NamedTuple):
    """Where an environment is."""

    region: str
    training_zone: str
    other_zone: str


HOMES = (Home("us-east-2", "use2-az3", "use2-az1"), Home("sa-east-1", "sae1-az1", "sae1-az3"))
"""Between them they offer every instance type; most are in the first one."""

RESERVATION = {"capacity_reservation_id": "NUMBERED"}
"""A reservation of the node group's own; no two may name the same one."""

CLUSTER_CHOICES: Choices = {
    "version": {name: {"version": name} for name in facts.kubernetes_versions()},
    "access": {"private": {}, "public": {"public_access_cidrs": ["203.0.113.0/24", "198.51.100.7/32"]}},
    "administrators": {
        "none": {},
        "two": {"administrator_arns": [f"arn:aws:iam::111122223333:{who}" for who in ("role/admin", "user/eve")]},
    },
    "people": {
        "none": {},
        "users": {"user_arns": ["arn:aws:iam::111122223333:role/guest"]},
        "teams": {"teams": [{"name": "research", "uid": 2001}, {"name": "speech", "uid": 2002}]},
    },
    "launcher": {name: {"launcher": name} for name in ("torchrun", "mpi")},
    "queueing": {name: {"queueing": name} for name in ("none", "kueue")},
    "token": {
        "none": {},
        "secret": {
            "hugging_face_token_secret_arn": "arn:aws:secretsmanager:REGION:111122223333:secret:hugging-face-AbCdEf"
        },
    },
    "slurm": {"without": {}, "beside": {}},
}
"""What there is to choose about the cluster. `slurm` says whether a Slurm cluster is beside it."""

NODE_GROUP_CHOICES: Choices = {
    "instance_type": {name: {"instance_type": name} for name in facts.instance_types()},
    "capacity": {
        "on_demand": {},
        "reserved": RESERVATION,
        "placed": {**RESERVATION, "placement_group": "reserved"},
        "spot": {"capacity_type": "spot"},
        "block": {"capacity_type": "capacity_block", **RESERVATION},
    },
    "count": {"from_zero": {"max_count": 2}, "always": {"min_count": 1, "max_count": 2}},
    # Without EFA a job has one node; whoever could have more of it has no use for them.
    "efa": {"unsaid": {}, "on": {"efa": True}, "off": {"efa": False, "max_count": 1}},
    "auto_repair": {"on": {}, "off": {"auto_repair": False}},
    "root_volume": {"default": {}, "small": {"root_volume_gib": 50}},
}
"""What there is to choose about a node group."""


@dataclass(frozen=True)
class Conflict:
    """Values of two choices that do not go together.

    It says what the rules say a second time, on purpose and in other words.
    """

    choices: tuple[str, str]
    """The choices."""

    meets: Callable[[str, str], bool]
    """Whether these values of them, in that order, are refused."""


def _has_no_efa(instance_type: str) -> bool:
    return facts.instance_type(instance_type).efa_interfaces == 0


CONFLICTS = (
    # The training image lets only its own user log in, as mpirun does.
    Conflict(("people", "launcher"), lambda people, launcher: (people, launcher) == ("teams", "mpi")),
    Conflict(
        ("instance_type", "capacity"),
        lambda name, capacity: capacity == "block" and not facts.instance_type(name).capacity_block,
    ),
    Conflict(("instance_type", "efa"), lambda name, efa: efa == "on" and _has_no_efa(name)),
    # EC2 starts nothing in a block before its first hour.
    Conflict(("capacity", "count"), lambda capacity, count: (capacity, count) == ("block", "always")),
)
"""All of them."""


class Cluster(NamedTuple):
    """A cluster with node groups in one environment."""

    home: Home
    choices: Row
    node_groups: Sequence[Row]


@cache
def clusters() -> Sequence[Cluster]:
    """Return clusters in which every pair of choices occurs that the spec allows.

    Node groups are spread evenly over the clusters of the first place that offers their instance type.
    """
    rows = covering(CLUSTER_CHOICES, CONFLICTS)
    # One is enough elsewhere, and ParallelCluster need not be there.
    there = [(HOMES[0], row) for row in rows] + [(home, {**rows[0], "slurm": "without"}) for home in HOMES[1:]]
    groups: list[list[Row]] = [[] for _ in there]
    turns = {home: cycle([index for index, (place, _) in enumerate(there) if place == home]) for home in HOMES}
    for row in covering(NODE_GROUP_CHOICES, CONFLICTS):
        groups[next(turns[_home_of(row["instance_type"])])].append(row)
    return [Cluster(home, row, found) for (home, row), found in zip(there, groups, strict=True)]


def environments() -> Iterator[tuple[str, str]]:
    """Yield environment files in which every pair of choices occurs that the spec allows.

    Yields:
        An id of each environment (its place and its cluster in words), and its text.
    """
    for cluster in clusters():
        yield "-".join([cluster.home.region, *cluster.choices.values()]), environment_of(cluster)


def environment_of(cluster: Cluster) -> str:
    """Return the environment file of a cluster; it also has a plain node group to prepare data on."""
    home = cluster.home
    values = {
        "name": "pairs",
        "region": home.region,
        "network": {
            "training_availability_zone_id": home.training_zone,
            "other_availability_zone_ids": [home.other_zone],
        },
        "storage": {"lustre": {"capacity_gib": 1200, "throughput_mb_s_per_tib": 125}},
        "kubernetes": {
            **keys_of(CLUSTER_CHOICES, cluster.choices),
            "node_groups": [
                {"name": "prepare", "instance_type": "m6i.2xlarge"},
                *(_node_group(number, row) for number, row in enumerate(cluster.node_groups)),
            ],
        },
    }
    if cluster.choices["slurm"] == "beside":
        nodes = {"name": "cpu", "compute_resources": [{"name": "m6i", "instance_type": "m6i.large"}]}
        values["training"] = {"cluster_name": "pairs", "queues": [nodes]}
    return written(values).replace("REGION", home.region)


def _node_group(number: int, row: Row) -> Values:
    """Return a node group's entry in the file."""
    keys = keys_of(NODE_GROUP_CHOICES, row)
    if "capacity_reservation_id" in keys:
        keys["capacity_reservation_id"] = f"cr-{number:017x}"
    return {"name": f"group-{number}", **keys}


def _home_of(instance_type: str) -> Home:
    return next(home for home in HOMES if home.training_zone in facts.offered_zone_ids(instance_type, home.region))
