"""PF28: the existing VPC and subnets of an environment."""

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from functools import partial
from ipaddress import IPv4Network
from typing import Any, Literal

from slipway.assembly.existing_network import ADDRESSES_METADATA, ExistingNetwork, ExistingSubnet, existing_network
from slipway.aws.account import Account
from slipway.check.preflight.answer import Answer, Status
from slipway.check.preflight.check import check
from slipway.check.preflight.deployed import DEPLOYED_ACTIONS, own_ids
from slipway.check.preflight.needs import Needs
from slipway.config.rules.addresses import LOAD_BALANCER_ADDRESSES

_Answer = partial(Answer, check="PF28")
_EVERYWHERE = "0.0.0.0/0"


@dataclass(frozen=True)
class _Seen:
    """What the environment file says of a VPC or a subnet, and what EC2 says."""

    region: str
    network: ExistingNetwork
    vpc: Mapping[str, Any]
    attributes: Mapping[str, bool] = field(default_factory=dict)
    said: ExistingSubnet | None = None
    subnet: Mapping[str, Any] = field(default_factory=dict)
    routes: tuple[Mapping[str, Any], ...] = ()

    @property
    def way_out(self) -> str:
        """Target of the default route, for example `igw-...`. Empty without a working default route."""
        for route in self.routes:
            if route.get("DestinationCidrBlock") == _EVERYWHERE and route.get("State") == "active":
                keys = ("GatewayId", "NatGatewayId", "TransitGatewayId", "NetworkInterfaceId", "CoreNetworkArn")
                return next((str(route[key]) for key in keys if route.get(key)), "")
        return ""

    @property
    def reaches_s3(self) -> bool:
        """Whether a gateway endpoint takes what goes to S3: only those have routes to lists of prefixes with `vpce-`.

        That of DynamoDB is not told apart; where it is alone, this misses a warning.
        """
        return any(
            route.get("DestinationPrefixListId") and str(route.get("GatewayId", "")).startswith("vpce-")
            for route in self.routes
        )


@dataclass(frozen=True)
class _Row:
    """What must hold.

    Attributes:
        of: what is looked at.
        status: what it is when it does not hold.
        wrong: returns what is wrong, or None.
        fix: what to do.
    """

    of: tuple[Literal["vpc", "private", "public"], ...]
    status: Status
    wrong: Callable[[_Seen], str | None]
    fix: str


def _ranges(seen: _Seen) -> str | None:
    ranges = [
        row["CidrBlock"]
        for row in seen.vpc["CidrBlockAssociationSet"]
        if row["CidrBlockState"]["State"] == "associated"
    ]
    if seen.network.cidr in ranges:
        return None
    return f"{seen.network.cidr} is not one of its ranges: {', '.join(ranges)}"


def _attribute(name: str, seen: _Seen) -> str | None:
    return None if seen.attributes[name] else f"`{name}` is off"


def _other_vpc(seen: _Seen) -> str | None:
    there = seen.subnet["VpcId"]
    return None if there == seen.network.vpc_id else f"it is in {there}, not in {seen.network.vpc_id}"


def _other_zone(seen: _Seen) -> str | None:
    there = seen.subnet["AvailabilityZoneId"]
    return None if seen.said and there == seen.said.zone_id else f"it is in {there}"


def _outside(seen: _Seen) -> str | None:
    inside = IPv4Network(seen.subnet["CidrBlock"]).subnet_of(IPv4Network(seen.network.cidr))
    return None if inside else f"its range {seen.subnet['CidrBlock']} is not in {seen.network.cidr}"


def _no_way_out(seen: _Seen) -> str | None:
    if seen.network.endpoints:
        # They take its place: PF29 looks at them.
        return None
    if not seen.way_out:
        return "its route table has no default route that works"
    if seen.way_out.startswith("igw-"):
        return f"its default route leads to {seen.way_out}: nodes have no public address, and reach nothing through it"
    return None


def _not_public(seen: _Seen) -> str | None:
    if seen.way_out.startswith("igw-"):
        return None
    return f"its default route leads to {seen.way_out or 'nothing'}, not to an internet gateway"


def _no_s3(seen: _Seen) -> str | None:
    known = seen.reaches_s3 or seen.network.endpoints
    return None if known else "no gateway endpoint takes its traffic to S3: NAT bills each gigabyte of it"


_ROWS = (
    _Row(("vpc",), "failed", _ranges, "write the range that the subnets are in as network.existing.cidr"),
    # FSx, EFS and endpoints are found by private names; ParallelCluster's nodes have host names in Route 53.
    _Row(
        ("vpc",),
        "failed",
        partial(_attribute, "enableDnsSupport"),
        "ask the VPC's owner for it:\n"
        "aws ec2 modify-vpc-attribute --region {region} --vpc-id {vpc} --enable-dns-support",
    ),
    _Row(
        ("vpc",),
        "failed",
        partial(_attribute, "enableDnsHostnames"),
        "ask the VPC's owner for it:\n"
        "aws ec2 modify-vpc-attribute --region {region} --vpc-id {vpc} --enable-dns-hostnames",
    ),
    _Row(("private", "public"), "failed", _other_vpc, "name a subnet of {vpc}"),
    _Row(
        ("private", "public"), "failed", _other_zone, "write that as its availability_zone_id, or name another subnet"
    ),
    _Row(("private", "public"), "failed", _outside, "name a subnet in network.existing.cidr, or write another range"),
    _Row(
        ("private",),
        "failed",
        _no_way_out,
        "name a subnet behind NAT, a transit gateway or a firewall, or have its route table given one",
    ),
    _Row(
        ("private",),
        "warning",
        _no_s3,
        "ask the VPC's owner for one:\naws ec2 create-vpc-endpoint --region {region} --vpc-id {vpc} "
        "--service-name com.amazonaws.{region}.s3 --route-table-ids {table}",
    ),
    _Row(("public",), "failed", _not_public, "name a subnet with a default route to an internet gateway"),
)


