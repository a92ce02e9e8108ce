"""Kueue's objects: queues, their quotas and the nodes that these are for."""

from __future__ import annotations

from collections.abc import Iterator

from slipway import facts
from slipway.review.wiring.kubernetes_objects import KubernetesObjects, finding
from slipway.review.wiring.nodes import instance_types_of
from slipway.review.wiring.registry import Finding, rule
from slipway.review.wiring.resources import Resources, mapping


@rule(
    reason="Kueue admits no workload of the queue: jobs wait forever.",
    fix="Write the names of a ClusterQueue and of ResourceFlavors of the manifests.",
    source="https://kueue.sigs.k8s.io/docs/concepts/local_queue/ and /cluster_queue/",
)
def queue_names_what_exists(resources: Resources) -> Iterator[Finding]:
    """A LocalQueue names a ClusterQueue of the manifests, and that ResourceFlavors of them."""
    objects = KubernetesObjects(resources)
    managed = {queue.cluster for queue in objects.of_kind("ClusterQueue")}
    for queue in objects.of_kind("LocalQueue"):
        name = str(queue.at("spec.clusterQueue"))
        if queue.cluster in managed and objects.find(queue, "ClusterQueue", name) is None:
            yield finding(queue, "spec.clusterQueue", f"there is no ClusterQueue {name}")
    for cluster_queue in objects.of_kind("ClusterQueue"):
        for index, group in enumerate(cluster_queue.at("spec.resourceGroups") or ()):
            covered = set(group.get("coveredResources", ()))
            for flavor in group.get("flavors", ()):
                path = f"spec.resourceGroups[{index}].flavors"
                if objects.find(cluster_queue, "ResourceFlavor", flavor["name"]) is None:
                    yield finding(cluster_queue, path, f"there is no ResourceFlavor {flavor['name']}")
                if {row.get("name") for row in flavor.get("resources", ())} != covered:
                    yield finding(cluster_queue, path, f"{flavor['name']} has not the resources {sorted(covered)}")


@rule(
    reason="Kueue admits workloads, and their pods find no node.",
    fix="Write the labels of a node group.",
    source="https://kueue.sigs.k8s.io/docs/concepts/resource_flavor/",
)
def flavor_is_for_nodes(resources: Resources) -> Iterator[Finding]:
    """The labels of a ResourceFlavor are those of a node group."""
    objects = KubernetesObjects(resources)
    for flavor in objects.of_kind("ResourceFlavor"):
        wanted: dict[str, str] = flavor.at("spec.nodeLabels") or {}
        groups = objects.node_groups(flavor.cluster)
        if wanted and groups and not any(wanted.items() <= mapping(group.at("Labels")).items() for group in groups):
            yield finding(flavor, "spec.nodeLabels", "no node group has these labels")


@rule(
    reason="A job of one node asks for more than the queue ever has: it waits forever.",
    fix="Write the devices of as many nodes as the queue may use.",
    source="https://kueue.sigs.k8s.io/docs/concepts/cluster_queue/; slipway/facts/data/instance_types.yaml",
)
def quota_is_of_whole_nodes(resources: Resources) -> Iterator[Finding]:
    """A quota of Neuron devices is 0, or that of whole nodes of its flavor's node groups."""
    objects = KubernetesObjects(resources)
    for queue in objects.of_kind("ClusterQueue"):
        for index, group in enumerate(queue.at("spec.resourceGroups") or ()):
            for flavor in group.get("flavors", ()):
                found = objects.find(queue, "ResourceFlavor", flavor["name"])
                labels: dict[str, str] = (found.at("spec.nodeLabels") if found else None) or {}
                devices = {
                    facts.instance_types()[kind].neuron_devices
                    for nodes in objects.node_groups(queue.cluster)
                    if labels and labels.items() <= mapping(nodes.at("Labels")).items()
                    for kind in instance_types_of(resources, nodes)
                    if kind in facts.instance_types()
                }
                for row in flavor.get("resources", ()):
                    quota = str(row.get("nominalQuota"))
                    is_neuron = row.get("name") == "aws.amazon.com/neuron" and quota.isdecimal()
                    if is_neuron and devices and all(count and int(quota) % count for count in devices):
                        path = f"spec.resourceGroups[{index}].flavors"
                        yield finding(queue, path, f"{quota} devices are not those of whole nodes ({max(devices)})")
