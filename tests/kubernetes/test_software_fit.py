"""What the cluster itself runs fits the core nodes that an environment has at least: two of the default type."""

import re
from typing import Any

import pytest

from slipway import facts
from slipway.config.kubernetes import CoreNodes
from tests.kubernetes.installed import Installed
from tests.kubernetes.software_stack import VARIANTS, installed

Requests = tuple[int, int]
"""Thousandths of a CPU, and MiB."""

ADD_ON_PODS: dict[str, Requests] = {
    # EKS add-on, `kubectl describe deployment coredns` in public repositories.
    "coredns-1": (100, 70),
    "coredns-2": (100, 70),
    # kubernetes-sigs/aws-fsx-csi-driver @5b22712, values.yaml: provisioner, resizer, driver, liveness probe, twice.
    "fsx-csi-controller-1": (40, 160),
    "fsx-csi-controller-2": (40, 160),
    # aws-observability/helm-charts @71a298f, values.yaml: manager.resources.
    "cloudwatch-operator": (100, 64),
}
UNITS = {"": 1 / 2**20, "Mi": 1, "Gi": 1024}


def millicores(text: str) -> int:
    return int(text[:-1]) if text.endswith("m") else int(text) * 1000


def mebibytes(text: str) -> int:
    match = re.fullmatch(r"(\d+)(Mi|Gi|)", text)
    assert match
    return round(int(match[1]) * UNITS[match[2]])


def of(resources: dict[str, Any]) -> Requests:
    return millicores(resources["requests"]["cpu"]), mebibytes(resources["requests"]["memory"])


def deployed_pods(found: Installed) -> dict[str, Requests]:
    """Return what the pods of our own deployments ask for: all containers, or the largest of those that go first."""
    pods = {}
    for each in found.objects():
        if each["kind"] == "Deployment":
            pod = each["spec"]["template"]["spec"]
            first = [of(container["resources"]) for container in pod.get("initContainers", [])]
            ours = [of(container["resources"]) for container in pod["containers"]]
            together = tuple(sum(part) for part in zip(*ours, strict=True))
            pods[each["metadata"]["name"]] = tuple(max(part) for part in zip(together, *first, strict=True))
    return pods


def chart_pods(found: Installed) -> dict[str, Requests]:
    """Return what the controllers of the charts ask for."""
    values = {release: chart["Values"] for release, chart in found.charts().items()}
    pods = {
        "jobset": of(values["jobset"]["controller"]["resources"]),
        "cluster-autoscaler": of(values["cluster-autoscaler"]["resources"]),
    }
    if "kueue" in values:
        pods["kueue"] = of(values["kueue"]["controllerManager"]["manager"]["resources"])
    return pods


def left_for_pods(instance_type: str) -> Requests:
    """Return what a core node has for pods beside those of the daemon sets."""
    node = facts.kubernetes_node(instance_type)
    daemons = [pod for pod in facts.daemon_pods().values() if pod.nodes == "all"]
    cpu, memory = sum(pod.cpu_millicores for pod in daemons), sum(pod.memory_mib for pod in daemons)
    return node.cpu_millicores - cpu, node.memory_mib - memory


def unplaced(pods: dict[str, Requests], nodes: list[Requests]) -> list[str]:
    """Return the pods that find no node, the largest first, each on the first node that takes it."""
    free = [list(node) for node in nodes]
    without = []
    for name, (cpu, memory) in sorted(pods.items(), key=lambda pod: pod[1], reverse=True):
        for node in free:
            if node[0] >= cpu and node[1] >= memory:
                node[0] -= cpu
                node[1] -= memory
                break
        else:
            without.append(name)
    return without


@pytest.mark.parametrize("name", VARIANTS)
def test_everything_fits_the_smallest_core(name: str) -> None:
    found = installed(**VARIANTS[name])
    core = CoreNodes()
    pods = {**ADD_ON_PODS, **chart_pods(found), **deployed_pods(found)}

    assert unplaced(pods, [left_for_pods(core.instance_type)] * core.min_count) == []


def test_a_pod_that_fits_no_node_is_found() -> None:
    room = left_for_pods(CoreNodes().instance_type)

    assert unplaced({"large": (room[0] + 1, 1), "small": (1, 1)}, [room, room]) == ["large"]
