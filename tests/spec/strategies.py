"""Hypothesis strategy for random valid environments, made from the facts: `environments()` draws a file's content.

It knows the rules a second time, on purpose and the other way round: it builds what is allowed.
"""

import math
from typing import Any

from hypothesis import strategies as st

from slipway import facts
from slipway.facts import InstanceType, TrainingStack

Values = dict[str, Any]

_RELEASE = facts.parallelcluster_release("3.16.1")
_REGIONS = [name for name in facts.regions() if name in _RELEASE.regions]
_LARGEST_CAPACITY_STEPS = 20
_NAMES = st.from_regex(r"\A[a-z][a-z0-9-]{0,24}\Z").filter(lambda name: name not in _RELEASE.reserved_names)
# A letter in front: PyYAML, which writes the files, and YAML 1.2, which Slipway reads, differ about "-.0" and the like.
_TAG_TEXT = (
    st.text("abcXYZ019_.:/=+@-", max_size=30).map(lambda text: f"t-{text}").filter(lambda text: "://" not in text)
)


def _offered(zone: str, region: str) -> list[InstanceType]:
    return [row for row in facts.instance_types().values() if zone in facts.offered_zone_ids(row.name, region)]


def _head_nodes(zone: str, region: str) -> list[str]:
    # 16 GiB are enough for any number of nodes.
    return [row.name for row in _offered(zone, region) if not row.neuron_devices and row.memory_gib >= 16]


def _trainable(zone: str, region: str) -> list[tuple[TrainingStack, list[InstanceType]]]:
    """Return the Neuron releases that a zone's instance types can use, with those types."""
    found = []
    for release in facts.training_stacks().values():
        types = [row for row in _offered(zone, region) if row.family in release.instance_families]
        if types:
            found.append((release, types))
    return found


_SITES = [
    (region, zone)
    for region in _REGIONS
    for zone in facts.region(region).availability_zone_ids
    if _trainable(zone, region) and _head_nodes(zone, region)
]


@st.composite
def environments(draw: st.DrawFn) -> Values:
    """Draw the values of a valid environment file; optional keys are left out now and then."""
    region, zone = draw(st.sampled_from(_SITES))
    others = [other for other in facts.region(region).availability_zone_ids if other != zone]
    zones = [zone, *draw(st.lists(st.sampled_from(others), min_size=1, max_size=3, unique=True))]
    capacity = draw(st.sampled_from([1200, *(2400 * steps for steps in range(1, _LARGEST_CAPACITY_STEPS + 1))]))
    inference = draw(st.none() | _inferences(region, zones))
    network, addresses = draw(_networks(zones, needs_load_balancer=inference is not None))
    # The file servers, the head node, the load balancer and two addresses for each host and task.
    addresses -= 2 + capacity // 1200 + 8 + 2 * (inference or {}).get("max_count", 1)
    lustre = {
        "capacity_gib": capacity,
        "throughput_mb_s_per_tib": draw(st.sampled_from(facts.lustre_deployment("PERSISTENT_2").throughputs)),
    }
    values: Values = {
        "name": draw(st.from_regex(r"\A[a-z][a-z0-9-]{0,19}\Z")),
        "region": region,
        "network": network,
        "storage": {"lustre": draw(_with_some({"availability_zone_id": zone}, lustre))},
        "training": draw(_trainings(region, zone, addresses)),
    }
    optional: Values = {
        "lifecycle": draw(st.sampled_from(["ephemeral", "persistent"])),
        "tags": draw(st.dictionaries(_TAG_TEXT, _TAG_TEXT, max_size=5)),
        "operations": draw(_operations()),
    }
    values = draw(_with_some(optional, values))
    return values if inference is None else {**values, "inference": inference}


