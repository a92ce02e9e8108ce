"""EC2's quotas on vCPUs, which start at 0 for accelerated instance types."""

import re
from collections import defaultdict
from collections.abc import Iterator, Mapping
from typing import Any

from slipway import facts
from slipway.assembly.instances import InstanceGroup
from slipway.aws.account import Account
from slipway.check.preflight.answer import Answer
from slipway.check.preflight.check import check
from slipway.check.preflight.needs import Needs
from slipway.check.preflight.quota_headroom import LIMIT_ACTIONS, QuotaHeadroom, UnknownLimitError, limit, unknown_limit
from slipway.check.preflight.reservations import live_reservations
from slipway.check.preflight.running import RUNNING_ACTIONS, is_ours, running_instances

_LETTERS = re.compile(r"[a-z]+")
_RESERVED = "a reservation counts from the day it is made on, used or not: what runs in it needs no more than it has"
"""EC2 User Guide, "On-Demand Capacity Reservation concepts", limits."""

_BLOCK = "capacity-block"
"""Lifecycle of an instance in a Capacity Block: "Instances in a Capacity Block don't count against your On-Demand
Instances limits" (EC2 User Guide, "Capacity Blocks for ML", considerations)."""


@check(
    "PF06",
    "vCPU quotas of EC2",
    stage="quota",
    prevents="Nodes never start: in a new account the quotas of Trainium and Inferentia instances are 0.",
    actions=(*LIMIT_ACTIONS, *RUNNING_ACTIONS, "ec2:DescribeCapacityReservations"),
)
def vcpu_quotas(needs: Needs, account: Account) -> Iterator[Answer]:
    """Add up what everything that can be launched takes of each quota, and what runs now.

    It fails when what always runs does not fit, or beside it not even one node of a kind: then something never starts.
    When only all nodes at their highest counts do not fit it warns: jobs run, but a queue never reaches its size.
    Nodes of Capacity Blocks count against no quota.
    """
    by_quota: dict[str, list[InstanceGroup]] = defaultdict(list)
    for group in needs.instance_groups:
        if group.purchase == "capacity_block":
            continue
        if group.instance_type in facts.instance_types():
            by_quota[_quota_key(group)].append(group)
        else:
            yield _unknown_type(group)
    for key, launched in by_quota.items():
        quota = facts.quota(key)
        subject = f"{quota.name} in {needs.region}"
        stacks = tuple(sorted({group.stack for group in launched}))
        try:
            allowed = limit(quota, account)
        except UnknownLimitError as error:
            yield unknown_limit("PF06", subject, error, stacks)
            continue
        used = _used_by_others(quota, needs, account) + _unused_places(quota, needs, account)
        headroom = QuotaHeadroom("PF06", quota, subject, _vcpus(launched, "peak_count"), used, stacks)
        yield _answer(headroom, launched, allowed, needs.region)


def _answer(headroom: QuotaHeadroom, launched: list[InstanceGroup], allowed: int, region: str) -> Answer:
    """Return whether the instance_groups of one quota fit."""
    bought = [group for group in launched if not group.capacity_reservation]
    now_and_then = (group for group in bought if group.peak_count and not group.idle_count)
    least = _vcpus(bought, "idle_count") + max(map(_vcpu_of, now_and_then), default=0)
    never_starts = least > 0 and least + headroom.used > allowed
    answer = headroom.answer(allowed, region, what="peak", worst="failed" if never_starts else "warning")
    said = [f"{_listed(launched)}; {answer.message}"]
    if answer.status == "failed":
        said.append(f"not even the {least:,} vCPU that must always fit do")
    if answer.status != "passed" and len(bought) < len(launched):
        said.append(_RESERVED)
    return answer.model_copy(update={"message": ". ".join(said)})


def _listed(launched: list[InstanceGroup]) -> str:
    """Return the sum that makes the peak, for example `4 x trn1.32xlarge (128 vCPU)`."""
    counts: dict[str, int] = defaultdict(int)
    for group in launched:
        counts[group.instance_type] += group.peak_count
    return " + ".join(f"{count} x {name} ({facts.instance_type(name).vcpus} vCPU)" for name, count in counts.items())


def _quota_key(group: InstanceGroup) -> str:
    instance_type = facts.instance_type(group.instance_type)
    return instance_type.spot_quota if group.purchase == "spot" else instance_type.on_demand_quota


def _vcpu_of(group: InstanceGroup) -> int:
    return facts.instance_type(group.instance_type).vcpus


def _vcpus(launched: list[InstanceGroup], count: str) -> int:
    return sum(getattr(group, count) * _vcpu_of(group) for group in launched)


def _used_by_others(quota: facts.Quota, needs: Needs, account: Account) -> int:
    """Return the vCPUs of what runs now and is not the environment's own, which its peak includes."""
    spot = quota.quota_code in _spot_codes()
    return sum(
        _running_vcpus(instance)
        for instance in running_instances(account)
        if _of_quota(instance, quota)
        and instance.get("InstanceLifecycle") != _BLOCK
        and (instance.get("InstanceLifecycle") == "spot") == spot
        and not is_ours(instance, needs)
    )


def _unused_places(quota: facts.Quota, needs: Needs, account: Account) -> int:
    """Return the vCPUs of what is reserved and not used: it counts as if it ran. Types without facts are left out.

    Reservations that the environment's own nodes can get a slot of are left out: their need is in the sum.
    """
    if quota.quota_code in _spot_codes():
        return 0
    launched = {group.instance_type for group in needs.instance_groups}
    reserved = {group.instance_type for group in needs.instance_groups if group.capacity_reservation}
    return sum(
        found["AvailableInstanceCount"] * _running_vcpus(found)
        for found in live_reservations(account)
        if _of_quota(found, quota)
        and found["InstanceType"] not in (launched if found["InstanceMatchCriteria"] == "open" else reserved)
    )


def _spot_codes() -> set[str]:
    return {facts.quota(family.spot_quota).quota_code for family in facts.instance_families().values()}


def _of_quota(instance: Mapping[str, Any], quota: facts.Quota) -> bool:
    letters = _LETTERS.match(instance["InstanceType"])
    return letters is not None and letters.group() in quota.instance_letters


def _running_vcpus(instance: Mapping[str, Any]) -> int:
    """Return what a running instance counts: its type's vCPUs where the facts have it, else those that are on."""
    known = facts.instance_types().get(instance["InstanceType"])
    if known:
        return known.vcpus
    options = instance.get("CpuOptions", {})
    return int(options.get("CoreCount", 0) * options.get("ThreadsPerCore", 1))


def _unknown_type(group: InstanceGroup) -> Answer:
    return Answer(
        check="PF06",
        status="not_checked",
        subject=f"{group.instance_type} for {group.purpose}",
        message="the facts do not have this instance type, so not its vCPUs and its quota",
        fix=f"add a row {group.instance_type} to slipway/facts/data/instance_types.yaml",
        stacks=(group.stack,),
    )
