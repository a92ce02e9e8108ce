"""PF09: the capacity reservations that queues and node groups name are there, and fit what is launched into them."""

from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from functools import partial
from typing import NamedTuple

from slipway.machines import Machines
from slipway.preflight.account import Account
from slipway.preflight.answer import Answer, Status
from slipway.preflight.check import UNANSWERED, check, not_checked
from slipway.preflight.needs import Needs
from slipway.preflight.reservations import Reservation, read_reservation, reservation_ids

_Answer = partial(Answer, check="PF09")

_NOT_YET = frozenset({"scheduled", "pending", "payment-pending", "assessing", "delayed"})
"""States before `active` (EC2 API reference, CapacityReservation.State)."""

_ENDS_SOON = timedelta(days=1)


class _Found(NamedTuple):
    """What is wrong with a reservation, and what to do about it."""

    status: Status
    message: str
    fix: str


@check(
    "PF09",
    "capacity reservations",
    stage="existence",
    prevents="Nodes do not start because the reservation that their queue names is gone, elsewhere, or for other ones.",
    actions=("ec2:DescribeCapacityReservations", "resource-groups:ListGroupResources"),
)
def capacity_reservations(needs: Needs, account: Account) -> Iterator[Answer]:
    """Look at every reservation and every resource group of reservations that the environment names."""
    for target in dict.fromkeys(m.capacity_reservation for m in needs.machines if m.capacity_reservation):
        users = tuple(m for m in needs.machines if m.capacity_reservation == target)
        try:
            yield from _of_target(target, users, needs.region, account)
        except UNANSWERED as error:
            yield not_checked("PF09", target, error)


def _of_target(target: str, users: tuple[Machines, ...], region: str, account: Account) -> Iterator[Answer]:
    ids = reservation_ids(account, target)
    if not ids:
        yield _no_group(target, users, region, there=ids is not None)
        return
    found = {name: read_reservation(account, name) for name in ids}
    for reservation_id, reservation in found.items():
        yield from _judge(reservation_id, reservation, users, region)
    yield from _places([r for r in found.values() if r and r.state == "active"], users, target)


def _no_group(target: str, users: tuple[Machines, ...], region: str, *, there: bool) -> Answer:
    return _Answer(
        status="failed",
        subject=target,
        message=f"the resource group {'has no capacity reservation' if there else 'does not exist'}",
        fix=f"aws resource-groups group-resources --region {region} --group {target} --resource-arns "
        "<ARN of a capacity reservation>"
        if there
        else "write the ARN of a group that exists as capacity_reservation_resource_group_arn: "
        f"aws resource-groups list-groups --region {region} --query 'GroupIdentifiers[].GroupArn'",
        stacks=_stacks(users),
    )


def _judge(
    reservation_id: str, reservation: Reservation | None, users: tuple[Machines, ...], region: str
) -> Iterator[Answer]:
    subject = f"{reservation_id} for {', '.join(dict.fromkeys(user.purpose for user in users))}"
    answer = partial(_Answer, subject=subject, stacks=_stacks(users))
    if reservation is None:
        yield answer(
            status="failed",
            message=f"{region} has no such capacity reservation in this account",
            fix=f"write one of these as capacity_reservation_id: {_list_command(users[0].instance_type, region)}",
        )
        return
    wrong = list(_wrong(reservation, users, region))
    for status, message, fix in wrong:
        yield answer(status=status, message=message, fix=fix)
    if not wrong:
        yield answer(
            status="passed",
            message=f"active in {reservation.zone_id}, {reservation.available} of {reservation.total} "
            f"{reservation.instance_type} free",
        )


def _wrong(reservation: Reservation, users: tuple[Machines, ...], region: str) -> Iterator[_Found]:
    yield from _wrong_state(reservation, users[0], region)
    for user in users:
        yield from _wrong_use(reservation, user, region)
    if reservation.match == "open" and reservation.kind == "default":
        yield _Found(
            "warning",
            f"it is open: any {reservation.instance_type} that the account starts in {reservation.zone_id} takes a "
            "place of it",
            f"aws ec2 modify-capacity-reservation --region {region} --capacity-reservation-id {reservation.id} "
            "--instance-match-criteria targeted",
        )


