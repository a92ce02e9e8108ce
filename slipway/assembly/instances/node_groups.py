"""The instances that the managed node groups of a Kubernetes cluster launch."""

from collections.abc import Iterator, Mapping
from contextlib import suppress

from slipway.assembly.instances.group import InstanceGroup, Purchase, Zones, one_type, placement_group_of, zone_ids
from slipway.assembly.instances.launch_templates import (
    NOTHING_SAID,
    extra_iops,
    extra_throughput_mib_s,
    launched_reservation,
    volume_gib,
)
from slipway.assembly.sections import Section, UnknownValue
from slipway.assembly.templates import Templates

NODE_GROUP_LABEL = "slipway/node-group"
"""Label of Kubernetes nodes with their node group's name, as the constructs write it."""

_PURCHASES: Mapping[str | None, Purchase] = {
    None: "on_demand",
    "ON_DEMAND": "on_demand",
    "SPOT": "spot",
    "CAPACITY_BLOCK": "capacity_block",
}

_DISK_GIB = 20
"""Size of a node's volume when a node group says nothing (EKS API reference, CreateNodegroup, diskSize)."""


def node_group_instances(
    templates: Templates, launch_templates: Mapping[str, Section], zones: Zones
) -> Iterator[InstanceGroup]:
    """Yield the nodes of each managed node group that says which they are."""
    for stack, logical_id, group in templates.sections("AWS::EKS::Nodegroup"):
        with suppress(UnknownValue):
            yield _node_group(stack, logical_id, group, launch_templates, zones)


def _node_group(
    stack: str, logical_id: str, group: Section, launch_templates: Mapping[str, Section], zones: Zones
) -> InstanceGroup:
    launched = launch_templates.get(group.section("LaunchTemplate").written("Id") or "", NOTHING_SAID)
    scaling = group.section("ScalingConfig")
    return InstanceGroup(
        stack=stack,
        logical_id=logical_id,
        purpose=f"node group {group.section('Labels').hint(NODE_GROUP_LABEL) or logical_id}",
        instance_type=one_type(launched.hint("InstanceType"), *group.texts("InstanceTypes")),
        purchase=_PURCHASES[group.text("CapacityType")],
        idle_count=scaling.number("MinSize", default=0),
        peak_count=scaling.number("MaxSize", default=0),
        availability_zone_ids=zone_ids(group.texts("Subnets"), zones),
        capacity_reservation=launched_reservation(launched),
        placement_group=placement_group_of(launched.section("Placement"), "GroupName"),
        volume_gib=volume_gib(launched) or group.number("DiskSize", default=_DISK_GIB),
        extra_iops=extra_iops(launched),
        extra_throughput_mib_s=extra_throughput_mib_s(launched),
    )
