"""PF09: the capacity reservations that queues and node groups name are there, and fit what is launched into them."""

from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from functools import partial
from typing import NamedTuple

from slipway.assembly.instances import InstanceGroup
from slipway.assembly.stacks import CLUSTER_TYPE
from slipway.aws.account import Account
from slipway.aws.refusals import UNANSWERED
from slipway.check.preflight.answer import Answer, Status
from slipway.check.preflight.check import check, not_checked
from slipway.check.preflight.deployed import DEPLOYED_ACTIONS
from slipway.check.preflight.needs import Needs
from slipway.check.preflight.reservations import (
    LINUX,
    SHARED,
    Reservation,
    is_group,
    is_pool,
    read_reservation,
    reservation_ids,
)
from slipway.check.preflight.running import RUNNING_ACTIONS
from slipway.check.preflight.slots import slots

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
    actions=(
        *RUNNING_ACTIONS,
        *DEPLOYED_ACTIONS,
        "ec2:DescribeCapacityReservations",
        "resource-groups:GetGroupConfiguration",
        # It wants those of CloudFormation and of tags as well (Resource Groups API reference).
        "resource-groups:ListGroupResources",
        "tag:GetResources",
    ),
)
def capacity_reservations(needs: Needs, account: Account) -> Iterator[Answer]:
    """Look at every reservation and every resource group of reservations that the environment names."""
    for target in dict.fromkeys(m.capacity_reservation for m in needs.instance_groups if m.capacity_reservation):
        users = tuple(m for m in needs.instance_groups if m.capacity_reservation == target)
        try:
            yield from _of_target(target, users, needs, account)
        except UNANSWERED as error:
            yield not_checked("PF09", target, error)


def _of_target(target: str, users: tuple[InstanceGroup, ...], needs: Needs, account: Account) -> Iterator[Answer]:
    ids = reservation_ids(account, target)
    if not ids:
        yield _no_group(target, users, needs.region, there=ids is not None)
        return
    if is_group(target) and not is_pool(account, target):
        yield _no_pool(target, users, needs.region)
    found = {name: read_reservation(account, name) for name in ids}
    there = [reservation for reservation in found.values() if reservation]
    # In a group, EC2 takes the reservations that fit: one of them is enough for each of its users.
    served = all(any(_serves(reservation, user, needs.region) for reservation in there) for user in users)
    for reservation_id, reservation in found.items():
        yield from _judge(reservation_id, reservation, users, needs.region, served=served)
    yield from _places(target, there, users, needs, account)


def _places(
    target: str, there: list[Reservation], users: tuple[InstanceGroup, ...], needs: Needs, account: Account
) -> Iterator[Answer]:
    slurm = {(stack.name, logical_id) for stack, logical_id, _ in needs.resources(CLUSTER_TYPE)}
    types = dict.fromkeys(user.instance_type for user in users)
    for instance_type in types:
        alike = [user for user in users if user.instance_type == instance_type]
        # Of a group, those in another zone or for another platform have no slot for the nodes.
        active = [r for r in there if r.state == "active" and any(_serves(r, user, needs.region) for user in alike)]
        # ParallelCluster refuses too high counts for a reservation, not for a group (CapacityReservationSizeValidator).
        exact = not is_group(target) and any((user.stack, user.logical_id) in slurm for user in alike)
        if active:
            subject = f"slots of {target}" + (f" for {instance_type}" if len(types) > 1 else "")
            yield slots(active, alike, needs, account, exact=exact).model_copy(update={"subject": subject})


def _no_group(target: str, users: tuple[InstanceGroup, ...], region: str, *, there: bool) -> Answer:
    return _Answer(
        status="failed",
        subject=target,
        message=f"the resource group {'has no capacity reservation' if there else 'does not exist'}",
        fix=f"add a reservation to it:\naws resource-groups group-resources --region {region} --group {target} "
        "--resource-arns <ARN of a capacity reservation>"
        if there
        else "write the ARN of a group that exists as capacity_reservation_resource_group_arn:\n"
        f"aws resource-groups list-groups --region {region} --query 'GroupIdentifiers[].GroupArn'",
        stacks=_stacks(users),
    )


def _no_pool(target: str, users: tuple[InstanceGroup, ...], region: str) -> Answer:
    return _Answer(
        status="failed",
        subject=target,
        message="the resource group was not made as a pool of capacity reservations: ParallelCluster refuses it",
        fix="make another one, with the next line, and add the reservations to it\n"
        f"aws resource-groups create-group --region {region} --name <name> --configuration "
        '\'{"Type":"AWS::EC2::CapacityReservationPool"}\' '
        '\'{"Type":"AWS::ResourceGroups::Generic","Parameters":[{"Name":"allowed-resource-types",'
        '"Values":["AWS::EC2::CapacityReservation"]}]}\'',
        stacks=_stacks(users),
    )


