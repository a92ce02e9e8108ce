"""Hypothesis strategies for the `training` section: cluster, queues and nodes."""

from typing import Any

from hypothesis import strategies as st

from slipway import facts
from slipway.facts import InstanceType, TrainingStack

Values = dict[str, Any]

_RELEASE = facts.parallelcluster_release("3.16.1")
_REGIONS = [name for name in facts.regions() if name in _RELEASE.regions]
_NAMES = st.from_regex(r"\A[a-z][a-z0-9-]{0,24}\Z").filter(lambda name: name not in _RELEASE.reserved_names)
_RESERVATION = {"capacity_reservation_id": "cr-0123456789abcdef0"}


def offered(zone: str, region: str) -> list[InstanceType]:
    """Return the instance types that a zone offers."""
    return [row for row in facts.instance_types().values() if zone in facts.offered_zone_ids(row.name, region)]


@st.composite
def with_some(draw: st.DrawFn, optional: Values, required: Values) -> Values:
    """Draw some of the optional values and add them to the required ones."""
    chosen = draw(st.lists(st.sampled_from(sorted(optional)), unique=True))
    return {**required, **{key: optional[key] for key in chosen}}


def plain_types(zone: str, region: str) -> list[InstanceType]:
    """Return the instance types without accelerator that a zone offers."""
    return [row for row in offered(zone, region) if not row.neuron_devices]


def _head_nodes(zone: str, region: str) -> list[str]:
    # 16 GiB are enough for any number of nodes.
    return [row.name for row in plain_types(zone, region) if row.memory_gib >= 16]


def _stacks(system: str) -> list[TrainingStack]:
    return [stack for stack in facts.training_stacks().values() if system in stack.operating_systems]


def _trainable(zone: str, region: str, system: str) -> list[tuple[TrainingStack, InstanceType]]:
    """Return the training stacks of an operating system, each with the instance types of a zone that it trains on."""
    return [
        (stack, row)
        for stack in _stacks(system)
        for row in offered(zone, region)
        if row.family in stack.instance_families and facts.instance_family(row.family).trains
    ]


SITES = [
    (region, zone)
    for region in _REGIONS
    for zone in facts.region(region).availability_zone_ids
    if _trainable(zone, region, "ubuntu2204") and _head_nodes(zone, region)
]
"""Regions and zones where a cluster can be."""


@st.composite
def trainings(draw: st.DrawFn, region: str, zone: str, addresses: int, *, home_on_volume: bool) -> Values:
    """Draw a cluster without logins, whose nodes need no more than so many addresses."""
    systems = [name for name in _RELEASE.operating_systems if _trainable(zone, region, name)]
    system = draw(st.sampled_from(systems))
    stack = draw(st.sampled_from(_stacks(system))).name
    names = draw(st.lists(_NAMES, min_size=1, max_size=4, unique=True))
    nodes = [*_trainable(zone, region, system), *((None, row) for row in plain_types(zone, region))]
    share = addresses // len(names)
    queues = [draw(_queues(name, nodes, (region, zone), cluster_stack=stack, addresses=share)) for name in names]
    for number, queue in enumerate(queues):
        # Queues that share a reservation would have to share their instance type.
        if "capacity_reservation_id" in queue:
            queue["capacity_reservation_id"] = f"cr-{number:017x}"
    required: Values = {
        "cluster_name": draw(st.from_regex(r"\A[a-zA-Z][a-zA-Z0-9-]{0,38}\Z").map(lambda name: f"c{name}")),
        "training_stack": stack,
        "operating_system": system,
        "queues": queues,
    }
    head_node = {
        "instance_type": draw(st.sampled_from(_head_nodes(zone, region))),
        "root_volume_gib": draw(st.integers(50, 16384)),
        **draw(st.sampled_from([{}, {"custom_ami_id": "ami-0123456789abcdef0"}])),
    }
    optional: Values = {
        "apps": draw(_volumes()),
        "checkpoint": {
            "parameters_billions": draw(st.integers(1, 10_000)),
            "longest_write_seconds": draw(st.integers(1, 86_400)),
        },
        "scaledown_idletime_minutes": draw(st.integers(1, 1440)),
        "kill_wait_seconds": draw(st.integers(30, 3600)),
        "queue_update_strategy": draw(st.sampled_from(["DRAIN", "TERMINATE", "COMPUTE_FLEET_STOP"])),
        "parallelcluster_version": _RELEASE.version,
    }
    if home_on_volume:
        optional["home"] = draw(_volumes())
    return draw(with_some(optional, {**required, "head_node": head_node}))


@st.composite
def _volumes(draw: st.DrawFn) -> Values:
    policy = draw(st.sampled_from(["delete", "snapshot", "retain"]))
    return draw(with_some({"size_gib": draw(st.integers(10, 16384)), "deletion_policy": policy}, {}))


@st.composite
def _queues(
    draw: st.DrawFn,
    name: str,
    nodes: list[tuple[TrainingStack | None, InstanceType]],
    site: tuple[str, str],
    *,
    cluster_stack: str,
    addresses: int,
) -> Values:
    region, zone = site
    stack, instance_type = draw(st.sampled_from(nodes))
    capacity_type = draw(st.sampled_from(instance_type.usage_classes)).replace("-", "_")
    names = draw(st.lists(_NAMES, min_size=1, max_size=2, unique=True))
    resources = draw(_compute_resources(names, instance_type, capacity_type, addresses // len(names)))
    queue: Values = {"name": name, "capacity_type": capacity_type, "compute_resources": resources}
    if stack and (stack.name != cluster_stack or draw(st.booleans())):
        queue["training_stack"] = stack.name
    if capacity_type == "capacity_block":
        return {**queue, **_RESERVATION}
    if capacity_type == "on_demand":
        group = {
            "capacity_reservation_resource_group_arn": f"arn:aws:resource-groups:{region}:111122223333:group/trainium"
        }
        queue |= draw(st.sampled_from([{}, _RESERVATION, group, {**group, "placement_group": "reserved"}]))
    optional = {
        "availability_zone_id": zone,
        "custom_ami_id": "ami-0123456789abcdef0",
        "job_exclusive_allocation": True if stack else draw(st.booleans()),
    }
    return draw(with_some(optional, queue))


@st.composite
def _compute_resources(
    draw: st.DrawFn, names: list[str], instance_type: InstanceType, capacity_type: str, addresses: int
) -> list[Values]:
    """Draw the compute resources of a queue, each with no more than so many addresses."""
    # All nodes of one type in a queue have EFA, or none has. A node with it takes one address, else one for each card.
    fits_without = instance_type.network_cards <= addresses or not instance_type.efa_interfaces
    efa = draw(st.sampled_from([True] * (instance_type.efa_interfaces > 0) + [False] * fits_without))
    # Without EFA between their network cards, nodes that train are alone.
    alone = not efa and instance_type.neuron_devices and instance_type.network_cards > 1
    most_nodes = 1 if alone else max(1, addresses // instance_type.network_cards if not efa else addresses)
    resources = []
    for name in names:
        most = draw(st.integers(1, most_nodes))
        least = most if capacity_type == "capacity_block" else draw(st.integers(0, most))
        resource = {"name": name, "instance_type": instance_type.name, "min_count": least, "max_count": most}
        if efa != (instance_type.efa_interfaces > 0) or draw(st.booleans()):
            resource["efa"] = efa
        resources.append(resource)
    return resources
