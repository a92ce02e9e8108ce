"""The hosts of the models that ECS serves, and Auto Scaling groups of the user's own."""

from collections.abc import Iterator, Mapping
from contextlib import suppress
from typing import Any

from slipway.assembly.instances.group import InstanceGroup, Zones, one_type, zone_ids
from slipway.assembly.instances.launch_templates import (
    NOTHING_SAID,
    extra_iops,
    extra_throughput_mib_s,
    launched_reservation,
    volume_gib,
)
from slipway.assembly.sections import Section, UnknownValue
from slipway.assembly.templates import Templates

_CANDIDATE = "-candidate"
"""End of the name of a service that a new version of a model is tried in: it has a host while a canary is out."""


def model_instances(
    templates: Templates, launch_templates: Mapping[str, Section], zones: Zones
) -> Iterator[InstanceGroup]:
    """Yield the hosts of each Auto Scaling group that says which they are."""
    services = _services(templates)
    names = {service.hint("ServiceName") for service in services.values()}
    for stack, logical_id, group in templates.sections("AWS::AutoScaling::AutoScalingGroup"):
        with suppress(UnknownValue):
            service = services.get(templates.reference(stack, logical_id))
            if service is None:
                # A group of the user's own: it keeps what it says itself.
                purpose, tasks = f"Auto Scaling group {logical_id}", group.number("DesiredCapacity", default=0)
            else:
                name = service.required("ServiceName")
                tried_out = name.endswith(_CANDIDATE) and name.removesuffix(_CANDIDATE) in names
                tasks = 0 if tried_out else _fewest_tasks(templates, stack, str(service.path[0]))
                purpose = f"inference hosts of {name}"
            launched = launch_templates.get(
                group.section("LaunchTemplate").written("LaunchTemplateId") or "", NOTHING_SAID
            )
            yield InstanceGroup(
                stack=stack,
                logical_id=logical_id,
                purpose=purpose,
                instance_type=one_type(launched.hint("InstanceType")),
                purchase="capacity_block"
                if launched.section("InstanceMarketOptions").has("MarketType")
                else "on_demand",
                # One task is on each host.
                idle_count=max(tasks, group.number("MinSize", default=0)),
                peak_count=group.number("MaxSize", default=0),
                availability_zone_ids=zone_ids(group.texts("VPCZoneIdentifier"), zones),
                capacity_reservation=launched_reservation(launched),
                volume_gib=volume_gib(launched),
                extra_iops=extra_iops(launched),
                extra_throughput_mib_s=extra_throughput_mib_s(launched),
                serves_a_model=service is not None,
            )


def _services(templates: Templates) -> dict[str, Section]:
    """Return the services by the reference to the group of the hosts that they run on."""
    groups = {
        templates.reference(stack, logical_id): provider.section("AutoScalingGroupProvider").hint("AutoScalingGroupArn")
        for stack, logical_id, provider in templates.sections("AWS::ECS::CapacityProvider")
    }
    return {
        group: service
        for _, _, service in templates.sections("AWS::ECS::Service")
        for strategy in service.items("CapacityProviderStrategy")
        if (group := groups.get(strategy.hint("CapacityProvider") or ""))
    }


def _fewest_tasks(templates: Templates, stack: str, service: str) -> int:
    """Return how many tasks a service keeps.

    Raises:
        UnknownValue: the template puts the number together in a way that only AWS can read.
    """
    for of_stack, _, target in templates.sections("AWS::ApplicationAutoScaling::ScalableTarget"):
        # service/<cluster>/${<logical id>.Name}
        scaled = (target.hint("ResourceId") or "").rpartition("/")[2].removeprefix("${").removesuffix(".Name}")
        if (of_stack, scaled) == (stack, service):
            schedules = [action.section("ScalableTargetAction") for action in target.items("ScheduledActions")]
            return max(bound.number("MinCapacity", default=0) for bound in (target, *schedules))
    template = templates.templates[stack]
    return _largest(template["Resources"][service]["Properties"].get("DesiredCount"), template)


def _largest(count: Any, template: Mapping[str, Any]) -> int:
    """Return a number; of one that depends on a condition the larger, of a parameter its default, of none ECS's own."""
    match count:
        case None:
            # Template reference, AWS::ECS::Service: what a new service has when nothing is said.
            return 1
        case int():
            return count
        case {"Fn::If": [_, one, other]}:
            return max(_largest(one, template), _largest(other, template))
        case {"Ref": str() as name} if "Default" in template.get("Parameters", {}).get(name, {}):
            return int(template["Parameters"][name]["Default"])
        case str() if count.isdecimal():
            return int(count)
        case _:
            raise UnknownValue(f"a count of tasks that cannot be read from the template: {count}")