@check(
    "PF28",
    "existing VPC and subnets",
    stage="existence",
    prevents="Nodes that find no names, have no address or no way to AWS's APIs: a cluster that waits and rolls back.",
    actions=(
        *DEPLOYED_ACTIONS,
        "ec2:DescribeRouteTables",
        "ec2:DescribeSubnets",
        "ec2:DescribeVpcAttribute",
        "ec2:DescribeVpcs",
    ),
)
def existing_vpc(needs: Needs, account: Account) -> Iterator[Answer]:
    """Look whether what the environment file says of the VPC and its subnets is so, and whether nodes work in them."""
    network = existing_network(stack.template for stack in needs.stacks)
    if network is None:
        return
    named = [{"Name": "vpc-id", "Values": [network.vpc_id]}]
    found = account.listing("ec2", "describe_vpcs", "Vpcs", Filters=named)
    if not found:
        message = f"this account has no such VPC in {needs.region}"
        fix = f"aws ec2 describe-vpcs --region {needs.region} --query 'Vpcs[].[VpcId,CidrBlock]' --output table"
        yield _Answer(status="failed", subject=network.vpc_id, message=message, fix=fix)
        return
    seen = _Seen(needs.region, network, found[0], attributes=_attributes(network.vpc_id, account))
    yield from _answers(seen, "vpc", network.vpc_id, f"the VPC with {network.cidr}, DNS names on")
    tables = account.listing("ec2", "describe_route_tables", "RouteTables", Filters=named)
    for subnet in network.subnets:
        yield from _subnet(seen, subnet, tables, needs, account)


def _attributes(vpc_id: str, account: Account) -> dict[str, bool]:
    ec2 = account.client("ec2")
    return {
        name: ec2.describe_vpc_attribute(VpcId=vpc_id, Attribute=name)[f"E{name[1:]}"]["Value"]
        for name in ("enableDnsSupport", "enableDnsHostnames")
    }


def _subnet(
    seen: _Seen, said: ExistingSubnet, tables: list[Mapping[str, Any]], needs: Needs, account: Account
) -> Iterator[Answer]:
    named = [{"Name": "subnet-id", "Values": [said.id]}]
    found = account.listing("ec2", "describe_subnets", "Subnets", Filters=named)
    if not found:
        fix = (
            f"aws ec2 describe-subnets --region {needs.region} --filters Name=vpc-id,Values={seen.network.vpc_id} "
            "--query 'Subnets[].[SubnetId,AvailabilityZoneId,CidrBlock,AvailableIpAddressCount]' --output table"
        )
        message = f"this account has no such subnet in {needs.region}"
        yield _Answer(status="failed", subject=said.id, message=message, fix=fix)
        return
    table = table_of(said.id, tables)
    here = _Seen(needs.region, seen.network, seen.vpc, {}, said, found[0], tuple(table.get("Routes", ())))
    kind: Literal["public", "private"] = "public" if said.public else "private"
    needed = _needed(said, needs)
    free = f"{found[0]['AvailableIpAddressCount']} free addresses, {needed} can be needed"
    few = found[0]["AvailableIpAddressCount"] < needed
    if few:
        # What stands already has taken its share of them.
        status: Status = "warning" if own_ids(needs, account) else "failed"
        fix = "name a larger subnet, or lower the nodes' max_count"
        yield _Answer(status=status, subject=said.id, message=f"it has too few: {free}", fix=fix)
    yield from _answers(here, kind, said.id, None if few else f"{kind}, {said.zone_id}, {free}", table)


def _needed(said: ExistingSubnet, needs: Needs) -> int:
    """Return how many addresses are needed: nodes are in the training zone, elsewhere a load balancer wants most."""
    if not said.training:
        return LOAD_BALANCER_ADDRESSES
    return sum(stack.template.get("Metadata", {}).get(ADDRESSES_METADATA, 0) for stack in needs.stacks)


def table_of(subnet_id: str, tables: list[Mapping[str, Any]]) -> Mapping[str, Any]:
    """Return the route table of a subnet: its own, or the VPC's main one."""
    main: Mapping[str, Any] = {}
    for table in tables:
        for association in table.get("Associations", ()):
            if association.get("SubnetId") == subnet_id:
                return table
            if association.get("Main"):
                main = table
    return main


def _answers(
    seen: _Seen,
    kind: Literal["vpc", "private", "public"],
    subject: str,
    well: str | None,
    table: Mapping[str, Any] | None = None,
) -> Iterator[Answer]:
    """Yield what does not hold, or that all does."""
    wrong = [(row, message) for row in _ROWS if kind in row.of and (message := row.wrong(seen))]
    words = {"vpc": seen.network.vpc_id, "region": seen.region, "table": (table or {}).get("RouteTableId", "rtb-...")}
    for row, message in wrong:
        yield _Answer(status=row.status, subject=subject, message=message, fix=row.fix.format(**words))
    if well and not wrong:
        yield _Answer(status="passed", subject=subject, message=well)
