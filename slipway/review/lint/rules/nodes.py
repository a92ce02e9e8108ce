"""Rules about the nodes themselves: instance types, EFA, placement, counts."""

from collections.abc import Iterator

from slipway import facts
from slipway.assembly.cluster import (
    Cluster,
    accelerated,
    accelerated_resources,
    capacity_type,
    instance_types,
    max_count,
    placement_group,
    queue_of,
    reservation,
    subnets,
)
from slipway.assembly.sections import Section, UnknownValue
from slipway.config.problems import Finding, listed
from slipway.review.lint.registry import rule

_GUIDE = "https://docs.aws.amazon.com/parallelcluster/latest/ug"
_SCHEDULING = f"{_GUIDE}/Scheduling-v3.html"
_EFA_GUIDE = f"{_GUIDE}/efa-v3.html"


@rule(
    Cluster.compute_resources,
    severity="error",
    reason="Jobs over several nodes talk over one ordinary interface: they run at a fraction of what they cost.",
    fix="Write `Efa: {Enabled: true}`.",
    source=_EFA_GUIDE,
)
def efa_between_trainium_nodes(cluster: Cluster, resource: Section) -> Iterator[Finding]:
    """Nodes with Neuron devices and several network cards use EFA when there is more than one of them."""
    if max_count(cluster, resource) < 2 or resource.section("Efa").flag("Enabled", default=False):
        return
    for name in instance_types(resource):
        kind = facts.devices(name)
        if kind.neuron_devices and kind.network_cards > 1:
            yield resource.finding(f"{name} has {kind.efa_interfaces} EFA interfaces, and they are off", "Efa")


@rule(
    Cluster.compute_resources,
    severity="error",
    reason="ParallelCluster refuses the configuration, but only after it has asked EC2.",
    fix="Write `Efa: {Enabled: false}`, or take a type with EFA.",
    source=_EFA_GUIDE,
)
def efa_where_it_exists(cluster: Cluster, resource: Section) -> Iterator[Finding]:
    """EFA is on only for types that have it."""
    if not resource.section("Efa").flag("Enabled", default=False):
        return
    for name in instance_types(resource):
        if not facts.instance_type(name).efa_interfaces:
            yield resource.finding(f"{name} has no EFA", "Efa", "Enabled")


@rule(
    Cluster.compute_resources,
    severity="warning",
    reason="EC2 may spread the nodes over the whole zone: collectives wait for the farthest pair.",
    fix="Write `PlacementGroup: {Enabled: true}` in the queue's Networking.",
    source="https://docs.aws.amazon.com/AWSEC2/latest/UserGuide/placement-strategies.html",
)
def placement_group_with_efa(cluster: Cluster, resource: Section) -> Iterator[Finding]:
    """On-demand and Spot nodes with EFA stand in a placement group."""
    if reservation(resource).value or not _wants_placement_group(resource) or max_count(cluster, resource) < 2:
        return
    group = placement_group(resource)
    if group.has("Enabled") and not _named(group) and not group.flag("Enabled", default=False):
        yield group.finding("nodes with EFA have no placement group", "Enabled")


@rule(
    Cluster.compute_resources,
    severity="error",
    reason="ParallelCluster refuses the configuration, but only after it has asked EC2.",
    fix=(
        "Write `PlacementGroup: {Enabled: true}` in the queue's Networking, or `{Enabled: false}` where the nodes come "
        "from a capacity reservation."
    ),
    source="aws-parallelcluster 3.16.1, validators/cluster_validators.py, EfaPlacementGroupValidator",
)
def placement_group_chosen_with_efa(cluster: Cluster, resource: Section) -> Iterator[Finding]:
    """A queue with EFA says whether its nodes stand in a placement group; Capacity Blocks and two zones need not."""
    group = placement_group(resource)
    if _wants_placement_group(resource) and not _named(group) and not group.has("Enabled"):
        message = "nodes with EFA, and nothing says whether they stand in a placement group"
        yield queue_of(resource).finding(message, "Networking", "PlacementGroup")


@rule(
    Cluster.compute_resources,
    severity="error",
    reason=(
        "The reserved machines stand where they stand: inside a new placement group EC2 answers "
        "InsufficientInstanceCapacity although they are free, and paid."
    ),
    fix="Write `PlacementGroup: {Enabled: false}`; name a group only when the reservation was made in it.",
    source="awslabs/awsome-distributed-ai issue 353; aws/aws-parallelcluster issue 4342",
)
def no_placement_group_around_reservation(cluster: Cluster, resource: Section) -> Iterator[Finding]:
    """Reserved nodes are not put into a placement group that ParallelCluster makes."""
    group = placement_group(resource)
    if reservation(resource).value and not _named(group) and group.flag("Enabled", default=False):
        yield group.finding("a new placement group around a capacity reservation", "Enabled")


def _wants_placement_group(resource: Section) -> bool:
    """Whether nodes have EFA and can stand close together: not in two zones, and a Capacity Block does anyway."""
    several_zones = len(subnets(queue_of(resource))) > 1
    block = capacity_type(resource) == "CAPACITY_BLOCK"
    return resource.section("Efa").flag("Enabled", default=False) and not block and not several_zones


def _named(group: Section) -> bool:
    return group.has("Id") or group.has("Name")


@rule(
    Cluster.compute_resources,
    severity="error",
    reason="No node ever starts; neither ParallelCluster's validators nor its dry run look at the zone.",
    fix="Name a type and a subnet that go together.",
    source="EC2 DescribeInstanceTypeOfferings; slipway/facts/data/offerings.yaml",
)
def types_offered(cluster: Cluster, resource: Section) -> Iterator[Finding]:
    """The Region, and the zones of the queue's subnets, offer the nodes' types."""
    region = cluster.region
    for name in instance_types(resource):
        known = facts.instance_type(name)
        offering = facts.offerings().get((name, region))
        if offering is None:
            elsewhere = listed(sorted({where for kind, where in facts.offerings() if kind == name}), "and")
            yield resource.finding(f"{region} does not offer {name} ({known.as_of}: {elsewhere})", "InstanceType")
            continue
        yield from _not_in_zone(cluster, resource, offering)


