"""The EC2 instances that a cloud assembly can launch, whoever launches them: Slurm, EKS, ECS."""

from collections.abc import Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass
from typing import Any, Literal

from slipway.assembly.cluster import Cluster, max_count, placement_group, queue_of, reservation, subnets
from slipway.assembly.sections import Section, UnknownValue, is_open
from slipway.assembly.stacks import Stack
from slipway.assembly.templates import TemplateCluster, Templates

Purchase = Literal["on_demand", "spot", "capacity_block"]

NODE_GROUP_LABEL = "slipway/node-group"
"""Label of Kubernetes nodes with their node group's name, as the constructs write it."""

_SLURM_PURCHASES: Mapping[str | None, Purchase] = {
    None: "on_demand",
    "ONDEMAND": "on_demand",
    "SPOT": "spot",
    "CAPACITY_BLOCK": "capacity_block",
}
_EKS_PURCHASES: Mapping[str | None, Purchase] = {
    None: "on_demand",
    "ON_DEMAND": "on_demand",
    "SPOT": "spot",
    "CAPACITY_BLOCK": "capacity_block",
}

_GP3_IOPS = 3000
_GP3_THROUGHPUT_MIB_S = 125
"""What comes with every gp3 volume (EBS user guide, "General Purpose SSD volumes")."""

_EKS_DISK_GIB = 20
"""Size of a node's volume when a node group says nothing (EKS API reference, CreateNodegroup, diskSize)."""

_NOTHING_SAID = Section((), {})
"""Of a launch template that the templates do not have."""

_CANDIDATE = "-candidate"
"""End of the name of a service that a new version of a model is tried in: it has a host while a canary is out."""


@dataclass(frozen=True)
class InstanceGroup:
    """Instances of one type for one purpose.

    Attributes:
        stack: the stack whose template has them.
        logical_id: the resource that launches them.
        purpose: what they are for, for example `head node` or `queue trn1, trn1-32xl`.
        instance_type: EC2 instance type.
        purchase: how they are paid.
        idle_count: how many run while the environment is idle. Hosts of a model: as if a version of it were served,
            at the time of day when its schedules keep the most.
        peak_count: how many run at most.
        availability_zone_ids: where they can be; empty when the template names the zone by other means.
        capacity_reservation: id of their reservation, or ARN of the resource group of their reservations.
        placement_group: name of the placement group that is there before the deployment and that they start in.
        volume_gib: size of the EBS volumes of each, in GiB.
        extra_iops: operations a second of the volumes of each, beyond those that come with a gp3 volume.
        extra_throughput_mib_s: throughput of the volumes of each in MiB/s, beyond what comes with a gp3 volume.
        serves_a_model: whether they are the hosts of an ECS service, which has them only while it has tasks.
    """

    stack: str
    logical_id: str
    purpose: str
    instance_type: str
    purchase: Purchase
    idle_count: int
    peak_count: int
    availability_zone_ids: tuple[str, ...]
    capacity_reservation: str | None
    volume_gib: int
    placement_group: str | None = None
    extra_iops: int = 0
    extra_throughput_mib_s: int = 0
    serves_a_model: bool = False


def instance_groups(stacks: tuple[Stack, ...]) -> Iterator[InstanceGroup]:
    """Yield everything that the stacks of an environment can launch.

    Groups of which the templates do not say which instance type it is, or how many, are left out: a parameter may.

    Args:
        stacks: the stacks of one assembly; a queue's subnet may be in another stack than the queue.
    """
    templates = Templates({stack.name: stack.template for stack in stacks})
    zones = {reference: subnet.zone_id for reference, subnet in templates.subnets()}
    for found in templates.clusters():
        yield from _of_slurm(found, zones)
    launch_templates = {
        templates.reference(stack, logical_id): properties.section("LaunchTemplateData")
        for stack, logical_id, properties in templates.sections("AWS::EC2::LaunchTemplate")
    }
    yield from _of_kubernetes(templates, launch_templates, zones)
    yield from _of_models(templates, launch_templates, zones)


_Zones = Mapping[str, str | None]


def _zone_ids(references: list[str], zones: _Zones) -> tuple[str, ...]:
    """Return the zones of subnets in their order; none of those that are not in the templates."""
    return tuple(dict.fromkeys(zone for reference in references if (zone := zones.get(reference))))


def _one_type(*names: str | None) -> str:
    """Return the one instance type that is named.

    Raises:
        UnknownValue: there are several, of which AWS takes any, or only a parameter has it.
    """
    named = [name for name in names if name]
    if len(named) != 1 or is_open(named[0]):
        raise UnknownValue("no single instance type is named")
    return named[0]


# ---- Slurm -----------------------------------------------------------------------------------------------------------


def _of_slurm(found: TemplateCluster, zones: _Zones) -> Iterator[InstanceGroup]:
    cluster = found.cluster
    head_node = cluster.root.section("HeadNode")
    yield InstanceGroup(
        stack=found.stack,
        logical_id=found.logical_id,
        purpose="head node",
        instance_type=head_node.required("InstanceType"),
        purchase="on_demand",
        idle_count=1,
        peak_count=1,
        availability_zone_ids=_zone_ids(subnets(head_node), zones),
        capacity_reservation=None,
        volume_gib=_root_volume_gib(head_node, cluster),
    )
    yield from (_login_nodes(found, pool, zones) for pool in cluster.login_pools())
    yield from (_compute_nodes(found, resource, zones) for resource in cluster.compute_resources())


