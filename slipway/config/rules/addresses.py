"""Rules and notices about what nodes take from the network: addresses of a subnet, interfaces of an account."""

from collections import Counter
from collections.abc import Iterator

from slipway import facts
from slipway.config.environment import Environment
from slipway.config.kubernetes import Kubernetes
from slipway.config.problems import Finding, listed
from slipway.config.queues import ComputeResource
from slipway.config.ranges import RESERVED_ADDRESSES
from slipway.config.rules.kubernetes_addresses import kubernetes_addresses
from slipway.config.rules.registry import environment_notice, environment_rule
from slipway.config.storage import Lustre
from slipway.config.training import Training

_PRIVATE_PREFIX = ("network", "private_subnet_prefix_length")
_LARGEST_SUBNET_PREFIX_LENGTH = 16

# Free addresses that a load balancer wants in each of its subnets (ELB user guide; Application and Network ones alike).
LOAD_BALANCER_ADDRESSES = 8
# AWS publishes no number of file servers. One per 1,200 GiB and one for metadata is more than has been seen.
_FILE_SERVER_GIB = 1200
# A Single-AZ file system has one file server (FSx for OpenZFS user guide, availability and durability).
_OPEN_ZFS_ADDRESSES = 1
# RDS wants one address more than the instance has, to replace it (RDS user guide, DB subnet groups).
_DATABASE_ADDRESSES = 2


def training_subnet_addresses(environment: Environment) -> dict[str, dict[str, int]]:
    """Count the addresses that can be needed in the training zone's private subnet, by stack and by what takes them."""
    return {
        "training": _cluster_addresses(environment.training) if environment.training else {},
        "kubernetes": kubernetes_addresses(environment),
        "storage": _storage_addresses(environment),
        "inference": {"the endpoint": _endpoint_addresses(environment)},
    }


def _storage_addresses(environment: Environment) -> dict[str, int]:
    return {
        "/fsx": _lustre_addresses(environment.storage.lustre),
        "/home": _OPEN_ZFS_ADDRESSES if environment.storage.home and not environment.storage.home.existing else 0,
        "the accounting database": _DATABASE_ADDRESSES if environment.storage.accounting_database else 0,
    }


@environment_rule
def training_subnet_large_enough(environment: Environment) -> Iterator[Finding]:
    """The training zone's new private subnet has addresses for all nodes, file systems, the database, the endpoint."""
    if environment.network.existing:
        return
    length = environment.network.private_subnet_prefix_length
    usable = 2 ** (32 - length) - RESERVED_ADDRESSES
    needs = {user: count for part in training_subnet_addresses(environment).values() for user, count in part.items()}
    needed = sum(needs.values())
    if needed > usable:
        shares = ", ".join(f"{count} for {user}" for user, count in needs.items() if count)
        fitting = 32 - (needed + RESERVED_ADDRESSES - 1).bit_length()
        yield Finding(
            _PRIVATE_PREFIX,
            f"a /{length} subnet has {usable} usable addresses and {needed} can be needed: {shares}",
            f"Write {fitting} or less."
            if fitting >= _LARGEST_SUBNET_PREFIX_LENGTH
            else f"Lower the nodes' max_count: a /{_LARGEST_SUBNET_PREFIX_LENGTH} is not enough either.",
        )


def _lustre_addresses(lustre: Lustre) -> int:
    return 0 if lustre.existing else 1 + -(-lustre.capacity_gib // _FILE_SERVER_GIB)


@environment_notice
def network_interface_quota(environment: Environment) -> Iterator[Finding]:
    """The nodes can have more network interfaces than an account has in a Region unless it asks: EFA's count too."""
    nodes: Counter[tuple[str, int]] = Counter()
    if environment.training:
        nodes += _slurm_nodes(environment.training)
    if environment.kubernetes:
        nodes += _kubernetes_nodes(environment.kubernetes)
    needed = sum(count * interfaces for (_, interfaces), count in nodes.items())
    quota = facts.quota("network_interfaces")
    if quota.default is not None and needed > quota.default:
        shares = [f"{count} {name} x {interfaces}" for (name, interfaces), count in nodes.items()]
        message = (
            f"the nodes can have {needed} network interfaces ({listed(shares, 'and')}), and an account has "
            f"{quota.default} in a Region until it is given more (facts of {quota.as_of})"
        )
        fix = (
            "Ask once, with room for what else the account has: aws service-quotas request-service-quota-increase "
            f"--region {environment.region} --service-code {quota.service_code} --quota-code {quota.quota_code} "
            f"--desired-value {needed}"
        )
        yield Finding(("training", "queues") if environment.training else ("kubernetes", "node_groups"), message, fix)


def _slurm_nodes(training: Training) -> Counter[tuple[str, int]]:
    """Count the nodes of all queues by instance type and interfaces of each."""
    nodes: Counter[tuple[str, int]] = Counter()
    for queue in training.queues:
        for resource in queue.compute_resources:
            nodes[resource.instance_type, _interfaces(resource, training)] += resource.max_count
    return nodes


def _kubernetes_nodes(kubernetes: Kubernetes) -> Counter[tuple[str, int]]:
    """Count the nodes of all node groups likewise; the EFA interface of the first card has the node's address, too."""
    nodes = Counter({(kubernetes.core_nodes.instance_type, 1): kubernetes.core_nodes.max_count})
    for group in kubernetes.node_groups:
        interfaces = facts.instance_type(group.instance_type).efa_interfaces if group.uses_efa else 1
        nodes[group.instance_type, interfaces] += group.max_count
    return nodes


def _addresses_per_efa_node(training: Training) -> int:
    return facts.parallelcluster_release(training.parallelcluster_version).addresses_per_efa_node


def _interfaces(resource: ComputeResource, training: Training) -> int:
    """Count a node's interfaces: EFA-only ones beside those with an address, without EFA one on each network card."""
    devices = facts.devices(resource.instance_type)
    if resource.uses_efa:
        return _addresses_per_efa_node(training) + devices.efa_interfaces
    return devices.network_cards


def _cluster_addresses(training: Training) -> dict[str, int]:
    """Count the addresses of the Slurm cluster by who has them; a pool of login nodes comes with a load balancer."""
    pool = training.login_nodes
    return {
        "nodes": _node_addresses(training),
        "the head node": 1,
        "login nodes": LOAD_BALANCER_ADDRESSES + pool.count if pool else 0,
    }


def _node_addresses(training: Training) -> int:
    """Count the nodes' addresses: EFA-only interfaces have none, without EFA there is one on each network card."""
    total = 0
    for queue in training.queues:
        for resource in queue.compute_resources:
            network_cards = facts.devices(resource.instance_type).network_cards
            each = _addresses_per_efa_node(training) if resource.uses_efa else network_cards
            total += resource.max_count * each
    return total


def _endpoint_addresses(environment: Environment) -> int:
    """Count an internal load balancer's addresses, and one for each host and each task, all in one zone at worst."""
    inference = environment.inference
    if inference is None:
        return 0
    load_balancer = LOAD_BALANCER_ADDRESSES if inference.endpoint.exposure == "internal" else 0
    hosts = sum(model.host_limit + int(model.canary) for model in inference.models)
    return load_balancer + 2 * hosts
