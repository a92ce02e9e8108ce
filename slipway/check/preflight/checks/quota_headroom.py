"""Room in the account for networks, file systems, load balancers, clusters and databases."""

from collections import Counter
from collections.abc import Iterator

from slipway import facts
from slipway.aws.account import Account
from slipway.check.preflight.answer import Answer
from slipway.check.preflight.check import check
from slipway.check.preflight.counted_quotas import room_for_all
from slipway.check.preflight.deployed import DEPLOYED_ACTIONS, own_ids
from slipway.check.preflight.needs import Needs
from slipway.check.preflight.quota_headroom import LIMIT_ACTIONS, QuotaHeadroom, UnknownLimitError, limit, unknown_limit
from slipway.check.preflight.running import RUNNING_ACTIONS, is_ours, running_instances

_NAT_GATEWAY, _SUBNET = "AWS::EC2::NatGateway", "AWS::EC2::Subnet"
_GONE = ("deleted", "deleting", "failed")


@check(
    "PF07",
    "Room for the network",
    stage="quota",
    prevents="A half-made network stack: five VPCs, Internet gateways and Elastic IPs are all that a Region allows.",
    actions=(
        *LIMIT_ACTIONS,
        *DEPLOYED_ACTIONS,
        "ec2:DescribeAddresses",
        "ec2:DescribeInternetGateways",
        "ec2:DescribeNatGateways",
        *RUNNING_ACTIONS,
        "ec2:DescribeNetworkInterfaces",
        "ec2:DescribeSubnets",
        "ec2:DescribeVpcs",
    ),
)
def network(needs: Needs, account: Account) -> Iterator[Answer]:
    """Compare what the network needs with what the account may have and has; what exists already counts once."""
    yield from room_for_all("PF07", needs, account)
    yield from _nat_gateways(needs, account)
    yield from _interfaces(needs, account)


def _nat_gateways(needs: Needs, account: Account) -> Iterator[Answer]:
    """Yield the answer for each zone with a NAT gateway: the quota is one per zone."""
    zones = {
        (stack.name, logical_id): properties.get("AvailabilityZoneId")
        for stack, logical_id, properties in needs.resources(_SUBNET)
    }
    wanted = Counter(
        zones.get((stack.name, properties["SubnetId"].get("Ref")))
        for stack, _, properties in needs.resources(_NAT_GATEWAY)
    )
    stacks = tuple(sorted({stack.name for stack, _, _ in needs.resources(_NAT_GATEWAY)}))
    quota = facts.quota("nat_gateways")
    for zone, count in sorted((str(zone), count) for zone, count in wanted.items()):
        subject = f"{quota.name}, {zone}"
        try:
            allowed = limit(quota, account)
        except UnknownLimitError as error:
            yield unknown_limit("PF07", subject, error, stacks)
            continue
        used = _nat_gateways_of_others(needs, account)[zone]
        yield QuotaHeadroom("PF07", quota, subject, count, used, stacks).answer(allowed, needs.region)


def _nat_gateways_of_others(needs: Needs, account: Account) -> Counter[str]:
    """Return how many there are by zone id, without the environment's own."""
    zones = {
        subnet["SubnetId"]: subnet["AvailabilityZoneId"]
        for subnet in account.listing("ec2", "describe_subnets", "Subnets")
    }
    own = own_ids(needs, account)
    return Counter(
        zones.get(gateway.get("SubnetId"), "")
        for gateway in account.listing("ec2", "describe_nat_gateways", "NatGateways")
        if gateway["State"] not in _GONE and gateway["NatGatewayId"] not in own
    )


def _interfaces(needs: Needs, account: Account) -> Iterator[Answer]:
    """Yield whether all nodes together find network interfaces; each EFA interface of a node is one."""
    known = [group for group in needs.instance_groups if _known(group.instance_type)]
    needed = sum(group.peak_count * _interfaces_of(group.instance_type) for group in known)
    if not needed:
        return
    quota = facts.quota("network_interfaces")
    stacks = tuple(sorted({group.stack for group in known}))
    try:
        allowed = limit(quota, account)
    except UnknownLimitError as error:
        yield unknown_limit("PF07", quota.name, error, stacks)
        return
    ours = {instance["InstanceId"] for instance in running_instances(account) if is_ours(instance, needs)}
    used = sum(
        interface.get("Attachment", {}).get("InstanceId") not in ours
        for interface in account.listing("ec2", "describe_network_interfaces", "NetworkInterfaces")
    )
    headroom = QuotaHeadroom("PF07", quota, f"{quota.name}, {needs.region}", needed, used, stacks)
    yield headroom.answer(allowed, needs.region, what="all nodes at their highest counts", worst="warning")


def _known(instance_type: str) -> bool:
    return instance_type in facts.instance_types() or facts.unpriced_architecture(instance_type) is not None


def _interfaces_of(instance_type: str) -> int:
    found = facts.devices(instance_type)
    return max(found.network_cards, found.efa_interfaces)


@check(
    "PF08",
    "Room for file systems",
    stage="quota",
    prevents="The storage stack fails after the network is deployed: FSx has no capacity left for the account.",
    actions=(*LIMIT_ACTIONS, *DEPLOYED_ACTIONS, "fsx:DescribeFileSystems"),
)
def file_systems(needs: Needs, account: Account) -> Iterator[Answer]:
    """Compare the file systems' number and sizes with FSx's quotas.

    AWS has no list of the zones with a deployment type: only the creation of a file system shows it.
    """
    yield from room_for_all("PF08", needs, account)


@check(
    "PF24",
    "Room for load balancers, clusters and databases",
    stage="quota",
    prevents="The inference, Kubernetes or storage stack fails at a limit of the account.",
    actions=(
        *LIMIT_ACTIONS,
        *DEPLOYED_ACTIONS,
        "eks:ListClusters",
        "elasticloadbalancing:DescribeLoadBalancers",
        "rds:DescribeDBInstances",
    ),
)
def services(needs: Needs, account: Account) -> Iterator[Answer]:
    """Compare the number of load balancers, EKS clusters and databases with the account's limits."""
    yield from room_for_all("PF24", needs, account)