def _login_nodes(found: TemplateCluster, pool: Section, zones: _Zones) -> InstanceGroup:
    count = pool.number("Count", default=0)
    return InstanceGroup(
        stack=found.stack,
        logical_id=found.logical_id,
        purpose=f"login nodes, {pool.required('Name')}",
        instance_type=pool.required("InstanceType"),
        purchase="on_demand",
        idle_count=count,
        peak_count=count,
        availability_zone_ids=_zone_ids(subnets(pool), zones),
        capacity_reservation=None,
        # ParallelCluster has no setting for it: the volume is as large as the image.
        volume_gib=found.cluster.release.default_root_volume_gib,
    )


def _compute_nodes(found: TemplateCluster, resource: Section, zones: _Zones) -> InstanceGroup:
    cluster, queue = found.cluster, queue_of(resource)
    return InstanceGroup(
        stack=found.stack,
        logical_id=found.logical_id,
        purpose=f"queue {queue.required('Name')}, {resource.required('Name')}",
        instance_type=resource.required("InstanceType"),
        purchase=_SLURM_PURCHASES[queue.text("CapacityType")],
        idle_count=resource.number("MinCount", default=0),
        peak_count=max_count(cluster, resource),
        availability_zone_ids=_zone_ids(subnets(queue), zones),
        capacity_reservation=_reservation(reservation(resource)),
        volume_gib=_root_volume_gib(queue.section("ComputeSettings"), cluster),
        placement_group=_named(placement_group(resource), "Name"),
    )


def _root_volume_gib(node: Section, cluster: Cluster) -> int:
    root_volume = node.section("LocalStorage", "RootVolume")
    return root_volume.number("Size", default=cluster.release.default_root_volume_gib)


def _reservation(target: Section) -> str | None:
    return target.hint("CapacityReservationId") or target.hint("CapacityReservationResourceGroupArn")


def _named(placement: Section, key: str) -> str | None:
    """Return the name of a placement group, or none of one that the deployment makes."""
    name = placement.hint(key)
    return None if name is None or is_open(name) else name


# ---- Kubernetes ------------------------------------------------------------------------------------------------------


def _of_kubernetes(
    templates: Templates, launch_templates: Mapping[str, Section], zones: _Zones
) -> Iterator[InstanceGroup]:
    for stack, logical_id, group in templates.sections("AWS::EKS::Nodegroup"):
        with suppress(UnknownValue):
            yield _node_group(stack, logical_id, group, launch_templates, zones)


def _node_group(
    stack: str, logical_id: str, group: Section, launch_templates: Mapping[str, Section], zones: _Zones
) -> InstanceGroup:
    launched = launch_templates.get(group.section("LaunchTemplate").written("Id") or "", _NOTHING_SAID)
    scaling = group.section("ScalingConfig")
    return InstanceGroup(
        stack=stack,
        logical_id=logical_id,
        purpose=f"node group {group.section('Labels').hint(NODE_GROUP_LABEL) or logical_id}",
        instance_type=_one_type(launched.hint("InstanceType"), *group.texts("InstanceTypes")),
        purchase=_EKS_PURCHASES[group.text("CapacityType")],
        idle_count=scaling.number("MinSize", default=0),
        peak_count=scaling.number("MaxSize", default=0),
        availability_zone_ids=_zone_ids(group.texts("Subnets"), zones),
        capacity_reservation=_reservation(_target(launched)),
        placement_group=_named(launched.section("Placement"), "GroupName"),
        volume_gib=_volumes(launched, "VolumeSize", 0) or group.number("DiskSize", default=_EKS_DISK_GIB),
        extra_iops=_volumes(launched, "Iops", _GP3_IOPS),
        extra_throughput_mib_s=_volumes(launched, "Throughput", _GP3_THROUGHPUT_MIB_S),
    )


def _target(launched: Section) -> Section:
    return launched.section("CapacityReservationSpecification", "CapacityReservationTarget")


def _volumes(launched: Section, setting: str, included: int) -> int:
    """Return what the volumes of a launch template have of something together, beyond what each comes with."""
    volumes = [device.section("Ebs") for device in launched.items("BlockDeviceMappings")]
    return sum(volume.number(setting, default=included) - included for volume in volumes)


# ---- models ----------------------------------------------------------------------------------------------------------


def _of_models(templates: Templates, launch_templates: Mapping[str, Section], zones: _Zones) -> Iterator[InstanceGroup]:
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
                group.section("LaunchTemplate").written("LaunchTemplateId") or "", _NOTHING_SAID
            )
            yield InstanceGroup(
                stack=stack,
                logical_id=logical_id,
                purpose=purpose,
                instance_type=_one_type(launched.hint("InstanceType")),
                purchase="capacity_block"
                if launched.section("InstanceMarketOptions").has("MarketType")
                else "on_demand",
                # One task is on each host.
                idle_count=max(tasks, group.number("MinSize", default=0)),
                peak_count=group.number("MaxSize", default=0),
                availability_zone_ids=_zone_ids(group.texts("VPCZoneIdentifier"), zones),
                capacity_reservation=_reservation(_target(launched)),
                volume_gib=_volumes(launched, "VolumeSize", 0),
                extra_iops=_volumes(launched, "Iops", _GP3_IOPS),
                extra_throughput_mib_s=_volumes(launched, "Throughput", _GP3_THROUGHPUT_MIB_S),
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
