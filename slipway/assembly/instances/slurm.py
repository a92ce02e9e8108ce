"""The instances that ParallelCluster launches: head node, login nodes, compute nodes."""

from collections.abc import Iterator, Mapping

from slipway.assembly.cluster import Cluster, max_count, placement_group, queue_of, reservation, subnets
from slipway.assembly.instances.group import (
    InstanceGroup,
    Purchase,
    Zones,
    placement_group_of,
    reservation_of,
    zone_ids,
)
from slipway.assembly.sections import Section
from slipway.assembly.templates import TemplateCluster

_PURCHASES: Mapping[str | None, Purchase] = {
    None: "on_demand",
    "ONDEMAND": "on_demand",
    "SPOT": "spot",
    "CAPACITY_BLOCK": "capacity_block",
}


def slurm_instances(found: TemplateCluster, zones: Zones) -> Iterator[InstanceGroup]:
    """Yield the head node, the login nodes and the nodes of each compute resource."""
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
        availability_zone_ids=zone_ids(subnets(head_node), zones),
        capacity_reservation=None,
        volume_gib=_root_volume_gib(head_node, cluster),
    )
    yield from (_login_nodes(found, pool, zones) for pool in cluster.login_pools())
    yield from (_compute_nodes(found, resource, zones) for resource in cluster.compute_resources())


def _login_nodes(found: TemplateCluster, pool: Section, zones: Zones) -> InstanceGroup:
    count = pool.number("Count", default=0)
    return InstanceGroup(
        stack=found.stack,
        logical_id=found.logical_id,
        purpose=f"login nodes, {pool.required('Name')}",
        instance_type=pool.required("InstanceType"),
        purchase="on_demand",
        idle_count=count,
        peak_count=count,
        availability_zone_ids=zone_ids(subnets(pool), zones),
        capacity_reservation=None,
        # ParallelCluster has no setting for it: the volume is as large as the image.
        volume_gib=found.cluster.release.default_root_volume_gib,
    )


def _compute_nodes(found: TemplateCluster, resource: Section, zones: Zones) -> InstanceGroup:
    cluster, queue = found.cluster, queue_of(resource)
    return InstanceGroup(
        stack=found.stack,
        logical_id=found.logical_id,
        purpose=f"queue {queue.required('Name')}, {resource.required('Name')}",
        instance_type=resource.required("InstanceType"),
        purchase=_PURCHASES[queue.text("CapacityType")],
        idle_count=resource.number("MinCount", default=0),
        peak_count=max_count(cluster, resource),
        availability_zone_ids=zone_ids(subnets(queue), zones),
        capacity_reservation=reservation_of(reservation(resource)),
        volume_gib=_root_volume_gib(queue.section("ComputeSettings"), cluster),
        placement_group=placement_group_of(placement_group(resource), "Name"),
    )


def _root_volume_gib(node: Section, cluster: Cluster) -> int:
    root_volume = node.section("LocalStorage", "RootVolume")
    return root_volume.number("Size", default=cluster.release.default_root_volume_gib)
