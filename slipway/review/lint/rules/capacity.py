"""Rules about how nodes are bought, and what they cost together."""

from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, field

from slipway import facts
from slipway.assembly.cluster import (
    Cluster,
    accelerated,
    capacity_type,
    instance_types,
    max_count,
    queue_of,
    reservation,
)
from slipway.assembly.sections import Section, UnknownValue
from slipway.config.problems import Finding, listed
from slipway.review.lint.registry import rule

_GUIDE = "https://docs.aws.amazon.com/parallelcluster/latest/ug"
_CAPACITY_BLOCKS = f"{_GUIDE}/launch-instances-capacity-blocks.html"
_USAGE_CLASSES = {"ONDEMAND": "on-demand", "SPOT": "spot", "CAPACITY_BLOCK": "capacity-block"}


@rule(
    Cluster.compute_resources,
    severity="error",
    reason="EC2 refuses every request: no node ever starts.",
    fix="Choose a CapacityType that EC2 sells the type in.",
    source="EC2 DescribeInstanceTypes (SupportedUsageClasses); slipway/facts/data/instance_types.yaml",
)
def types_sold_so(cluster: Cluster, resource: Section) -> Iterator[Finding]:
    """EC2 sells the nodes' types in the way that the queue buys them."""
    wanted = capacity_type(resource)
    for name in instance_types(resource):
        sold = facts.instance_type(name).usage_classes
        if _USAGE_CLASSES.get(wanted, sold[0]) not in sold:
            yield queue_of(resource).finding(f"{name} is sold as {listed(sold, 'and')} only", "CapacityType")


@rule(
    Cluster.compute_resources,
    severity="error",
    reason="A block is paid whether it is used or not, and ParallelCluster refuses it with other counts.",
    fix="Write the number of machines in the block as MinCount and as MaxCount.",
    source=_CAPACITY_BLOCKS,
)
def capacity_block_runs_whole(cluster: Cluster, resource: Section) -> Iterator[Finding]:
    """A queue with a Capacity Block has MinCount equal to MaxCount, and names the block."""
    if capacity_type(resource) != "CAPACITY_BLOCK":
        return
    fewest, most = resource.number("MinCount", default=0), max_count(cluster, resource)
    if fewest != most or not most:
        yield resource.finding(f"MinCount is {fewest} and MaxCount {most}", "MinCount")
    if not reservation(resource).has("CapacityReservationId"):
        fix = "Write `CapacityReservationTarget: {CapacityReservationId: cr-...}` with the block's id."
        yield resource.finding("no CapacityReservationId names the block", "CapacityReservationTarget", fix=fix)


@rule(
    Cluster.compute_resources,
    severity="warning",
    reason=(
        "The id of a Capacity Block with another CapacityType passes all validators and no node starts. An id does not "
        "show what it is; but this type has no on-demand price, so a reservation of it is most likely a block."
    ),
    fix="Write `CapacityType: CAPACITY_BLOCK` if the id is that of a block.",
    source=f"{_CAPACITY_BLOCKS}; found by mutation with aws-parallelcluster 3.16.1",
)
def reservation_is_no_block(cluster: Cluster, resource: Section) -> Iterator[Finding]:
    """A reservation for a type without an on-demand price is used as a Capacity Block."""
    if capacity_type(resource) == "CAPACITY_BLOCK" or not reservation(resource).has("CapacityReservationId"):
        return
    for name in instance_types(resource):
        price = facts.on_demand_price(name, cluster.region)
        if price and price.usd is None and facts.instance_type(name).capacity_block:
            where = queue_of(resource)
            yield where.finding(f"{name} in {cluster.region}: {price.note}", "CapacityType")


@dataclass
class Demand:
    """What a cluster asks of EC2 with all its nodes up."""

    vcpus: Counter[str] = field(default_factory=Counter)
    """vCPUs by the key of the service quota that counts them."""

    hourly_usd: float = 0.0
    """List price of everything that has one."""

    unpriced: set[str] = field(default_factory=set)
    """Instance types without a price in this Region."""


