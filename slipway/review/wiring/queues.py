"""Kueue's objects: queues, their quotas and the nodes that these are for."""

from __future__ import annotations

from collections.abc import Iterator

from slipway.review.wiring.kubernetes_objects import KubernetesObjects, finding
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
