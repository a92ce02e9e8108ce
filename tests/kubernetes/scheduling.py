"""A small, strict kube-scheduler: which pods fit which nodes, and what keeps the others pending.

It does what the default filters do that bear on Slipway's pods, and refuses to judge a pod that needs another one
(`NotSimulated`). Which of several nodes a pod gets is the scores' business, which are left out: the first that fits.

* NodeResourcesFit: a pod's requests, extended resources and the pod itself fit into what is left of `allocatable`
  (kubernetes.io/docs/concepts/configuration/manage-resources-containers, "How Pods with resource requests are
  scheduled"; of init containers the largest counts: concepts/workloads/pods/init-containers, "Resource sharing").
* NodeAffinity: nodeSelector, and one term of the required node affinity (concepts/scheduling-eviction/assign-pod-node).
* TaintToleration: every NoSchedule or NoExecute taint is tolerated (concepts/scheduling-eviction/taint-and-toleration).

`admitted` is what the API server does first: requests default to limits, and ExtendedResourceToleration, which EKS has
on (Amazon EKS user guide, platform versions), tolerates taints named like an extended resource that is asked for.
"""

from __future__ import annotations

import copy
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from decimal import Decimal
from typing import Any

from kubernetes.utils.quantity import parse_quantity  # type: ignore[import-untyped]

PodSpec = Mapping[str, Any]
Amounts = Mapping[str, Decimal]

_NATIVE = frozenset({"cpu", "memory", "ephemeral-storage"})
_FILTERING_EFFECTS = frozenset({"NoSchedule", "NoExecute"})
# What would need a filter that is not here.
_NOT_SIMULATED = (
    "nodeName",
    "schedulerName",
    "topologySpreadConstraints",
    "resourceClaims",
    "schedulingGates",
    "overhead",
)


class NotSimulated(NotImplementedError):  # noqa: N818 (says what it is)
    """The pod needs a filter that the simulation does not have."""


@dataclass
class Node:
    """A node, with what runs on it."""

    name: str
    allocatable: Amounts
    """What pods can have, by resource; `pods` is how many there can be."""

    labels: Mapping[str, str]
    taints: Sequence[Mapping[str, str]] = ()
    used: defaultdict[str, Decimal] = field(default_factory=lambda: defaultdict(Decimal))

    def place(self, requests: Amounts) -> None:
        """Take what a pod asks for, and one pod."""
        for resource, amount in {**requests, "pods": Decimal(1)}.items():
            self.used[resource] += amount

    def free(self, resource: str) -> Decimal:
        """Return what is left of a resource; nothing of what the node does not have."""
        return self.allocatable.get(resource, Decimal(0)) - self.used[resource]


@dataclass(frozen=True)
class Outcome:
    """What became of a pod."""

    node: str | None
    """Its node; none while it is pending."""

    reasons: Mapping[str, Sequence[str]]
    """For each node that it does not fit, why; in the words of the scheduler's events."""


def schedule(pods: Iterable[PodSpec], nodes: Sequence[Node]) -> list[Outcome]:
    """Place pods one after another.

    Args:
        pods: The pods' `spec`s, as they are sent to the API server.
        nodes: The nodes, which afterwards hold the pods that fit.

    Returns:
        What became of each pod.

    Raises:
        NotSimulated: A pod needs a filter that is not here.
        ValueError: The API server refuses a pod.
    """
    return [_schedule_one(admitted(pod), nodes) for pod in pods]


def _schedule_one(pod: PodSpec, nodes: Sequence[Node]) -> Outcome:
    reasons: dict[str, Sequence[str]] = {}
    for node in nodes:
        why = list(misfits(pod, node))
        if not why:
            node.place(requests_of(pod))
            return Outcome(node.name, reasons)
        reasons[node.name] = why
    return Outcome(None, reasons)


def admitted(pod: PodSpec) -> dict[str, Any]:
    """Return a pod as the API server stores it.

    Raises:
        NotSimulated: The pod needs a filter that is not here.
        ValueError: An extended resource is not asked for as Kubernetes demands.
    """
    for key in _NOT_SIMULATED:
        if pod.get(key):
            raise NotSimulated(key)
    stored = copy.deepcopy(dict(pod))
    extended: dict[str, None] = {}
    for container in _containers(stored):
        resources = container.setdefault("resources", {})
        limits, requests = resources.get("limits", {}), resources.setdefault("requests", {})
        for resource, limit in limits.items():
            requests.setdefault(resource, limit)
        for resource in requests:
            if resource not in _NATIVE and not resource.startswith("hugepages-"):
                _check_extended(resource, requests, limits)
                extended[resource] = None
    tolerations = [{"key": resource, "operator": "Exists"} for resource in extended]
    return {**stored, "tolerations": [*stored.get("tolerations", ()), *tolerations]}


