"""Queues of jobs: quotas, pods, and the nodes that they are for."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from typing import Any

from slipway import facts
from slipway.review.wiring.kubernetes_objects import KubernetesObjects, finding
from slipway.review.wiring.nodes import known_types_of
from slipway.review.wiring.registry import Finding, rule
from slipway.review.wiring.resources import Resources, mapping


@rule(
    reason="Kueue admits no workload of the queue: jobs wait forever.",
    fix="Write the name of a ClusterQueue, and of ResourceFlavors, that the manifests create.",
    source="https://kueue.sigs.k8s.io/docs/concepts/local_queue/ and /cluster_queue/",
)
def queue_names_what_exists(resources: Resources) -> Iterator[Finding]:
    """A LocalQueue names an existing ClusterQueue, which names existing ResourceFlavors."""
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
                    yield finding(
                        cluster_queue,
                        path,
                        f"{flavor['name']} does not have exactly the covered resources {sorted(covered)}",
                    )


@rule(
    reason="Kueue admits workloads whose pods fit no node.",
    fix="Write the labels of a node group.",
    source="https://kueue.sigs.k8s.io/docs/concepts/resource_flavor/",
)
def flavor_is_for_nodes(resources: Resources) -> Iterator[Finding]:
    """The node labels of a ResourceFlavor are those of a node group."""
    objects = KubernetesObjects(resources)
    for flavor in objects.of_kind("ResourceFlavor"):
        wanted: dict[str, str] = flavor.at("spec.nodeLabels") or {}
        groups = objects.node_groups(flavor.cluster)
        if wanted and groups and not any(wanted.items() <= mapping(group.at("Labels")).items() for group in groups):
            yield finding(flavor, "spec.nodeLabels", "no node group has these labels")


@rule(
    reason="A job that needs a whole node never fits the quota: it waits forever.",
    fix="Write a multiple of the devices of one node.",
    source="https://kueue.sigs.k8s.io/docs/concepts/cluster_queue/; slipway/facts/data/instance_types.yaml",
)
def quota_is_of_whole_nodes(resources: Resources) -> Iterator[Finding]:
    """A quota of Neuron devices is a multiple of the devices of one node."""
    objects = KubernetesObjects(resources)
    for queue in objects.of_kind("ClusterQueue"):
        for index, group in enumerate(queue.at("spec.resourceGroups") or ()):
            for flavor in group.get("flavors", ()):
                found = objects.find(queue, "ResourceFlavor", flavor["name"])
                labels: dict[str, str] = (found.at("spec.nodeLabels") if found else None) or {}
                devices = {
                    kind.neuron_devices
                    for nodes in objects.node_groups(queue.cluster)
                    if labels and labels.items() <= mapping(nodes.at("Labels")).items()
                    for kind in known_types_of(resources, nodes)
                }
                for row in flavor.get("resources", ()):
                    quota = str(row.get("nominalQuota"))
                    is_neuron = row.get("name") == "aws.amazon.com/neuron" and quota.isdecimal()
                    if is_neuron and devices and all(count and int(quota) % count for count in devices):
                        path = f"spec.resourceGroups[{index}].flavors"
                        yield finding(queue, path, f"{quota} is not a multiple of the {max(devices)} devices of a node")


@rule(
    reason="The pods of jobs fit on no node: they stay pending.",
    fix="Write at most what kubelet offers to pods.",
    source="slipway/facts/data/kubernetes_nodes.yaml",
)
def pods_of_jobs_fit_their_node(resources: Resources) -> Iterator[Finding]:
    """What jobs request for their pods is less than what their instance type offers."""
    for settings in KubernetesObjects(resources).of_kind("ConfigMap"):
        for name, text in mapping(settings.at("data")).items():
            for type_, wanted in mapping(_settings(text).get("pods")).items():
                node, requests = facts.kubernetes_nodes().get(type_), mapping(wanted)
                if node is None:
                    continue
                for part, offered in (("memory_mib", node.memory_mib), ("cpu_millicores", node.cpu_millicores)):
                    value = requests.get(part)
                    if isinstance(value, int) and value > offered:
                        yield finding(settings, f"data.{name}", f"{part} {value}: {type_} offers {offered}")


def _settings(text: Any) -> Mapping[str, Any]:
    try:
        return mapping(mapping(json.loads(str(text))).get("kubernetes"))
    except ValueError:
        return {}
