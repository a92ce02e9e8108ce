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
from slipway.check.preflight.described_types import describe_types
from slipway.check.preflight.needs import Needs
from slipway.check.preflight.quota_headroom import LIMIT_ACTIONS, QuotaHeadroom, UnknownLimitError, limit, unknown_limit
from slipway.check.preflight.reservations import live_reservations
from slipway.check.preflight.running import RUNNING_ACTIONS, is_ours, running_instances

_LETTERS = re.compile(r"[a-z]+")
_RESERVED = "a reservation counts from the day it is made on, used or not: what runs in it needs no more than it has"
"""EC2 User Guide, "On-Demand Capacity Reservation concepts", limits."""

Vcpus = Mapping[str, int]
"""By instance type."""

_BLOCK = "capacity-block"
"""Lifecycle of an instance in a Capacity Block: "Instances in a Capacity Block don't count against your On-Demand
Instances limits" (EC2 User Guide, "Capacity Blocks for ML", considerations)."""


@check(
    "PF06",
    "vCPU quotas of EC2",
    stage="quota",
    prevents="Nodes never start: in a new account the quotas of Trainium and Inferentia instances are 0.",
    actions=(*LIMIT_ACTIONS, *RUNNING_ACTIONS, "ec2:DescribeCapacityReservations", "ec2:DescribeInstanceTypes"),
)
def vcpu_quotas(needs: Needs, account: Account) -> Iterator[Answer]:
    """Add up what everything that can be launched takes of each quota, and what runs now.

    It fails when what always runs does not fit, or beside it not even one node of a kind: then something never starts.
    When only all nodes at their highest counts do not fit it warns: jobs run, but a queue never reaches its size.
    Nodes of Capacity Blocks count against no quota.
    """
    by_quota: dict[str, list[InstanceGroup]] = defaultdict(list)
    vcpus = _vcpus_of_types(needs, account)
    for group in needs.instance_groups:
        if group.purchase == "capacity_block":
            continue
        if group.instance_type in vcpus:
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
        headroom = QuotaHeadroom("PF06", quota, subject, _sum(launched, "peak_count", vcpus), used, stacks)
        yield _answer(headroom, launched, allowed, needs.region, vcpus)


def _answer(headroom: QuotaHeadroom, launched: list[InstanceGroup], allowed: int, region: str, vcpus: Vcpus) -> Answer:
    """Return whether the instance_groups of one quota fit."""
    bought = [group for group in launched if not group.capacity_reservation]
    now_and_then = (group for group in bought if group.peak_count and not group.idle_count)
    least = _sum(bought, "idle_count", vcpus) + max((vcpus[group.instance_type] for group in now_and_then), default=0)
    never_starts = least > 0 and least + headroom.used > allowed
    answer = headroom.answer(allowed, region, what="peak", worst="failed" if never_starts else "warning")
    said = [f"{_listed(launched, vcpus)}; {answer.message}"]
    if answer.status == "failed":
        said.append(f"not even the {least:,} vCPU that must always fit do")
    if answer.status != "passed" and len(bought) < len(launched):
        said.append(_RESERVED)
    return answer.model_copy(update={"message": ". ".join(said)})


def _listed(launched: list[InstanceGroup], vcpus: Vcpus) -> str:
    """Return the sum that makes the peak, for example `4 x trn1.32xlarge (128 vCPU)`."""
    counts: dict[str, int] = defaultdict(int)
    for group in launched:
        counts[group.instance_type] += group.peak_count
    return " + ".join(f"{count} x {name} ({vcpus[name]} vCPU)" for name, count in counts.items())


def _quota_key(group: InstanceGroup) -> str:
    row = facts.instance_types().get(group.instance_type)
    # Of types without facts, those of the quota of types without accelerator are taken.
    family = facts.instance_family(row.family if row else "cpu")
    return family.spot_quota if group.purchase == "spot" else family.on_demand_quota


def _vcpus_of_types(needs: Needs, account: Account) -> Vcpus:
    """Return the vCPUs of each instance type: EC2's word for CPU types without facts, where it knows them here."""
    launched = {group.instance_type for group in needs.instance_groups}
    found = {name: facts.instance_type(name).vcpus for name in launched & set(facts.instance_types())}
    unpriced = sorted(name for name in launched if facts.unpriced_architecture(name))
    described = describe_types(unpriced, account)
    return found | {name: int(type_["VCpuInfo"]["DefaultVCpus"]) for name, type_ in described.items()}


def _sum(launched: list[InstanceGroup], count: str, vcpus: Vcpus) -> int:
    return sum(getattr(group, count) * vcpus[group.instance_type] for group in launched)


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
        message="neither the facts nor EC2 in this Region know this instance type, so not its vCPUs and its quota",
        fix=f"add a row {group.instance_type} to slipway/facts/data/instance_types.yaml",
        stacks=(group.stack,),
    )