def _check_extended(resource: str, requests: Mapping[str, str], limits: Mapping[str, str]) -> None:
    """Extended resources are whole, and are not overcommitted: concepts/configuration/manage-resources-containers."""
    if resource not in limits or parse_quantity(requests[resource]) != parse_quantity(limits[resource]):
        raise ValueError(f"{resource}: the request must be equal to the limit")
    if parse_quantity(requests[resource]) % 1:
        raise ValueError(f"{resource}: must be whole")


def _containers(pod: PodSpec) -> Iterator[dict[str, Any]]:
    for container in pod.get("initContainers", ()):
        if container.get("restartPolicy"):
            raise NotSimulated("a side-car")
        yield container
    for container in pod["containers"]:
        if any("hostPort" in port for port in container.get("ports", ())):
            raise NotSimulated("hostPort")
        yield container


def requests_of(pod: PodSpec) -> Amounts:
    """Return what a stored pod asks for: the sum of its containers, or an init container where that is more."""
    total: defaultdict[str, Decimal] = defaultdict(Decimal)
    for container in pod["containers"]:
        for resource, amount in _amounts(container).items():
            total[resource] += amount
    for container in pod.get("initContainers", ()):
        for resource, amount in _amounts(container).items():
            total[resource] = max(total[resource], amount)
    return total


def _amounts(container: Mapping[str, Any]) -> dict[str, Decimal]:
    return {resource: parse_quantity(text) for resource, text in container["resources"]["requests"].items()}


def misfits(pod: PodSpec, node: Node) -> Iterator[str]:
    """Yield why a stored pod does not fit a node; nothing where it does."""
    for taint in node.taints:
        if taint["effect"] in _FILTERING_EFFECTS and not any(_tolerates(one, taint) for one in pod["tolerations"]):
            yield f"had untolerated taint {{{taint['key']}: {taint.get('value', '')}}}"
    if not _selected(pod, node):
        yield "didn't match Pod's node affinity/selector"
    if node.free("pods") < 1:
        yield "Too many pods"
    for resource, amount in requests_of(pod).items():
        if amount > node.free(resource):
            yield f"Insufficient {resource}"


def _tolerates(toleration: Mapping[str, str], taint: Mapping[str, str]) -> bool:
    if toleration.get("effect", "") not in ("", taint["effect"]):
        return False
    operator = toleration.get("operator", "Equal")
    if operator not in ("Equal", "Exists"):
        raise NotSimulated(f"toleration operator {operator}")
    if not toleration.get("key"):
        return operator == "Exists"
    if toleration["key"] != taint["key"]:
        return False
    return operator == "Exists" or toleration.get("value", "") == taint.get("value", "")


def _selected(pod: PodSpec, node: Node) -> bool:
    if any(node.labels.get(key) != value for key, value in pod.get("nodeSelector", {}).items()):
        return False
    affinity = pod.get("affinity", {})
    if set(affinity) - {"nodeAffinity"}:
        raise NotSimulated("affinity between pods")
    required = affinity.get("nodeAffinity", {}).get("requiredDuringSchedulingIgnoredDuringExecution")
    return required is None or any(_term_holds(term, node) for term in required["nodeSelectorTerms"])


def _term_holds(term: Mapping[str, Any], node: Node) -> bool:
    if term.get("matchFields"):
        raise NotSimulated("matchFields")
    expressions = term.get("matchExpressions", ())
    # A term without an expression selects no node.
    return bool(expressions) and all(_expression_holds(expression, node.labels) for expression in expressions)


def _expression_holds(expression: Mapping[str, Any], labels: Mapping[str, str]) -> bool:
    key, values = expression["key"], expression.get("values", ())
    match expression["operator"]:
        case "In":
            return labels.get(key) in values
        case "NotIn":
            return labels.get(key) not in values
        case "Exists":
            return key in labels
        case "DoesNotExist":
            return key not in labels
    raise NotSimulated(f"node affinity operator {expression['operator']}")
