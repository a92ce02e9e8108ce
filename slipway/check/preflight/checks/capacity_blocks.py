"""PF10: Capacity Blocks: whether the bought one runs long enough, and what could be bought where there is none."""

from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from functools import partial

from slipway import facts
from slipway.assembly.instances import InstanceGroup
from slipway.aws.account import Account
from slipway.aws.refusals import UNANSWERED
from slipway.check.preflight.answer import Answer
from slipway.check.preflight.block_offers import MOST_INSTANCES, SHORTEST_HOURS, BlockOffer, block_offers
from slipway.check.preflight.check import check, not_checked
from slipway.check.preflight.needs import Needs
from slipway.check.preflight.reservations import Reservation, read_reservation

_Answer = partial(Answer, check="PF10")

_ENDS_SOON = timedelta(days=1)
_SHOWN = 3
"""How many offers a message lists."""

_GONE = frozenset({"expired", "cancelled", "cancelling", "failed", "payment-failed", "unavailable", "unsupported"})


@check(
    "PF10",
    "Capacity Blocks",
    stage="existence",
    prevents="A queue waits for nodes that can only be bought beforehand, or that have been taken away again.",
    actions=(
        "ec2:DescribeCapacityReservations",
        "ec2:DescribeCapacityBlockOfferings",
        "ec2:DescribeAvailabilityZones",
    ),
)
def capacity_blocks(needs: Needs, account: Account) -> Iterator[Answer]:
    """Look at the blocks that queues name, and at the offers for instance_groups that nothing was bought for yet."""
    for group in needs.instance_groups:
        try:
            yield from _of_machine(group, needs, account)
        except UNANSWERED as error:
            yield not_checked("PF10", f"{group.instance_type} for {group.purpose}", error)


def _of_machine(group: InstanceGroup, needs: Needs, account: Account) -> Iterator[Answer]:
    if group.purchase == "capacity_block":
        named = group.capacity_reservation
        block = read_reservation(account, named) if named else None
        usable = block if block and block.state not in _GONE else None
        yield _window(usable, group) if usable else _offers(group, needs, account, "no block is bought for it")
    elif group.purchase == "on_demand" and not group.capacity_reservation:
        why = _not_on_demand(group.instance_type, needs.region)
        if why:
            # A warning: those who have their own contract with AWS may get it on demand.
            yield _offers(group, needs, account, why).model_copy(update={"status": "warning"})


def _not_on_demand(instance_type: str, region: str) -> str | None:
    """Say why an instance type is probably not sold on demand; None when it is, or when the facts do not know it."""
    if instance_type not in facts.instance_types():
        return None
    price = facts.on_demand_price(instance_type, region)
    if price is None or price.usd is not None:
        return None
    return f"AWS publishes no on-demand price of it in {region} (facts of {price.as_of})"


def _window(block: Reservation, group: InstanceGroup) -> Answer:
    now = datetime.now(UTC)
    answer = partial(_Answer, subject=f"{block.id} for {group.purpose}", stacks=(group.stack,))
    if block.start and block.start > now:
        return answer(
            status="warning",
            message=f"the block starts at {block.start:%Y-%m-%d %H:%M} UTC; nodes do not start before that",
            fix="deploy then, or live without these nodes until then",
        )
    if block.state != "active":
        return answer(
            status="warning",
            message=f"the block is {block.state}, not active; until then its nodes do not start",
            fix="deploy when it is active, or live without these nodes until then",
        )
    if block.end and block.end < now + _ENDS_SOON:
        return answer(
            status="warning",
            message=f"the block ends at {block.end:%Y-%m-%d %H:%M} UTC; EC2 terminates its nodes 30 minutes earlier",
            fix="buy the next block, or let jobs checkpoint before that",
        )
    until = f" until {block.end:%Y-%m-%d %H:%M} UTC" if block.end else ""
    return answer(status="passed", message=f"the block runs{until}")


def _offers(group: InstanceGroup, needs: Needs, account: Account, why: str) -> Answer:
    instances = min(group.peak_count, MOST_INSTANCES)
    offers = block_offers(account, group.instance_type, instances)
    zones = group.availability_zone_ids
    fitting = [offer for offer in offers if not zones or offer.zone_id in zones]
    answer = partial(
        _Answer, status="failed", subject=f"{group.instance_type} for {group.purpose}", stacks=(group.stack,)
    )
    wanted = f"{instances} {group.instance_type} for {SHORTEST_HOURS} hours"
    if instances < group.peak_count:
        why = f"{why}; a block has at most {MOST_INSTANCES} instances, so {group.peak_count} need several"
    if not offers:
        return answer(
            message=f"{why}; EC2 offers no block of {wanted} in {needs.region}",
            fix="ask again later, or for fewer nodes:\naws ec2 describe-capacity-block-offerings --region "
            f"{needs.region} --instance-type {group.instance_type} --instance-count <nodes> "
            f"--capacity-duration-hours {SHORTEST_HOURS}",
        )
    best = (fitting or offers)[:_SHOWN]
    where = "" if fitting else f", none of them in {', '.join(zones)}"
    return answer(
        message=f"{why}. {len(offers)} offers of {wanted}{where}; the cheapest: {'; '.join(map(str, best))}",
        fix=_purchase(best[0], needs.region, elsewhere=not fitting),
    )


def _purchase(offer: BlockOffer, region: str, *, elsewhere: bool) -> str:
    """Write the command that buys an offer, which bills at once, and the lines for the environment file."""
    zone = f" In `network` write `training_availability_zone_id: {offer.zone_id}`." if elsewhere else ""
    return (
        f"aws ec2 purchase-capacity-block --region {region} --capacity-block-offering-id {offer.id} "
        f"--instance-platform Linux/UNIX\nThat bills {offer.upfront_usd:,.2f} USD at once. Then write in the queue "
        "`capacity_type: capacity_block`, `capacity_reservation_id: <the CapacityReservationId that it prints>`, and "
        f"`min_count: {offer.instances}`, `max_count: {offer.instances}` in its compute resource.{zone}"
    )
