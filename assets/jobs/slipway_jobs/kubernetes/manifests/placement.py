"""Where a pod runs: its node group, and what it takes of a node there."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from slipway_jobs.environment import Environment
from slipway_jobs.kubernetes.manifests.names import EFA_RESOURCE, NEURON_RESOURCE, NODE_GROUP_LABEL
from slipway_jobs.run import Run, WorkerRun


@dataclass(frozen=True)
class Placement:
    """A kind of node, and a share of it."""

    node_group: str
    """Name of the node group."""

    resources: dict[str, str]
    """What a pod asks for and may use, as Kubernetes writes quantities."""

    accelerated: bool
    """Whether the nodes have Neuron devices, and so the taint that goes with them."""

    def node_selector(self) -> dict[str, str]:
        """Return the labels of the nodes."""
        return {NODE_GROUP_LABEL: self.node_group}

    def tolerations(self) -> list[dict[str, str]]:
        """Return the taints of the nodes that a pod puts up with."""
        if self.accelerated:
            return [{"key": NEURON_RESOURCE, "operator": "Exists", "effect": "NoSchedule"}]
        return [{"key": NODE_GROUP_LABEL, "operator": "Equal", "value": self.node_group, "effect": "NoSchedule"}]


def worker_placement(run: WorkerRun, environment: Environment) -> Placement:
    """Return the place of the pods that train: one takes a whole node, with all its devices and EFA interfaces."""
    hardware = run.hardware
    queue = next(queue for queue in environment.queues if queue.name == run.queue)
    instance_type = hardware.instance_type or next(iter(queue.instance_types))
    placement = _whole_node(run.queue, instance_type, environment)
    if hardware.device == "neuron":
        instance = environment.instance_types[instance_type]
        placement.resources[NEURON_RESOURCE] = str(instance.neuron_devices)
        if queue.efa:
            placement.resources[EFA_RESOURCE] = str(instance.efa_interfaces)
    return placement


def single_placement(run: Run, environment: Environment) -> Placement:
    """Return the place of the stages that take one node, and its accelerators if it has any do nothing."""
    queue = next(queue for queue in environment.queues if queue.name == run.cpu_queue)
    return _whole_node(queue.name, next(iter(queue.instance_types)), environment)


def watcher_placement(run: Run, environment: Environment) -> Placement:
    """Return the place of pods that start the work of others and wait for it: a small share of a node."""
    whole = single_placement(run, environment)
    return Placement(whole.node_group, {"cpu": "500m", "memory": "1024Mi"}, whole.accelerated)


def _whole_node(node_group: str, instance_type: str, environment: Environment) -> Placement:
    assert environment.kubernetes is not None
    whole = environment.kubernetes.pods[instance_type]
    resources: dict[str, Any] = {"cpu": f"{whole.cpu_millicores}m", "memory": f"{whole.memory_mib}Mi"}
    return Placement(node_group, resources, environment.instance_types[instance_type].neuron_devices > 0)