def _judge(
    reservation_id: str, reservation: Reservation | None, users: tuple[InstanceGroup, ...], region: str, *, served: bool
) -> Iterator[Answer]:
    subject = f"{reservation_id} for {', '.join(dict.fromkeys(user.purpose for user in users))}"
    answer = partial(_Answer, subject=subject, stacks=_stacks(users))
    if reservation is None:
        yield answer(
            status="warning" if served else "failed",
            message=f"{region} has no such capacity reservation in this account, nor one shared with it",
            fix=f"write one of these as capacity_reservation_id:\n{_list_command(users[0].instance_type, region)}",
        )
        return
    fitting = tuple(user for user in users if _serves(reservation, user, region)) if served else ()
    wrong = list(_wrong(reservation, fitting or users, region))
    for status, message, fix in wrong:
        yield answer(status="warning" if served else status, message=message, fix=fix)
    if not wrong:
        yield answer(
            status="passed",
            message=f"active in {reservation.zone_id}, {reservation.available} of {reservation.total} "
            f"{reservation.instance_type} free",
        )


def _serves(reservation: Reservation, user: InstanceGroup, region: str) -> bool:
    """Return whether a user's nodes start in a reservation, now or when it begins."""
    return all(found.status != "failed" for found in _wrong(reservation, (user,), region))


def _wrong(reservation: Reservation, users: tuple[InstanceGroup, ...], region: str) -> Iterator[_Found]:
    yield from _wrong_state(reservation, users[0], region)
    yield from _wrong_kind(reservation, users[0], region)
    for user in users:
        yield from _wrong_use(reservation, user, region)
    if reservation.match == "open" and reservation.kind == "default":
        yield _Found(
            "warning",
            f"it is open: any {reservation.instance_type} that the account starts in {reservation.zone_id} takes a "
            "slot of it",
            f"aws ec2 modify-capacity-reservation --region {region} --capacity-reservation-id {reservation.id} "
            "--instance-match-criteria targeted",
        )


def _wrong_kind(reservation: Reservation, user: InstanceGroup, region: str) -> Iterator[_Found]:
    another = f"write one of these as capacity_reservation_id:\n{_list_command(user.instance_type, region)}"
    if reservation.platform != LINUX:
        yield _Found("failed", f"it is for the platform {reservation.platform}, but the nodes are {LINUX}", another)
    if reservation.tenancy != SHARED:
        yield _Found(
            "failed",
            f"its tenancy is {reservation.tenancy}, but the nodes' is {SHARED}: they get no slot of it",
            another,
        )


def _wrong_state(reservation: Reservation, user: InstanceGroup, region: str) -> Iterator[_Found]:
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
            f"write one of these as capacity_reservation_id:\n{_list_command(user.instance_type, region)}",
        )
    elif reservation.kind == "default" and reservation.end and reservation.end < datetime.now(UTC) + _ENDS_SOON:
        yield _Found(
            "warning",
            f"it ends at {reservation.end:%Y-%m-%d %H:%M} UTC; from then on no new node gets a slot of it",
            f"aws ec2 modify-capacity-reservation --region {region} --capacity-reservation-id {reservation.id} "
            "--end-date-type unlimited",
        )


def _wrong_use(reservation: Reservation, user: InstanceGroup, region: str) -> Iterator[_Found]:
    if user.instance_type != reservation.instance_type:
        yield _Found(
            "failed",
            f"it is for {reservation.instance_type}, but {user.purpose} launches {user.instance_type}",
            f"write `instance_type: {reservation.instance_type}`, or another reservation:\n"
            f"{_list_command(user.instance_type, region)}",
        )
    if user.availability_zone_ids and reservation.zone_id not in user.availability_zone_ids:
        yield _Found(
            "failed",
            f"it is in {reservation.zone_id}, but {user.purpose} is in {', '.join(user.availability_zone_ids)}",
            f"write `capacity_reservation.availability_zone_id: {reservation.zone_id}`, or another reservation"
            if user.serves_a_model
            else f"write `training_availability_zone_id: {reservation.zone_id}` (`slipway az` does it), or another "
            "reservation",
        )
    if user.placement_group is not None and user.placement_group != reservation.placement_group:
        made_in = f"in {reservation.placement_group}" if reservation.placement_group else "in no placement group"
        right = (
            f"write `placement_group: {reservation.placement_group}`" if reservation.placement_group else "remove it"
        )
        yield _Found(
            "failed",
            f"it was made {made_in}, but {user.purpose} starts nodes in the placement group {user.placement_group}",
            f"{right} where the file says `placement_group`, or name another reservation",
        )
    sold = "capacity_block" if reservation.kind == "capacity-block" else "on_demand"
    if user.purchase != sold:
        kind = "a Capacity Block" if sold == "capacity_block" else "an On-Demand Capacity Reservation"
        yield _Found(
            "failed",
            f"it is {kind}, but {user.purpose} buys {user.purchase}",
            f"write `capacity_type: {sold}`, or another reservation",
        )


def _list_command(instance_type: str, region: str) -> str:
    return (
        f"aws ec2 describe-capacity-reservations --region {region} --filters Name=instance-type,Values={instance_type} "
        "Name=state,Values=active --query 'CapacityReservations[].[CapacityReservationId,AvailabilityZoneId,"
        "AvailableInstanceCount]' --output table"
    )


def _stacks(users: tuple[InstanceGroup, ...]) -> tuple[str, ...]:
    return tuple(dict.fromkeys(user.stack for user in users))
