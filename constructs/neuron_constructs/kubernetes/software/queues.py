"""Kueue: runs wait in one queue until the accelerated nodes for all of a run are free."""

import json
from collections.abc import Sequence
from typing import Any

from neuron_constructs.kubernetes.names import LOCAL_QUEUE, NODE_GROUP_LABEL, USER_ID_LABEL
from neuron_constructs.kubernetes.scale_from_zero import EFA_RESOURCE, NEURON_RESOURCE
from neuron_constructs.kubernetes.software.job_nodes import JobNodes
from neuron_constructs.kubernetes.software.manifest import Manifest, cluster_object, namespaced_object

_API = "kueue.x-k8s.io/v1beta2"
_CLUSTER_QUEUE = "training"
_JOBS_NAMESPACES = {"matchExpressions": [{"key": USER_ID_LABEL, "operator": "Exists"}]}

# Stages on nodes without accelerators follow one another, but Kueue counts all jobs of a JobSet at once (kueue#6796):
# a node group that runs them one by one would be too small for any run. Those nodes the autoscaler gives.
# Not `quotaCheckStrategy: IgnoreUndeclared`: with it Kueue 0.19.2 admits no pod without any declared resource
# (pkg/scheduler/flavorassigner/flavorassigner.go, @ff69552e).
_NOT_COUNTED = ("cpu", "memory", "ephemeral-storage", "hugepages-")


def kueue_values(*, mpi: bool) -> dict[str, Any]:
    """Return the values of the chart.

    The configuration replaces the chart's as a whole; what is not about integrations and resources is the chart's.

    Args:
        mpi: whether the queued jobs are MPI jobs.
    """
    configuration = {
        "apiVersion": "config.kueue.x-k8s.io/v1beta2",
        "kind": "Configuration",
        "health": {"healthProbeBindAddress": ":8081"},
        "metrics": {"bindAddress": ":8443"},
        "webhook": {"port": 9443},
        "leaderElection": {"leaderElect": True, "resourceName": "c1f6bfd2.kueue.x-k8s.io"},
        # Its webhooks look at pods; where it is down, no other namespace waits for it.
        "managedJobsNamespaceSelector": _JOBS_NAMESPACES,
        "integrations": {"frameworks": ["kubeflow.org/mpijob" if mpi else "jobset.x-k8s.io/jobset"]},
        "resources": {"excludeResourcePrefixes": list(_NOT_COUNTED)},
    }
    resources = {"requests": {"cpu": "500m", "memory": "512Mi"}, "limits": {"memory": "512Mi"}}
    return {
        "fullnameOverride": "kueue",
        "controllerManager": {"manager": {"resources": resources}},
        # JSON is YAML.
        "managerConfig": {"controllerManagerConfigYaml": json.dumps(configuration, indent=2)},
    }


def cluster_queue(node_groups: Sequence[JobNodes]) -> list[Manifest]:
    """Return the queue of the cluster, and what it may give away: all devices of all accelerated nodes.

    Args:
        node_groups: the node groups of jobs.
    """
    accelerated = [nodes for nodes in node_groups if nodes.neuron_devices]
    groups = [
        {"coveredResources": [NEURON_RESOURCE, EFA_RESOURCE], "flavors": [_quota(nodes) for nodes in accelerated]}
    ]
    return [
        *(_flavor(nodes) for nodes in accelerated),
        cluster_object(
            _API,
            "ClusterQueue",
            _CLUSTER_QUEUE,
            spec={
                "namespaceSelector": _JOBS_NAMESPACES,
                # A run of many nodes is not overtaken again and again by runs of few.
                "queueingStrategy": "StrictFIFO",
                "resourceGroups": groups if accelerated else [],
            },
        ),
    ]


def local_queue(namespace: str) -> Manifest:
    """Return the door to that queue in a namespace of jobs."""
    return namespaced_object(
        _API, "LocalQueue", LOCAL_QUEUE, namespace=namespace, spec={"clusterQueue": _CLUSTER_QUEUE}
    )


def _flavor(nodes: JobNodes) -> Manifest:
    """Return the flavor of a node group; a pod finds it by its node selector."""
    return cluster_object(_API, "ResourceFlavor", nodes.name, spec={"nodeLabels": {NODE_GROUP_LABEL: nodes.name}})


def _quota(nodes: JobNodes) -> dict[str, Any]:
    counts = {NEURON_RESOURCE: nodes.neuron_devices, EFA_RESOURCE: nodes.efa_interfaces}
    return {
        "name": nodes.name,
        "resources": [{"name": name, "nominalQuota": str(nodes.max_count * count)} for name, count in counts.items()],
    }