def _not_in_zone(cluster: Cluster, resource: Section, offering: facts.Offering) -> Iterator[Finding]:
    for subnet in subnets(queue_of(resource)):
        zone = cluster.context.subnet(subnet).zone_id
        if zone is None:
            raise UnknownValue(f"the Availability Zone of {subnet}")
        if zone not in offering.availability_zone_ids:
            where = listed(offering.availability_zone_ids, "and")
            yield resource.finding(f"{zone} does not offer {offering.instance_type} (only {where})", "InstanceType")


@rule(
    Cluster.queues,
    severity="warning",
    reason=(
        "ParallelCluster has no GRES for Neuron devices: Slurm may put two jobs on one node, and both take the same "
        "NeuronCores."
    ),
    fix="Write `JobExclusiveAllocation: true` in the queue.",
    source="aws/aws-parallelcluster issue 6388",
)
def jobs_get_whole_nodes(cluster: Cluster, queue: Section) -> Iterator[Finding]:
    """A job gets whole nodes where these have Neuron devices."""
    if accelerated_resources(queue) and not queue.flag("JobExclusiveAllocation", default=False):
        yield queue.finding("two jobs may share a node with Neuron devices", "JobExclusiveAllocation")


@rule(
    Cluster.compute_resources,
    severity="warning",
    reason="The head node waits for its static nodes. When EC2 has none, creation fails after the bootstrap time-out.",
    fix="Write `MinCount: 0` and raise it when the cluster is deployed, or name a capacity reservation.",
    source="aws/aws-parallelcluster-cookbook, finalize_head_node.rb (wait_static_fleet_running); issue 3373",
)
def no_static_nodes_at_first(cluster: Cluster, resource: Section) -> Iterator[Finding]:
    """Nodes with Neuron devices are not static unless they are reserved."""
    wanted = resource.number("MinCount", default=0)
    if capacity_type(resource) == "CAPACITY_BLOCK":  # it is paid and has to be static
        return
    if wanted and not reservation(resource).value and accelerated(resource):
        yield resource.finding(f"creation waits for {wanted} nodes that nothing reserves", "MinCount")


@rule(
    Cluster.compute_resources,
    severity="error",
    reason="ParallelCluster refuses the configuration.",
    fix="Raise MaxCount, or lower MinCount.",
    source="aws-parallelcluster 3.16.1, validators/cluster_validators.py, ComputeResourceSizeValidator",
)
def counts_in_order(cluster: Cluster, resource: Section) -> Iterator[Finding]:
    """MaxCount is not less than MinCount."""
    fewest, most = resource.number("MinCount", default=0), max_count(cluster, resource)
    # capacity-block-runs-whole asks for more: the same number.
    if most < fewest and capacity_type(resource) != "CAPACITY_BLOCK":
        yield resource.finding(f"MinCount is {fewest} and MaxCount {most}", "MaxCount")


@rule(
    Cluster.whole,
    severity="error",
    reason="The daemons of Slurm and ParallelCluster run out of memory when all nodes are up.",
    fix="Take a larger head node: its type can never be changed later.",
    source="aws-parallelcluster 3.16.1, HeadNodeMemorySizeValidator; aws/aws-parallelcluster issue 5175",
)
def head_node_carries_all_nodes(cluster: Cluster, root: Section) -> Iterator[Finding]:
    """The head node has the memory for all nodes that may run."""
    head, limits = cluster.head_node()[0], cluster.limits
    has = facts.instance_type(head.required("InstanceType")).memory_gib
    nodes = sum(max_count(cluster, resource) for resource in cluster.compute_resources())
    needs = limits.head_node_memory_gib(nodes)
    if has < needs:
        yield head.finding(f"{has} GiB of memory for up to {nodes} nodes, which need {needs:.1f}", "InstanceType")


@rule(
    Cluster.whole,
    severity="error",
    reason="Slurm asks for nodes that get no address: jobs wait forever.",
    fix="Take a larger subnet, or fewer nodes.",
    source="https://docs.aws.amazon.com/vpc/latest/userguide/subnet-sizing.html; ParallelCluster facts",
)
def addresses_for_all_nodes(cluster: Cluster, root: Section) -> Iterator[Finding]:
    """A subnet has an address for each node that may stand in it."""
    wanted: dict[str, int] = dict.fromkeys((subnet for node in cluster.head_node() for subnet in subnets(node)), 1)
    for pool in cluster.login_pools():
        for subnet in subnets(pool):
            wanted[subnet] = wanted.get(subnet, 0) + pool.number("Count", default=0)
    for resource in cluster.compute_resources():
        for subnet in subnets(queue_of(resource)):
            wanted[subnet] = wanted.get(subnet, 0) + max_count(cluster, resource) * _addresses(cluster, resource)
    for subnet, addresses in wanted.items():
        has = cluster.context.subnet(subnet).addresses
        if has is not None and addresses > has:
            message = f"the nodes take up to {addresses} addresses in {subnet}, which has {has}"
            yield root.finding(message, "Scheduling", "SlurmQueues")


def _addresses(cluster: Cluster, resource: Section) -> int:
    """Count a node's addresses: with EFA the other interfaces have none, without it each network card has one."""
    if resource.section("Efa").flag("Enabled", default=False):
        return cluster.release.addresses_per_efa_node
    return max(facts.devices(name).network_cards for name in instance_types(resource))
