"""Hypothesis strategies for the `kubernetes` section: an EKS cluster and its node groups."""

from hypothesis import strategies as st

from slipway import facts
from slipway.facts import InstanceType
from tests.config.strategies_training import Values, offered, plain_types, with_some

_NAMES = st.from_regex(r"\A[a-z]([a-z0-9-]{0,23}[a-z0-9])?\Z").filter(lambda name: name != "core")
_STACKS = [row.name for row in facts.training_stacks().values() if row.job_kit]
_CORE_NODES = 2
_MOST_GROUPS = 4
# A node's own address and those of its pods; what the control plane wants.
_NODE_ADDRESSES = 11
_CLUSTER_ADDRESSES = 16
# Queues number theirs from 0.
_FIRST_RESERVATION = 0x1000

FEWEST_ADDRESSES = _CLUSTER_ADDRESSES + _NODE_ADDRESSES * (_CORE_NODES + _MOST_GROUPS)
"""What any cluster here can need of the training zone's subnet."""


def core_types(region: str, zones: list[str]) -> list[str]:
    """Return the types of core nodes: the training zone, which is the first, and another one offer them."""
    elsewhere = {row.name for zone in zones[1:] for row in plain_types(zone, region)}
    return [row.name for row in plain_types(zones[0], region) if row.name in elsewhere]


@st.composite
def clusters(draw: st.DrawFn, region: str, zones: list[str], addresses: int) -> Values:
    """Draw a cluster whose nodes need no more than so many addresses, of which there are `FEWEST_ADDRESSES`."""
    stack = draw(st.sampled_from(_STACKS))
    plain = plain_types(zones[0], region)
    names = draw(st.lists(_NAMES, min_size=1, max_size=_MOST_GROUPS, unique=True))
    nodes = (addresses - _CLUSTER_ADDRESSES) // _NODE_ADDRESSES - _CORE_NODES
    most = max(1, nodes // len(names))
    types = [
        draw(st.sampled_from(plain)),
        *(draw(st.sampled_from(_usable(stack, zones[0], region))) for _ in names[1:]),
    ]
    groups = [{"name": name, **draw(_nodes(row, stack, most))} for name, row in zip(names, types, strict=True)]
    for number, group in enumerate(groups, start=_FIRST_RESERVATION):
        if "capacity_reservation_id" in group:
            group["capacity_reservation_id"] = f"cr-{number:017x}"
    core = {"instance_type": draw(st.sampled_from(core_types(region, zones))), "max_count": _CORE_NODES}
    required = {"training_stack": stack, "core_nodes": core, "node_groups": draw(st.permutations(groups))}
    optional = {
        "version": draw(st.sampled_from(sorted(facts.kubernetes_versions()))),
        "public_access_cidrs": draw(st.lists(st.sampled_from(["203.0.113.0/24", "198.51.100.7/32"]), unique=True)),
        "administrator_arns": ["arn:aws:iam::111122223333:role/path/admin", "arn:aws:iam::111122223333:user/eve"],
        "launcher": draw(st.sampled_from(["torchrun", "mpi"])),
        "queueing": draw(st.sampled_from(["none", "kueue"])),
        "hugging_face_token_secret_arn": f"arn:aws:secretsmanager:{region}:111122223333:secret:hugging-face-AbCdEf",
    }
    return draw(with_some(optional, required))


def _usable(stack: str, zone: str, region: str) -> list[InstanceType]:
    """Return the types of a zone that train with a stack, are for inference, or have no accelerator."""
    families = facts.training_stack(stack).instance_families
    return [
        row
        for row in offered(zone, region)
        if row.family in families or not (row.neuron_devices and facts.instance_family(row.family).trains)
    ]


@st.composite
def _nodes(draw: st.DrawFn, row: InstanceType, stack: str, most: int) -> Values:
    """Draw a node group without its name, and its reservation without a number."""
    capacity_type = draw(st.sampled_from([usage_class.replace("-", "_") for usage_class in row.usage_classes]))
    has_efa = row.efa_interfaces > 0 and facts.training_stack(stack).efa_installer is not None
    efa = has_efa and draw(st.booleans())
    # Without EFA between their network cards, nodes that train are alone.
    alone = not efa and row.neuron_devices and row.network_cards > 1
    max_count = 1 if alone else draw(st.integers(1, most))
    group: Values = {"instance_type": row.name, "capacity_type": capacity_type, "max_count": max_count}
    if efa != (row.efa_interfaces > 0) or draw(st.booleans()):
        group["efa"] = efa
    if capacity_type == "capacity_block" or (capacity_type == "on_demand" and draw(st.booleans())):
        group["capacity_reservation_id"] = "numbered"
    if "capacity_reservation_id" in group and capacity_type == "on_demand" and draw(st.booleans()):
        group["placement_group"] = "reserved"
    optional: Values = {"root_volume_gib": draw(st.integers(50, 16384)), "auto_repair": draw(st.booleans())}
    if capacity_type != "capacity_block":
        optional["min_count"] = draw(st.integers(0, max_count))
    return draw(with_some(optional, group))
