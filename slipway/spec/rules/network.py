"""Rules about the VPC's range and its subnets."""

from collections.abc import Iterator
from ipaddress import IPv4Network

from slipway import facts
from slipway.spec.environment import Environment
from slipway.spec.problems import Finding
from slipway.spec.ranges import parse_range, range_finding
from slipway.spec.rules.region import zones
from slipway.spec.rules.registry import environment_rule
from slipway.spec.section import InvalidPart

_CIDR = ("network", "cidr")
_PRIVATE_PREFIX = ("network", "private_subnet_prefix_length")
_PUBLIC_PREFIX = ("network", "public_subnet_prefix_length")

# RFC 1918 and RFC 6598. Nodes in a public range could not reach the real owners of those addresses.
_PRIVATE_RANGES = tuple(map(IPv4Network, ("10.0.0.0/8", "172.16.0.0/12", "192.168.0.0/16", "100.64.0.0/10")))
# The default bridge of the Docker daemon on the endpoint's hosts.
_DOCKER_RANGE = IPv4Network("172.17.0.0/16")
# AWS keeps the first four addresses and the last one of every subnet (VPC user guide, subnet sizing).
_RESERVED_ADDRESSES = 5
# An Application Load Balancer wants a /27 and eight free addresses in each of its subnets (ELB user guide).
_LOAD_BALANCER_PREFIX_LENGTH = 27
_LOAD_BALANCER_ADDRESSES = 8
# AWS publishes no number of file servers. One per 1,200 GiB and one for metadata is more than has been seen.
_FILE_SERVER_GIB = 1200


def vpc_range(environment: Environment) -> IPv4Network:
    """Return the VPC's range.

    Raises:
        InvalidPart: It is not a range, which `vpc-range-valid` reports.
    """
    parsed = parse_range(environment.network.cidr)
    if parsed is None:
        raise InvalidPart("cidr")
    return parsed


@environment_rule
def vpc_range_valid(environment: Environment) -> Iterator[Finding]:
    """The VPC's range is an IPv4 range without host bits."""
    yield from range_finding(_CIDR, environment.network.cidr)


@environment_rule
def vpc_range_size(environment: Environment) -> Iterator[Finding]:
    """The VPC is a /16 to a /28, as Amazon VPC demands."""
    vpc = vpc_range(environment)
    if not 16 <= vpc.prefixlen <= 28:
        size = "larger" if vpc.prefixlen < 16 else "smaller"
        yield Finding(_CIDR, f"a VPC cannot be {size} (got /{vpc.prefixlen})", "Write a range from /16 to /28.")


@environment_rule
def vpc_range_private(environment: Environment) -> Iterator[Finding]:
    """The VPC's range is private: inside 10.0.0.0/8, 172.16.0.0/12, 192.168.0.0/16 or 100.64.0.0/10."""
    vpc = vpc_range(environment)
    if not any(vpc.subnet_of(private) for private in _PRIVATE_RANGES):
        yield Finding(_CIDR, f"{vpc} is not a private range", "Write one inside 10.0.0.0/8, for example 10.40.0.0/16.")


@environment_rule
def vpc_range_free_of_docker(environment: Environment) -> Iterator[Finding]:
    """The VPC's range does not overlap 172.17.0.0/16, which Docker uses on the endpoint's hosts."""
    vpc = vpc_range(environment)
    if vpc.overlaps(_DOCKER_RANGE):
        yield Finding(_CIDR, f"{vpc} overlaps Docker's own range {_DOCKER_RANGE}", "Write another range: 10.40.0.0/16.")


@environment_rule
def subnets_fit_vpc(environment: Environment) -> Iterator[Finding]:
    """One public and one private subnet per zone fit into the VPC, each beginning at a multiple of its size."""
    network, vpc, count = environment.network, vpc_range(environment), len(zones(environment))
    public, private = network.public_subnet_prefix_length, network.private_subnet_prefix_length
    if _fits(vpc, public, private, count):
        return
    fitting = next((length for length in range(private + 1, 29) if _fits(vpc, public, length, count)), None)
    message = f"{count} public /{public} and {count} private /{private} subnets do not fit into {vpc}"
    if fitting:
        yield Finding(_PRIVATE_PREFIX, message, f"Write {fitting} or more, or give the VPC a larger range.")
    else:
        yield Finding(_PUBLIC_PREFIX, message, "Write a larger number, or give the VPC a larger range.")