def demand(cluster: Cluster) -> Demand:
    """Add up head node, login nodes and all compute nodes; Capacity Blocks are paid and counted apart.

    Raises:
        UnknownValue: a count, a type or the Region is not known.
        slipway.facts.UnknownFact: there are no facts about an instance type.
    """
    total = Demand()
    for head in cluster.head_node():
        _add(total, cluster, head.required("InstanceType"), 1, spot=False)
    for pool in cluster.login_pools():
        _add(total, cluster, pool.required("InstanceType"), pool.number("Count", default=0), spot=False)
    for resource in cluster.compute_resources():
        kind = capacity_type(resource)
        if kind == "CAPACITY_BLOCK":
            continue
        # With several types EC2 takes any of them: the largest is the most it can come to.
        largest = max(instance_types(resource), key=lambda name: facts.instance_type(name).vcpus)
        _add(total, cluster, largest, max_count(cluster, resource), spot=kind == "SPOT")
    return total


def _add(total: Demand, cluster: Cluster, name: str, count: int, *, spot: bool) -> None:
    kind = facts.instance_type(name)
    total.vcpus[kind.spot_quota if spot else kind.on_demand_quota] += kind.vcpus * count
    price = facts.on_demand_price(name, cluster.region)
    if price is None or price.usd is None:
        total.unpriced.add(name)
    else:
        total.hourly_usd += price.usd * count


@rule(
    Cluster.whole,
    severity="error",
    reason="EC2 refuses the nodes above the quota: jobs wait forever, and ParallelCluster never looks at quotas.",
    fix="Ask for a higher quota in the Service Quotas console, or lower MaxCount.",
    source="aws/aws-parallelcluster issues 1375 and 3863",
)
def quotas_allow_all_nodes(cluster: Cluster, root: Section) -> Iterator[Finding]:
    """The account's vCPU quotas allow all nodes that may run."""
    if not cluster.context.vcpu_quotas:
        raise UnknownValue("the account's vCPU quotas")
    for key, vcpus in demand(cluster).vcpus.items():
        allowed = cluster.context.vcpu_quotas.get(key)
        if allowed is None:
            raise UnknownValue(f"the quota {key}")
        if vcpus > allowed:
            name = facts.quota(key).name
            message = f"all nodes have {vcpus} vCPUs, the quota `{name}` allows {allowed}"
            yield root.finding(message, "Scheduling", "SlurmQueues")


@rule(
    Cluster.whole,
    severity="error",
    reason="One wrong job starts all nodes: what they cost per hour must be a number that somebody has agreed to.",
    fix="Lower MaxCount, or raise the ceiling.",
    source="list prices, slipway/facts/data/prices.yaml",
)
def all_nodes_below_price_ceiling(cluster: Cluster, root: Section) -> Iterator[Finding]:
    """All nodes together cost no more per hour than the ceiling."""
    ceiling = cluster.context.hourly_ceiling_usd
    if ceiling is None:
        raise UnknownValue("what the nodes may cost per hour")
    total = demand(cluster)
    if total.hourly_usd > ceiling:
        message = f"all nodes cost {total.hourly_usd:.2f} USD per hour, the ceiling is {ceiling:.2f}"
        yield root.finding(message, "Scheduling", "SlurmQueues")
    if total.unpriced:
        raise UnknownValue(f"the price of {listed(sorted(total.unpriced), 'and')}")


@rule(
    Cluster.whole,
    severity="warning",
    reason="An idle node costs as much as a working one.",
    fix="Write minutes, such as `ScaledownIdletime: 10`.",
    source=f"{_GUIDE}/Scheduling-v3.html (SlurmSettings, ScaledownIdletime)",
)
def idle_nodes_end(cluster: Cluster, root: Section) -> Iterator[Finding]:
    """Nodes without a job are ended after a time."""
    settings = root.section("Scheduling", "SlurmSettings")
    if settings.number("ScaledownIdletime", default=0) < 0 and any(map(accelerated, cluster.compute_resources())):
        yield settings.finding("idle nodes run, and cost, until somebody ends them", "ScaledownIdletime")