@st.composite
def _with_some(draw: st.DrawFn, optional: Values, required: Values) -> Values:
    chosen = draw(st.lists(st.sampled_from(sorted(optional)), unique=True))
    return {**required, **{key: optional[key] for key in chosen}}


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
def _trainings(draw: st.DrawFn, region: str, zone: str, addresses: int) -> Values:
    release, types = draw(st.sampled_from(_trainable(zone, region)))
    names = draw(st.lists(_NAMES, min_size=1, max_size=4, unique=True))
    queues = [draw(_queues(name, zone, types, addresses // len(names))) for name in names]
    for number, queue in enumerate(queues):
        # Queues that share a reservation would have to share their instance type.
        if "capacity_reservation_id" in queue:
            queue["capacity_reservation_id"] = f"cr-{number:017x}"
    required: Values = {
        "cluster_name": draw(st.from_regex(r"\A[a-zA-Z][a-zA-Z0-9-]{0,40}\Z").map(lambda name: f"c{name}")),
        "training_stack": release.name,
        "operating_system": draw(st.sampled_from(release.operating_systems)),
        "queues": queues,
    }
    head_node = {
        "instance_type": draw(st.sampled_from(_head_nodes(zone, region))),
        "root_volume_gib": draw(st.integers(50, 16384)),
    }
    optional: Values = {
        "home": {"size_gib": draw(st.integers(10, 16384))},
        "apps": {"size_gib": draw(st.integers(10, 16384))},
        "scaledown_idletime_minutes": draw(st.integers(1, 1440)),
        "queue_update_strategy": draw(st.sampled_from(["DRAIN", "TERMINATE", "COMPUTE_FLEET_STOP"])),
        "parallelcluster_version": _RELEASE.version,
    }
    return draw(_with_some(optional, {**required, "head_node": head_node}))


@st.composite
def _queues(draw: st.DrawFn, name: str, zone: str, types: list[InstanceType], addresses: int) -> Values:
    instance_type = draw(st.sampled_from(types))
    capacity_type = draw(st.sampled_from(instance_type.usage_classes)).replace("-", "_")
    names = draw(st.lists(_NAMES, min_size=1, max_size=2, unique=True))
    # All nodes of one type in a queue have EFA, or none has. A node with it takes one address, else one for each card.
    share = addresses // len(names)
    fits_without = instance_type.network_cards <= share or not instance_type.efa_interfaces
    efa = draw(st.sampled_from([True] * (instance_type.efa_interfaces > 0) + [False] * fits_without))
    most = max(1, share // (1 if efa else instance_type.network_cards))
    resources = [draw(_compute_resources(resource, instance_type, capacity_type, most)) for resource in names]
    for resource in resources:
        if efa != (instance_type.efa_interfaces > 0) or draw(st.booleans()):
            resource["efa"] = efa
    queue: Values = {"name": name, "capacity_type": capacity_type, "compute_resources": resources}
    reservation = {"capacity_reservation_id": "cr-0123456789abcdef0"}
    if capacity_type == "capacity_block":
        return {**queue, **reservation}
    optional = {"availability_zone_id": zone} | (reservation if capacity_type == "on_demand" else {})
    return draw(_with_some(optional, queue))


@st.composite
def _compute_resources(
    draw: st.DrawFn, name: str, instance_type: InstanceType, capacity_type: str, most_nodes: int
) -> Values:
    most = draw(st.integers(1, most_nodes))
    least = most if capacity_type == "capacity_block" else draw(st.integers(0, most))
    return {"name": name, "instance_type": instance_type.name, "min_count": least, "max_count": most}


@st.composite
def _inferences(draw: st.DrawFn, region: str, zones: list[str]) -> Values | None:
    engine = draw(st.sampled_from(sorted(facts.inference_engines())))
    families = facts.inference_engine(engine).instance_families
    offered = {row.name for zone in zones for row in _offered(zone, region) if row.family in families}
    if not offered:
        return None
    most = draw(st.integers(1, 10))
    values: Values = {
        "engine": engine,
        "instance_type": draw(st.sampled_from(sorted(offered))),
        "max_count": most,
        "endpoint": draw(_endpoints(region)),
    }
    if draw(st.booleans()):
        values |= {"model": {"prefix": "tanuki-8b/v1"}, "desired_count": draw(st.integers(0, most))}
    image = "111122223333.dkr.ecr.us-west-2.amazonaws.com/engine:1.2.3"
    return draw(_with_some({"image": image}, values))


@st.composite
def _endpoints(draw: st.DrawFn, region: str) -> Values:
    certificate = f"arn:aws:acm:{region}:111122223333:certificate/12345678-1234-1234-1234-123456789012"
    jwt = {"type": "jwt", "issuer": "https://login.example.com/", "jwks_endpoint": "https://login.example.com/keys"}
    api_key = {
        "type": "api_key",
        "secret_arn": f"arn:aws:secretsmanager:{region}:111122223333:secret:endpoint-key-AbCdEf",
    }
    exposure = draw(st.sampled_from(["internal", "public"]))
    values: Values = {"exposure": exposure, "idle_timeout_seconds": draw(st.integers(60, 4000))}
    authentication = draw(st.sampled_from([jwt, api_key] if exposure == "public" else [None, jwt, api_key]))
    if authentication:
        values["authentication"] = authentication
    if exposure == "public" or authentication == jwt or draw(st.booleans()):
        values["certificate_arn"] = certificate
    ranges = ["10.0.0.0/8", "192.168.1.0/24", "203.0.113.7/32", *(["0.0.0.0/0"] if authentication else [])]
    return draw(_with_some({"allowed_cidrs": draw(st.lists(st.sampled_from(ranges), unique=True))}, values))


@st.composite
def _operations(draw: st.DrawFn) -> Values:
    optional = {
        "alarm_email": "ml-platform@example.com",
        "monthly_budget_usd": draw(st.integers(1, 10_000_000)),
        "log_retention_days": draw(st.sampled_from([1, 30, 365, 3653])),
    }
    return draw(_with_some(optional, {}))
