"""The slots of capacity reservations, compared with what is launched into them."""

from collections.abc import Sequence
from functools import partial

from slipway.assembly.instances import InstanceGroup
from slipway.aws.account import Account
from slipway.check.preflight.answer import Answer
from slipway.check.preflight.needs import Needs
from slipway.check.preflight.reservations import Reservation
from slipway.check.preflight.running import is_ours, running_instances


def slots(
    reservations: Sequence[Reservation], users: Sequence[InstanceGroup], needs: Needs, account: Account, *, exact: bool
) -> Answer:
    """Return whether the nodes find slots.

    Args:
        reservations: active ones of one instance type.
        users: what is launched into them.
        needs: what the environment needs.
        account: who is asked.
        exact: whether more nodes than slots are refused, and not only late.

    Raises:
        ClientError, BotoCoreError: AWS refuses, or does not answer.
    """
    total, free = sum(r.total for r in reservations), sum(r.available for r in reservations)
    ours = _ours(reservations, needs, account) if free < total else 0
    others = max(total - free - ours, 0)
    always, most = sum(user.idle_count for user in users), sum(user.peak_count for user in users)
    arithmetic = f"{total} slots, {others} of them used by others; {always} nodes always run, {most} at most"
    answer = partial(Answer, check="PF09", subject="", stacks=tuple(dict.fromkeys(user.stack for user in users)))
    if total < always:
        return answer(
            status="failed",
            message=f"too few slots: {arithmetic}",
            fix=f"lower min_count to {total}, or reserve {always - total} more",
        )
    if total < most:
        return answer(
            status="failed" if exact else "warning",
            message=f"fewer slots than nodes: {arithmetic}. "
            + ("ParallelCluster refuses the cluster" if exact else f"Launches above {total} fail"),
            fix=f"lower max_count to {total}, or reserve {most - total} more",
        )
    if total - others < most:
        return answer(
            status="failed" if total - others < always else "warning",
            message=f"others use slots: {arithmetic}. Launches above {total - others} fail until they end",
            fix="end the instances of others that use the reservation, or reserve more",
        )
    return answer(status="passed", message=arithmetic)


def _ours(reservations: Sequence[Reservation], needs: Needs, account: Account) -> int:
    """Return how many of the environment's own instances run in the reservations."""
    ids = {reservation.id for reservation in reservations}
    return sum(
        instance.get("CapacityReservationId") in ids and is_ours(instance, needs)
        for instance in running_instances(account)
    )
