"""Rules about the VPC's range and its subnets."""

from collections.abc import Iterator
from ipaddress import IPv4Network

from slipway.config.environment import Environment
from slipway.config.network import vpc_cidr
from slipway.config.problems import Finding, Path
from slipway.config.ranges import PRIVATE_RANGES, parse_range, range_finding
from slipway.config.rules.region import zones
from slipway.config.rules.registry import environment_rule
from slipway.config.section import InvalidPart

_CIDR = ("network", "cidr")
_PRIVATE_PREFIX = ("network", "private_subnet_prefix_length")
_PUBLIC_PREFIX = ("network", "public_subnet_prefix_length")

# The default bridge of the Docker daemon on the endpoint's hosts.
_DOCKER_RANGE = IPv4Network("172.17.0.0/16")
# An Application Load Balancer wants subnets of /27 or larger (ELB user guide).
_LOAD_BALANCER_PREFIX_LENGTH = 27


def vpc_range(environment: Environment) -> IPv4Network:
    """Return the VPC's range.

    Raises:
        InvalidPart: It is not a range, which `vpc-range-valid` reports.
    """
    parsed = parse_range(vpc_cidr(environment.network))
    if parsed is None:
        raise InvalidPart("cidr")
    return parsed


def _cidr_path(environment: Environment) -> Path:
    return ("network", "existing", "cidr") if environment.network.existing else _CIDR


@environment_rule
def vpc_range_valid(environment: Environment) -> Iterator[Finding]:
    """The VPC's range is an IPv4 range without host bits."""
    yield from range_finding(_cidr_path(environment), vpc_cidr(environment.network))


@environment_rule
def vpc_range_size(environment: Environment) -> Iterator[Finding]:
    """The VPC is a /16 to a /28, as Amazon VPC demands."""
    vpc = vpc_range(environment)
    if not 16 <= vpc.prefixlen <= 28:
        size = "larger" if vpc.prefixlen < 16 else "smaller"
        yield Finding(
            _cidr_path(environment), f"a VPC cannot be {size} (got /{vpc.prefixlen})", "Write a range from /16 to /28."
        )


@environment_rule
def vpc_range_private(environment: Environment) -> Iterator[Finding]:
    """A new VPC's range is private: inside 10.0.0.0/8, 172.16.0.0/12, 192.168.0.0/16 or 100.64.0.0/10."""
    if environment.network.existing:
        return
    vpc = vpc_range(environment)
    # Nodes in a public range could not reach the real owners of those addresses.
    if not any(vpc.subnet_of(private) for private in PRIVATE_RANGES):
        yield Finding(_CIDR, f"{vpc} is not a private range", "Write one inside 10.0.0.0/8, for example 10.40.0.0/16.")


@environment_rule
def vpc_range_free_of_docker(environment: Environment) -> Iterator[Finding]:
    """The VPC's range does not overlap 172.17.0.0/16, which Docker uses on the endpoint's hosts."""
    vpc = vpc_range(environment)
    if vpc.overlaps(_DOCKER_RANGE):
        path = _cidr_path(environment)
        yield Finding(path, f"{vpc} overlaps Docker's own range {_DOCKER_RANGE}", "Write another range: 10.40.0.0/16.")


@environment_rule
def subnets_fit_vpc(environment: Environment) -> Iterator[Finding]:
    """One public and one private subnet per zone fit into a new VPC, each beginning at a multiple of its size."""
    if environment.network.existing:
        return
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
def load_balancer_subnets_large_enough(environment: Environment) -> Iterator[Finding]:
    """The load balancer's new subnets are /27 or larger: private ones, or public ones when the endpoint is public."""
    if environment.inference is None or environment.network.existing:
        return
    internal = environment.inference.endpoint.exposure == "internal"
    network = environment.network
    length = network.private_subnet_prefix_length if internal else network.public_subnet_prefix_length
    if length > _LOAD_BALANCER_PREFIX_LENGTH:
        message = f"the endpoint's load balancer needs larger subnets (got /{length})"
        path = _PRIVATE_PREFIX if internal else _PUBLIC_PREFIX
        yield Finding(path, message, f"Write {_LOAD_BALANCER_PREFIX_LENGTH} or less.")
