"""PF20: EC2 has the instances, proven by reserving them for a moment. It bills, so it runs only when asked for."""

from collections.abc import Iterator
from dataclasses import dataclass
from functools import partial

from botocore.exceptions import ClientError

from slipway.assembly.stacks import ENVIRONMENT_TAG
from slipway.aws.account import Account
from slipway.aws.refusals import UNANSWERED
from slipway.check.preflight.answer import Answer
from slipway.check.preflight.check import check, not_checked
from slipway.check.preflight.needs import Needs
from slipway.check.preflight.trial_reservations import (
    ENDED_MINUTES,
    NotCancelledError,
    Trial,
    try_reservation,
    usd_per_second,
)

_Answer = partial(Answer, check="PF20")

_ABOVE_LIMIT = frozenset({"InstanceLimitExceeded", "VcpuLimitExceeded"})
"""EC2's words for the vCPU quota (Amazon EC2 API reference, "Error codes"); reservations count against it."""

_SECONDS_EXPECTED = 10
"""About how long a reservation lives: the calls that make it, cancel it and look again."""


@dataclass(frozen=True)
class TrialRequest:
    """Instances that are to be reserved.

    Attributes:
        instance_type: EC2 instance type.
        instances: how many: those that always run, at least one.
        zone_ids: the Availability Zones of which one must have them.
        stacks: who needs them.
    """

    instance_type: str
    instances: int
    zone_ids: tuple[str, ...]
    stacks: tuple[str, ...]


def trial_requests(needs: Needs) -> tuple[TrialRequest, ...]:
    """Return what can be proven: instances on demand without a reservation, in zones that the templates name."""
    found: dict[tuple[str, tuple[str, ...]], TrialRequest] = {}
    for group in needs.instance_groups:
        if group.purchase != "on_demand" or group.capacity_reservation or not group.availability_zone_ids:
            continue
        key = (group.instance_type, group.availability_zone_ids)
        known = found.get(key, TrialRequest(group.instance_type, 0, group.availability_zone_ids, ()))
        stacks = tuple(dict.fromkeys((*known.stacks, group.stack)))
        found[key] = TrialRequest(group.instance_type, known.instances + group.idle_count, key[1], stacks)
    return tuple(TrialRequest(w.instance_type, max(w.instances, 1), w.zone_ids, w.stacks) for w in found.values())


def announcement(needs: Needs) -> str | None:
    """Say what the check will reserve and about what that costs; None when there is nothing to prove."""
    wanted = trial_requests(needs)
    if not wanted:
        return None
    costs = [usd_per_second(request.instance_type, request.instances, needs.region) for request in wanted]
    known = [cost for cost in costs if cost is not None]
    per_second, dearest = sum(known), max(known, default=0.0)
    unpriced = [request.instance_type for request, cost in zip(wanted, costs, strict=True) if cost is None]
    listed = ", ".join(map(_subject, wanted))
    without = f", without {', '.join(unpriced)}, of which the price is not known" if unpriced else ""
    return (
        f"Capacity is proven by reserving it for some seconds, which bills: {listed}; about "
        f"{per_second * _SECONDS_EXPECTED:.2f} USD for {_SECONDS_EXPECTED} seconds each{without}. If one cannot be "
        f"cancelled, EC2 ends it within {ENDED_MINUTES} minutes: {dearest * 60 * ENDED_MINUTES:,.2f} USD at most"
        f"{without}."
    )


@check(
    "PF20",
    "free capacity",
    stage="capacity",
    prevents="Everything is built, and then EC2 has no instances of the type in the zone.",
    actions=(
        "ec2:CancelCapacityReservation",
        "ec2:CreateCapacityReservation",
        "ec2:CreateTags",
        "ec2:DescribeCapacityReservations",
        "ec2:DescribeInstanceTypeOfferings",
    ),
)
def prove_capacity(needs: Needs, account: Account) -> Iterator[Answer]:
    """Reserve what always runs, or one of each type, zone after zone until one has it, and cancel at once."""
    stands = False
    for request in trial_requests(needs):
        answer = partial(_Answer, subject=_subject(request), stacks=request.stacks)
        if stands:
            yield answer(
                status="not_checked",
                message="not asked: the reservation before it could not be cancelled",
                fix="cancel that one, and run the preflight again with credentials that may",
            )
            continue
        try:
            yield _prove(request, needs.environment, account, answer)
        except NotCancelledError as error:
            stands = True
            yield answer(status="failed", message=str(error), fix=str(error).rpartition("\n")[2])


def _subject(request: TrialRequest) -> str:
    return f"{request.instances} {request.instance_type} in {' or '.join(request.zone_ids)}"


def _prove(request: TrialRequest, environment: str, account: Account, answer: partial[Answer]) -> Answer:
    """Try zone after zone.

    Raises:
        NotCancelledError: a reservation was made, or perhaps made, and could not be cancelled.
    """
    tags = {ENVIRONMENT_TAG: environment, "slipway:purpose": "preflight"}
    undecided: list[str] = []
    for zone_id in request.zone_ids:
        if account.interrupted.is_set():
            return answer(status="not_checked", message="interrupted", fix="run the preflight again")
        try:
            trial = try_reservation(account, request.instance_type, request.instances, zone_id, tags)
        except UNANSWERED as error:
            if isinstance(error, ClientError) and error.response["Error"]["Code"] in _ABOVE_LIMIT:
                return answer(
                    status="failed",
                    message=f"the account may not have so many: {error}",
                    fix=f"raise the vCPU quota: slipway preflight -e {environment} --check PF06",
                )
            return not_checked("PF20", _subject(request), error)
        if trial.there:
            return answer(status="passed", message=f"EC2 has them in {zone_id} now; {_cost(trial)}")
        if trial.there is None:
            undecided.append(zone_id)
    if undecided:
        return answer(
            status="not_checked",
            message=f"EC2 was still looking for them in {' and '.join(undecided)} (pending)",
            fix="run the preflight again",
        )
    try:
        others = [zone for zone in _offering_zones(request.instance_type, account) if zone not in request.zone_ids]
    except UNANSWERED:
        others = []
    elsewhere = f" Other zones that offer the type: {', '.join(others)} (`slipway az` compares them)." if others else ""
    return answer(
        status="failed",
        message="EC2 has no capacity for them now",
        fix=f"try again later, take fewer, or reserve them beforehand.{elsewhere}",
    )


def _cost(trial: Trial) -> str:
    price = "at a price that the facts do not have" if trial.usd is None else f"{trial.usd:.4f} USD by list price"
    return f"reserved for {trial.seconds:.0f} seconds and cancelled, {price}"


def _offering_zones(instance_type: str, account: Account) -> list[str]:
    offerings = account.listing(
        "ec2",
        "describe_instance_type_offerings",
        "InstanceTypeOfferings",
        LocationType="availability-zone-id",
        Filters=[{"Name": "instance-type", "Values": [instance_type]}],
    )
    return sorted(offering["Location"] for offering in offerings)
