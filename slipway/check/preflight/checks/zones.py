"""Availability Zones, what EC2 offers in them, and whether the facts about instance types still hold."""

from collections.abc import Callable, Iterator
from functools import partial
from typing import Any

from slipway import facts
from slipway.aws.account import Account
from slipway.check.preflight.answer import Answer
from slipway.check.preflight.check import check
from slipway.check.preflight.described_types import describe_types
from slipway.check.preflight.needs import Needs

_AVAILABLE, _UNAVAILABLE = "available", "unavailable"


@check(
    "PF03",
    "Availability Zones",
    stage="catalogue",
    prevents="The network stack fails: the account has no zone of that id in the Region, or it is not available.",
    actions=("ec2:DescribeAvailabilityZones",),
)
def zones(needs: Needs, account: Account) -> Iterator[Answer]:
    """Look for the zones of all subnets among those of this account; their names differ between accounts."""
    wanted: dict[str, set[str]] = {}
    for stack, _, properties in needs.resources("AWS::EC2::Subnet"):
        if isinstance(properties.get("AvailabilityZoneId"), str):
            wanted.setdefault(properties["AvailabilityZoneId"], set()).add(stack.name)
    if not wanted:
        return
    there = {
        zone["ZoneId"]: zone for zone in account.listing("ec2", "describe_availability_zones", "AvailabilityZones")
    }
    for zone_id, stacks in sorted(wanted.items()):
        zone = there.get(zone_id)
        state = _UNAVAILABLE if zone is None else zone["State"]
        works = state == _AVAILABLE
        yield Answer(
            check="PF03",
            # A zone that is `constrained` or `impaired` still takes subnets.
            status="passed" if works else "failed" if state == _UNAVAILABLE else "warning",
            subject=f"zone {zone_id}",
            message=_zone_message(zone, needs.region, there),
            fix=None if works else _choose_zones(needs),
            stacks=tuple(sorted(stacks)),
        )


def _zone_message(zone: Any, region: str, there: dict[str, Any]) -> str:
    if zone is None:
        return f"this account has no such zone in {region}; it has {', '.join(sorted(there))}"
    return f"it is {zone['State']}, and {zone['ZoneName']} in this account"


@check(
    "PF04",
    "Instance types in their zones",
    stage="catalogue",
    prevents="Nodes never start: EC2 does not have the instance type in the zone of their subnet.",
    actions=("ec2:DescribeInstanceTypeOfferings",),
)
def offerings(needs: Needs, account: Account) -> Iterator[Answer]:
    """Compare the zones of everything that is launched with those where EC2 has its type."""
    for group in needs.instance_groups:
        if not group.availability_zone_ids:
            continue
        where = account.listing(
            "ec2",
            "describe_instance_type_offerings",
            "InstanceTypeOfferings",
            LocationType="availability-zone-id",
            Filters=[{"Name": "instance-type", "Values": [group.instance_type]}],
        )
        offered = sorted(offering["Location"] for offering in where)
        missing = sorted(set(group.availability_zone_ids) - set(offered))
        # One zone of several that lacks the type takes capacity away; all of them take the nodes.
        none_left = set(missing) == set(group.availability_zone_ids)
        yield Answer(
            check="PF04",
            status="passed" if not missing else "failed" if none_left else "warning",
            subject=f"{group.instance_type} for {group.purpose}",
            message=_offering_message(group.instance_type, missing, offered, needs.region),
            fix=_choose_zones(needs) if missing else None,
            stacks=(group.stack,),
        )


def _offering_message(instance_type: str, missing: list[str], offered: list[str], region: str) -> str:
    if not missing:
        return f"EC2 offers it in {', '.join(offered)}; only a launch shows whether one is free"
    elsewhere = f"{region} has it in {', '.join(offered)}" if offered else f"no zone of {region} has it"
    return f"EC2 does not offer {instance_type} in {', '.join(missing)}; {elsewhere}"


def _choose_zones(needs: Needs) -> str:
    return f"slipway az -e {needs.environment}"


@check(
    "PF05",
    "Facts about instance types",
    stage="catalogue",
    prevents="Nodes with a wrong number of processors, EFA interfaces or Neuron devices, and wrong sums of quotas.",
    actions=("ec2:DescribeInstanceTypes",),
)
def instance_facts(needs: Needs, account: Account) -> Iterator[Answer]:
    """Compare what Slipway believes of the instance types with what EC2 says of them."""
    wanted = sorted({group.instance_type for group in needs.instance_groups})
    asked = [name for name in wanted if name in facts.instance_types() or facts.unpriced_architecture(name)]
    described = describe_types(asked, account)
    for name in asked:
        yield _compared(name, described.get(name)).model_copy(
            update={
                "stacks": tuple(sorted({group.stack for group in needs.instance_groups if group.instance_type == name}))
            }
        )


def _compared(name: str, said: dict[str, Any] | None) -> Answer:
    row = facts.instance_types().get(name)
    answer = partial(Answer, check="PF05", subject=name)
    if said is None:
        fix = f"choose another instance type than {name}, or another Region"
        return answer(status="failed", message="EC2 does not know it in this Region", fix=fix)
    if row is None:
        return _told(answer, said)
    if differences := list(_differences(row, said)):
        fix = f"correct the row {name} in slipway/facts/data/instance_types.yaml"
        return answer(status="failed", message="; ".join(differences), fix=fix)
    return answer(status="passed", message="processors, EFA interfaces and Neuron devices are as Slipway believes")


def _told(answer: Callable[..., Answer], said: dict[str, Any]) -> Answer:
    """Say what EC2 knows of a CPU type without facts, and whether the nodes' images boot on it."""
    architectures = said["ProcessorInfo"]["SupportedArchitectures"]
    told = (
        f"Slipway has no facts about it; EC2 says {said['VCpuInfo']['DefaultVCpus']} vCPU, "
        f"{said['MemoryInfo']['SizeInMiB'] / 1024:g} GiB of memory, {', '.join(architectures)}"
    )
    if "x86_64" in architectures:
        return answer(status="passed", message=told)
    return answer(status="failed", message=told, fix="choose a type for x86_64: the images of all nodes are")


def _differences(believed: facts.InstanceType, said: dict[str, Any]) -> Iterator[str]:
    network = said.get("NetworkInfo", {})
    pairs = {
        "vCPUs": (believed.vcpus, said["VCpuInfo"]["DefaultVCpus"]),
        "network cards": (believed.network_cards, network.get("MaximumNetworkCards", 1)),
        "EFA interfaces": (believed.efa_interfaces, network.get("EfaInfo", {}).get("MaximumEfaInterfaces", 0)),
    }
    # EC2 has described some types without it: that says nothing about their devices.
    if "NeuronInfo" in said:
        devices = sum(device["Count"] for device in said["NeuronInfo"].get("NeuronDevices", ()))
        pairs["Neuron devices"] = (believed.neuron_devices, devices)
    for what, (ours, theirs) in pairs.items():
        if ours != theirs:
            yield f"{what}: Slipway believes {ours}, EC2 says {theirs}"