def _wrong_state(reservation: Reservation, user: Machines, region: str) -> Iterator[_Found]:
    if reservation.state in _NOT_YET:
        when = f", it starts at {reservation.start:%Y-%m-%d %H:%M} UTC" if reservation.start else ""
        yield _Found(
            "warning",
            f"it is {reservation.state}, not active{when}; until then its nodes do not start",
            "deploy when it is active, or live without these nodes until then",
        )
    elif reservation.state != "active":
        yield _Found(
            "failed",
            f"it is {reservation.state}, not active",
            f"write one of these as capacity_reservation_id: {_list_command(user.instance_type, region)}",
        )
    elif reservation.kind == "default" and reservation.end and reservation.end < datetime.now(UTC) + _ENDS_SOON:
        yield _Found(
            "warning",
            f"it ends at {reservation.end:%Y-%m-%d %H:%M} UTC; from then on no new node gets a place of it",
            f"aws ec2 modify-capacity-reservation --region {region} --capacity-reservation-id {reservation.id} "
            "--end-date-type unlimited",
        )


def _wrong_use(reservation: Reservation, user: Machines, region: str) -> Iterator[_Found]:
    if user.instance_type != reservation.instance_type:
        yield _Found(
            "failed",
            f"it is for {reservation.instance_type}, but {user.purpose} launches {user.instance_type}",
            f"write `instance_type: {reservation.instance_type}`, or another reservation: "
            f"{_list_command(user.instance_type, region)}",
        )
    if user.availability_zone_ids and reservation.zone_id not in user.availability_zone_ids:
        yield _Found(
            "failed",
            f"it is in {reservation.zone_id}, but {user.purpose} is in {', '.join(user.availability_zone_ids)}",
            f"write `training_availability_zone_id: {reservation.zone_id}` (`slipway az` does it), or another "
            "reservation",
        )
    sold = "capacity_block" if reservation.kind == "capacity-block" else "on_demand"
    if user.purchase != sold:
        kind = "a Capacity Block" if sold == "capacity_block" else "an On-Demand Capacity Reservation"
        yield _Found(
            "failed",
            f"it is {kind}, but {user.purpose} buys {user.purchase}",
            f"write `capacity_type: {sold}`, or another reservation",
        )


def _places(active: list[Reservation], users: tuple[Machines, ...], target: str) -> Iterator[Answer]:
    """Compare the places of all reservations of a target with what is launched into them."""
    if not active:
        return
    total, free = sum(r.total for r in active), sum(r.available for r in active)
    always, most = sum(user.idle_count for user in users), sum(user.peak_count for user in users)
    arithmetic = f"{total} places, {free} free; {always} nodes always run, {most} at most"
    answer = partial(_Answer, subject=f"places of {target}", stacks=_stacks(users))
    if total < always:
        yield answer(
            status="failed",
            message=f"too few places: {arithmetic}",
            fix=f"lower min_count to {total}, or reserve {always - total} more",
        )
    elif total < most:
        yield answer(
            status="warning",
            message=f"fewer places than nodes: {arithmetic}. Launches above {total} fail",
            fix=f"lower max_count to {total}, or reserve {most - total} more",
        )
    elif free < always:
        yield answer(
            status="warning",
            message=f"instances use the places already: {arithmetic}. If they are not this environment's own, its "
            "nodes do not start",
            fix="end the instances that use the reservation",
        )
    else:
        yield answer(status="passed", message=arithmetic)


def _list_command(instance_type: str, region: str) -> str:
    return (
        f"aws ec2 describe-capacity-reservations --region {region} --filters Name=instance-type,Values={instance_type} "
        "Name=state,Values=active --query 'CapacityReservations[].[CapacityReservationId,AvailabilityZoneId,"
        "AvailableInstanceCount]' --output table"
    )


def _stacks(users: tuple[Machines, ...]) -> tuple[str, ...]:
    return tuple(dict.fromkeys(user.stack for user in users))
