"""A capacity reservation that lives for a moment, to see whether EC2 has the instances: it bills while it lives."""

import time
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta

from botocore.exceptions import BotoCoreError, ClientError

from slipway import facts
from slipway.preflight.account import Account

LONGEST_MINUTES = 15
"""When EC2 ends a reservation that nobody could cancel; it may take an hour more (EC2 API reference,
CreateCapacityReservation, EndDate)."""

_NO_CAPACITY = frozenset({"InsufficientInstanceCapacity", "InsufficientReservedInstanceCapacity"})
_GONE = frozenset({"cancelled", "expired"})
_CANCEL_TRIES = 5
_PAUSE_SECONDS = 2.0


class NotCancelledError(Exception):
    """A reservation stands that should not, and bills; the message has the command that cancels it."""


@dataclass(frozen=True)
class Trial:
    """What was found out.

    Attributes:
        there: whether EC2 had the instances.
        seconds: how long they were reserved.
        usd: what that cost by list price; none where the facts have no price.
    """

    there: bool
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
        NotCancelledError: the reservation was made and could not be cancelled.
    """
    ec2 = account.client("ec2")
    began = time.monotonic()
    try:
        made = ec2.create_capacity_reservation(
            InstanceType=instance_type,
            InstancePlatform="Linux/UNIX",
            AvailabilityZoneId=zone_id,
            InstanceCount=instances,
            # Nothing of the account may slip into it while it lives.
            InstanceMatchCriteria="targeted",
            EndDateType="limited",
            EndDate=datetime.now(UTC) + timedelta(minutes=LONGEST_MINUTES),
            TagSpecifications=[
                {
                    "ResourceType": "capacity-reservation",
                    "Tags": [{"Key": key, "Value": value} for key, value in tags.items()],
                }
            ],
        )
    except ClientError as error:
        if error.response["Error"]["Code"] in _NO_CAPACITY:
            return Trial(there=False, seconds=0.0, usd=0.0)
        raise
    _cancel(account, made["CapacityReservation"]["CapacityReservationId"])
    seconds = time.monotonic() - began
    each = usd_per_second(instance_type, instances, account.region)
    return Trial(there=True, seconds=seconds, usd=None if each is None else each * seconds)


def _cancel(account: Account, reservation_id: str) -> None:
    """Cancel a reservation and look that it is; an interruption (Ctrl-C) is held back until that is done.

    Raises:
        NotCancelledError: it still stands, or EC2 does not say.
    """
    interrupted: KeyboardInterrupt | None = None
    last: Exception | None = None
    for _ in _tries():
        try:
            account.client("ec2").cancel_capacity_reservation(CapacityReservationId=reservation_id)
            if _state(account, reservation_id) in _GONE:
                break
        except KeyboardInterrupt as interrupt:
            interrupted = interrupt
        except (ClientError, BotoCoreError) as error:
            last = error
    else:
        raise NotCancelledError(
            f"{reservation_id} STILL STANDS AND BILLS ({last or 'EC2 does not say that it is cancelled'}). Cancel it:\n"
            f"aws ec2 cancel-capacity-reservation --region {account.region} --capacity-reservation-id {reservation_id}"
        )
    if interrupted:
        raise interrupted


def _tries() -> Iterator[int]:
    for number in range(_CANCEL_TRIES):
        if number:
            time.sleep(_PAUSE_SECONDS)
        yield number


def _state(account: Account, reservation_id: str) -> str:
    found = account.client("ec2").describe_capacity_reservations(CapacityReservationIds=[reservation_id])
    state: str = found["CapacityReservations"][0]["State"]
    return state