def _fits(vpc: IPv4Network, public: int, private: int, count: int) -> bool:
    """Place the subnets as aws_ec2.Vpc does: all public ones, then all private ones, each at a multiple of its size."""
    end = int(vpc.network_address)
    for length in [public] * count + [private] * count:
        size = 2 ** (32 - length)
        end = -(-end // size) * size + size
    return end <= int(vpc.broadcast_address) + 1


@environment_rule
def nat_gateways_within_zones(environment: Environment) -> Iterator[Finding]:
    """There are at most as many NAT gateways as availability zones."""
    count, gateways = len(zones(environment)), environment.network.nat_gateways
    if gateways > count:
        message = f"there are more NAT gateways than zones (got {gateways}, with {count} zones)"
        yield Finding(("network", "nat_gateways"), message, f"Write {count} or less.")


@environment_rule
def training_subnet_large_enough(environment: Environment) -> Iterator[Finding]:
    """The training zone's private subnet has addresses for all nodes, the head node, file servers and endpoint."""
    length = environment.network.private_subnet_prefix_length
    usable = 2 ** (32 - length) - _RESERVED_ADDRESSES
    needs = {
        "nodes": _node_addresses(environment),
        "the head node": 1,
        "the file system": 1 + -(-environment.storage.lustre.capacity_gib // _FILE_SERVER_GIB),
        "the endpoint": _endpoint_addresses(environment),
    }
    needed = sum(needs.values())
    if needed > usable:
        shares = ", ".join(f"{count} for {user}" for user, count in needs.items() if count)
        fitting = 32 - (needed + _RESERVED_ADDRESSES - 1).bit_length()
        yield Finding(
            _PRIVATE_PREFIX,
            f"a /{length} subnet has {usable} usable addresses and {needed} can be needed: {shares}",
            f"Write {fitting} or less."
            if fitting >= 16
            else "Lower the queues' max_count: a /16 is not enough either.",
        )


def _node_addresses(environment: Environment) -> int:
    """Count the nodes' addresses: EFA interfaces have none, without EFA there is one on each network card."""
    addresses_with_efa = facts.parallelcluster_release(
        environment.training.parallelcluster_version
    ).addresses_per_efa_node
    total = 0
    for queue in environment.training.queues:
        for resource in queue.compute_resources:
            network_cards = facts.instance_type(resource.instance_type).network_cards
            total += resource.max_count * (addresses_with_efa if resource.uses_efa else network_cards)
    return total


def _endpoint_addresses(environment: Environment) -> int:
    """Count an internal load balancer's addresses, and one for each host and each task, all in one zone at worst."""
    inference = environment.inference
    if inference is None:
        return 0
    load_balancer = _LOAD_BALANCER_ADDRESSES if inference.endpoint.exposure == "internal" else 0
    return load_balancer + 2 * inference.max_count


@environment_rule
def load_balancer_subnets_large_enough(environment: Environment) -> Iterator[Finding]:
    """The endpoint's load balancer has subnets of /27 or larger: private ones, or public ones when it is public."""
    if environment.inference is None:
        return
    internal = environment.inference.endpoint.exposure == "internal"
    network = environment.network
    length = network.private_subnet_prefix_length if internal else network.public_subnet_prefix_length
    if length > _LOAD_BALANCER_PREFIX_LENGTH:
        message = f"the endpoint's load balancer needs larger subnets (got /{length})"
        path = _PRIVATE_PREFIX if internal else _PUBLIC_PREFIX
        yield Finding(path, message, f"Write {_LOAD_BALANCER_PREFIX_LENGTH} or less.")
