"""Hypothesis strategy for random valid environments, made from the facts: `environments()` draws a file's content.

It knows the rules a second time, on purpose and the other way round: it builds what is allowed.
"""

import math

from hypothesis import strategies as st

from slipway import facts
from tests.config.strategies_access import accesses, login_addresses
from tests.config.strategies_inference import endpoint_addresses, inferences
from tests.config.strategies_kubernetes import FEWEST_ADDRESSES, clusters, core_types
from tests.config.strategies_training import SITES, Values, trainings, with_some

_LARGEST_CAPACITY_STEPS = 20
# A letter in front: PyYAML, which writes the files, and YAML 1.2, which Slipway reads, differ about "-.0" and the like.
_TAG_TEXT = (
    st.text("abcXYZ019_.:/=+@-", max_size=30).map(lambda text: f"t-{text}").filter(lambda text: "://" not in text)
)

_PROXIES = st.fixed_dictionaries(
    {"url": st.sampled_from(["http://proxy.example.internal:3128", "http://10.0.0.9:443"])},
    optional={"bypass": st.lists(st.sampled_from([".example.internal", "registry", "10.0.0.0/8", "192.0.2.1"]))},
)
_TAGS = st.lists(st.tuples(_TAG_TEXT, _TAG_TEXT), max_size=5, unique_by=lambda tag: tag[0].lower()).map(dict)


@st.composite
def environments(draw: st.DrawFn) -> Values:
    """Draw the values of a valid environment file; optional keys are left out now and then."""
    region, zone = draw(st.sampled_from(SITES))
    others = [other for other in facts.region(region).availability_zone_ids if other != zone]
    zones = [zone, *draw(st.lists(st.sampled_from(others), min_size=1, max_size=3, unique=True))]
    capacity = draw(st.sampled_from([1200, *(2400 * steps for steps in range(1, _LARGEST_CAPACITY_STEPS + 1))]))
    inference = draw(st.none() | inferences(region, zones))
    network, addresses = draw(_networks(zones, needs_load_balancer=inference is not None))
    storage = draw(_storages(zone, capacity))
    access = draw(accesses(region, zone))
    # /fsx; /home and the database; the head node.
    addresses -= 1 + capacity // 1200 + 3 + 1
    addresses -= login_addresses(access) + endpoint_addresses(inference)
    kubernetes = draw(_clusters(region, zones, addresses // 2))
    addresses -= addresses // 2 if kubernetes else 0
    home_on_volume = "home" not in storage
    values: Values = {
        "name": draw(st.from_regex(r"\A[a-z][a-z0-9-]{0,19}\Z").filter(lambda name: "aws" not in name)),
        "region": region,
        "network": network,
        "storage": storage,
        "training": {**draw(trainings(region, zone, addresses, home_on_volume=home_on_volume)), **access},
    }
    optional: Values = {
        "account": "111122223333",
        "lifecycle": draw(st.sampled_from(["ephemeral", "persistent"])),
        "tags": draw(_TAGS),
        "operations": draw(_operations()),
        "permissions_boundary_arn": "arn:aws:iam::111122223333:policy/developer-boundary",
    }
    values = draw(with_some(optional, values))
    if kubernetes is not None:
        values = draw(_with_cluster(values, kubernetes))
    elif draw(st.booleans()):
        network["proxy"] = draw(_PROXIES)
    return values if inference is None else {**values, "inference": inference}


def _clusters(region: str, zones: list[str], addresses: int) -> st.SearchStrategy[Values | None]:
    """Draw a Kubernetes cluster now and then, where there is room for one."""
    refused = set(zones) & set(facts.region(region).without_eks)
    if addresses < FEWEST_ADDRESSES or refused or not core_types(region, zones):
        return st.none()
    return st.none() | clusters(region, zones, addresses)


@st.composite
def _with_cluster(draw: st.DrawFn, values: Values, kubernetes: Values) -> Values:
    """Add a Kubernetes cluster, and leave out Slurm now and then, with what is Slurm's alone."""
    if draw(st.booleans()):
        slurm = ("home", "accounting_database")
        storage = {key: value for key, value in values["storage"].items() if key not in slurm}
        values = {key: value for key, value in values.items() if key != "training"} | {"storage": storage}
    return {**values, "kubernetes": kubernetes}


@st.composite
def _storages(draw: st.DrawFn, zone: str, capacity: int) -> Values:
    lifecycles = st.sampled_from(["ephemeral", "persistent"])
    lustre = {
        "capacity_gib": capacity,
        "throughput_mb_s_per_tib": draw(st.sampled_from(facts.lustre_deployment("PERSISTENT_2").throughputs)),
    }
    home = {
        "capacity_gib": draw(st.integers(64, 524288)),
        "throughput_mb_s": draw(st.sampled_from(facts.open_zfs_deployment("SINGLE_AZ_1").throughputs)),
        "backup_retention_days": draw(st.integers(0, 90)),
        "lifecycle": draw(lifecycles),
    }
    database = {
        "instance_type": draw(st.sampled_from(sorted(facts.database_instance_types()))),
        "storage_gib": draw(st.integers(20, 16384)),
        "multi_az": draw(st.booleans()),
        "backup_retention_days": draw(st.integers(1, 35)),
    }
    optional = {"availability_zone_id": zone, "lifecycle": draw(lifecycles)}
    required = {"lustre": draw(with_some(optional, lustre))}
    parts = {
        "home": draw(with_some(home, {})),
        "accounting_database": draw(with_some(database, {})),
        "lifecycle": draw(lifecycles),
        "deleted_object_days": draw(st.integers(1, 3650)),
        "record_object_access": draw(st.booleans()),
        "model_readers": draw(st.sampled_from([[], ["arn:aws:iam::444455556666:role/model-promoter"]])),
    }
    return draw(with_some(parts, required))


@st.composite
def _networks(draw: st.DrawFn, zones: list[str], *, needs_load_balancer: bool) -> tuple[Values, int]:
    """Draw a network and how many addresses its training subnet has left."""
    longest = 24
    vpc = draw(st.integers(16, 20))
    second = draw(st.integers(0, 255))
    # Twice the number of subnets, in the size of a private one, always leaves room for the public ones.
    shortest = vpc + math.ceil(math.log2(2 * len(zones)))
    private = draw(st.integers(shortest, longest))
    public = draw(st.integers(private, 27 if needs_load_balancer else 28))
    network = {
        "cidr": f"10.{second}.0.0/{vpc}",
        "training_availability_zone_id": zones[0],
        "other_availability_zone_ids": zones[1:],
        "private_subnet_prefix_length": private,
        "public_subnet_prefix_length": public,
        "nat_gateways": draw(st.integers(1, len(zones))),
    }
    return network, 2 ** (32 - private) - 5


@st.composite
def _operations(draw: st.DrawFn) -> Values:
    optional = {
        "alarm_email": draw(st.sampled_from(["ml-platform@example.com", "o'neil+trn1@mail.example.xn--p1ai"])),
        "monthly_budget_usd": draw(st.integers(1, 10_000_000)),
        "log_retention_days": draw(st.sampled_from([1, 30, 365, 3653])),
        "max_usd_per_hour": draw(st.integers(1, 100) | st.floats(0.01, 100)),
    }
    operations = draw(with_some(optional, {}))
    if "monthly_budget_usd" in operations:
        operations["at_budget"] = draw(st.sampled_from(["notify", "stop"]))
    if "max_usd_per_hour" in operations and draw(st.booleans()):
        operations["acknowledged_usd_per_hour"] = draw(st.integers(101, 1_000_000))
    return operations
