"""A capacity reservation that lives for a moment, to see whether EC2 has the instances: it bills while it lives."""

import time
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from typing import Any
from uuid import uuid4

from botocore.exceptions import ClientError

from slipway import facts
from slipway.aws.account import Account
from slipway.aws.refusals import UNANSWERED

_END_MINUTES = 15
ENDED_MINUTES = _END_MINUTES + 60
"""When EC2 has ended a reservation that could not be cancelled: an hour after its end at the latest (EC2 API reference,
CreateCapacityReservation, EndDate)."""

_NO_CAPACITY = frozenset({"InsufficientInstanceCapacity", "InsufficientReservedInstanceCapacity"})
_GONE = frozenset({"cancelled", "expired", "failed"})
_LIVE = ["active", "pending"]
_TRIAL_TAG = "slipway:trial"
"""Tag whose value no other reservation has: it finds one whose id EC2 could not answer any more."""

_SERVER_ERROR = 500
_CANCEL_TRIES = 5
_PAUSE_SECONDS = 2.0


class NotCancelledError(Exception):
    """A reservation stands that should not, and bills; the message has the command that cancels it."""


@dataclass(frozen=True)
class Trial:
    """What was found out.

    Attributes:
        there: whether EC2 had the instances; None when the reservation was made and still
            `pending`, which says nothing.
        seconds: how long they were reserved.
        usd: what that cost by list price; none where the facts have no price.
    """

    there: bool | None
    seconds: float
    usd: float | None


def usd_per_second(instance_type: str, instances: int, region: str) -> float | None:
    """Return what a reservation costs while it lives: as much as the instances, by the second; none without a price."""
    if instance_type not in facts.instance_types():
        return None
    price = facts.on_demand_price(instance_type, region)
    return price.usd * instances / 3600 if price and price.usd else None


def try_reservation(account: Account, instance_type: str, instances: int, zone_id: str, tags: dict[str, str]) -> Trial:
    """Reserve instances, and cancel the reservation at once, whatever happens in between.

    Args:
        account: who pays.
        instance_type: EC2 instance type.
        instances: how many.
        zone_id: Availability Zone id.
        tags: tags of the reservation.

    Raises:
        ClientError: EC2 refuses for another reason than that it has too few instances.
        BotoCoreError, ResponseParserError: EC2 does not answer.
        NotCancelledError: the reservation was made, or perhaps made, and could not be cancelled.
    """
    ec2 = account.client("ec2")
    trial = uuid4().hex
    began = time.monotonic()
    try:
        made = ec2.create_capacity_reservation(
            # boto3 asks again when an answer is lost: with a token that makes no second reservation.
            ClientToken=trial,
            InstanceType=instance_type,
            InstancePlatform="Linux/UNIX",
            AvailabilityZoneId=zone_id,
            InstanceCount=instances,
            # Nothing of the account may slip into it while it lives.
            InstanceMatchCriteria="targeted",
            EndDateType="limited",
            EndDate=datetime.now(UTC) + timedelta(minutes=_END_MINUTES),
            TagSpecifications=[
                {
                    "ResourceType": "capacity-reservation",
                    "Tags": [{"Key": key, "Value": value} for key, value in {**tags, _TRIAL_TAG: trial}.items()],
                }
            ],
        )
    except ClientError as error:
        if error.response["Error"]["Code"] in _NO_CAPACITY:
            return Trial(there=False, seconds=0.0, usd=0.0)
        if error.response.get("ResponseMetadata", {}).get("HTTPStatusCode", 0) >= _SERVER_ERROR:
            _cancel_unanswered(account, trial)
        raise
    except UNANSWERED:
        _cancel_unanswered(account, trial)
        raise
    _cancel(account, made["CapacityReservation"]["CapacityReservationId"])
    seconds = time.monotonic() - began
    each = usd_per_second(instance_type, instances, account.region)
    state = made["CapacityReservation"]["State"]
    there = None if state == "pending" else state == "active"
    return Trial(there=there, seconds=seconds, usd=None if each is None else each * seconds)


def _cancel_unanswered(account: Account, trial: str) -> None:
    """Cancel the reservation that EC2 may have made although its answer was lost.

    Raises:
        NotCancelledError: one stands and cannot be cancelled, or EC2 does not say whether one stands.
    """
    filters = [{"Name": f"tag:{_TRIAL_TAG}", "Values": [trial]}, {"Name": "state", "Values": _LIVE}]
    last: Exception | None = None
    # More than once: EC2 lists what was just made with some delay.
    for _ in _tries():
        try:
            found: Any = account.client("ec2").describe_capacity_reservations(Filters=filters)["CapacityReservations"]
        except UNANSWERED as error:
            last = error
            continue
        last = None
        if found:
            _cancel(account, found[0]["CapacityReservationId"])
            return
    if last:
        raise NotCancelledError(
            f"A RESERVATION MAY STAND AND BILL for up to {ENDED_MINUTES} minutes: EC2 did not answer ({last}). "
            "Look for it, and cancel what is there:\n"
            f"aws ec2 describe-capacity-reservations --region {account.region} --filters "
            f"Name=tag:{_TRIAL_TAG},Values={trial} Name=state,Values=active,pending"
        )


def _cancel(account: Account, reservation_id: str) -> None:
    """Cancel a reservation and look that it is.

    Raises:
        NotCancelledError: it still exists, or EC2 does not say.
    """
    last: Exception | None = None
    for _ in _tries():
        try:
            account.client("ec2").cancel_capacity_reservation(CapacityReservationId=reservation_id)
        except UNANSWERED as error:
            last = error
        # Looked at after a refusal too: EC2 cancels nothing twice, and its first answer may have been lost.
        try:
            if _state(account, reservation_id) in _GONE:
                return
        except UNANSWERED as error:
            last = error
    raise NotCancelledError(
        f"{reservation_id} STILL STANDS AND BILLS ({last or 'EC2 does not say that it is cancelled'}). Cancel it:\n"
        f"aws ec2 cancel-capacity-reservation --region {account.region} --capacity-reservation-id {reservation_id}"
    )


def _tries() -> Iterator[int]:
    for number in range(_CANCEL_TRIES):
        if number:
            time.sleep(_PAUSE_SECONDS)
        yield number


def _state(account: Account, reservation_id: str) -> str | None:
    found: Any = account.client("ec2").describe_capacity_reservations(CapacityReservationIds=[reservation_id])
    return next((reservation["State"] for reservation in found["CapacityReservations"]), None)
