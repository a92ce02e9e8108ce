"""The Kubernetes objects of an assembly: what its stacks hand to `kubectl apply`, cluster by cluster."""

import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from decimal import Decimal, InvalidOperation
from functools import cached_property
from typing import Any

from slipway.review.changes.resources import Resource
from slipway.review.wiring.registry import Finding, about
from slipway.review.wiring.resources import Resources

MANIFEST, CHART = "Custom::AWSCDK-EKS-KubernetesResource", "Custom::AWSCDK-EKS-HelmChart"
NODE_GROUP = "AWS::EKS::Nodegroup"

BUILT_IN_NAMESPACES = frozenset({"default", "kube-node-lease", "kube-public", "kube-system"})
"""Namespaces that every cluster has (Kubernetes documentation, "Namespaces")."""

_CLUSTER_WIDE = frozenset(
    {
        "ClusterQueue",
        "ClusterRole",
        "ClusterRoleBinding",
        "Cohort",
        "CustomResourceDefinition",
        "Namespace",
        "PersistentVolume",
        "PriorityClass",
        "ResourceFlavor",
        "RuntimeClass",
        "StorageClass",
        "Topology",
        "ValidatingAdmissionPolicy",
        "ValidatingAdmissionPolicyBinding",
        "WorkloadPriorityClass",
    }
)
"""Kinds whose objects are in no namespace."""

DEFAULT_ACCOUNT = "default"
"""The service account that every namespace has."""

_SUFFIXES: Mapping[str, Decimal] = {
    "m": Decimal("0.001"),
    **{letter: Decimal(1000) ** (power + 1) for power, letter in enumerate("kMGTPE")},
    **{f"{letter}i": Decimal(1024) ** (power + 1) for power, letter in enumerate("KMGTPE")},
}
"""Kubernetes documentation, "Quantity"."""

_TEMPLATES: Mapping[str, str] = {
    "CronJob": "spec.jobTemplate.spec.template",
    "DaemonSet": "spec.template",
    "Deployment": "spec.template",
    "Job": "spec.template",
    "ReplicaSet": "spec.template",
    "StatefulSet": "spec.template",
}
"""Where a kind has the template of its pods (Kubernetes API reference 1.35)."""


@dataclass(frozen=True)
class KubernetesObject:
    """One object.

    Attributes:
        owner: the resource whose manifest has it.
        cluster: what the manifest calls the cluster.
        index: its place in the manifest.
        value: itself.
    """

    owner: Resource
    cluster: str
    index: int
    value: Mapping[str, Any]

    @property
    def kind(self) -> str:
        """Such as `Deployment`."""
        return str(self.value.get("kind", ""))

    @property
    def name(self) -> str:
        """Its name."""
        return str(self.at("metadata.name") or "")

    @property
    def namespace(self) -> str:
        """Its namespace; empty for what is in none."""
        return "" if self.kind in _CLUSTER_WIDE else str(self.at("metadata.namespace") or "default")

    @property
    def key(self) -> tuple[str, str, str, str]:
        """What only one object has."""
        return self.cluster, self.kind, self.namespace, self.name

    @property
    def home(self) -> tuple[str, str]:
        """Cluster and namespace."""
        return self.cluster, self.namespace

    @property
    def title(self) -> str:
        """What people call it, such as `Deployment slipway/shell`."""
        return f"{self.kind} {f'{self.namespace}/' if self.namespace else ''}{self.name}"

    def at(self, path: str) -> Any:
        """Return what stands at a dotted path; None when nothing does."""
        return _at(self.value, path)

    def path(self, path: str) -> str:
        """Return the path of a part of it in the resource's properties."""
        return f"Manifest[{self.index}].{path}"


@dataclass(frozen=True)
class PodTemplate:
    """Pods that an object makes.

    Attributes:
        object: what makes them.
        path: where their template is in it.
        labels: of the pods.
        spec: of the pods.
    """

    object: KubernetesObject
    path: str
    labels: Mapping[str, str]
    spec: Mapping[str, Any]

    @property
    def containers(self) -> Iterator[tuple[str, Mapping[str, Any]]]:
        """Their containers, each with its path in the object; those that run before the others, too."""
        for name in ("initContainers", "containers"):
            for index, container in enumerate(self.spec.get(name, ())):
                yield f"{self.path}.spec.{name}[{index}]", container

    @property
    def ports(self) -> set[int | str]:
        """Numbers and names of the ports that the containers declare."""
        declared = [port for _, container in self.containers for port in container.get("ports", ())]
        return {port[name] for port in declared for name in ("containerPort", "name") if name in port}


class KubernetesObjects:
    """All objects of an assembly."""

    def __init__(self, resources: Resources) -> None:
        self._resources = resources
        self.all = tuple(_objects(resources))
        self._by_key = {found.key: found for found in self.all}

    def of_kind(self, *kinds: str) -> Iterator[KubernetesObject]:
        """Yield the objects of some kinds."""
        return (found for found in self.all if found.kind in kinds)

    def find(self, beside: KubernetesObject, kind: str, name: str, namespace: str = "") -> KubernetesObject | None:
        """Return an object of the cluster that another one is in."""
        return self._by_key.get((beside.cluster, kind, namespace, name))

    def has_others(self, cluster: str, namespace: str) -> bool:
        """Whether a namespace has objects that no manifest shows: Kubernetes' own, or a chart's.

        A chart can make objects without a namespace (the empty text), too.
        """
        if not namespace:
            return any(of == cluster for of, _ in self._chart_namespaces)
        return namespace in BUILT_IN_NAMESPACES or (cluster, namespace) in self._chart_namespaces

    @cached_property
    def _chart_namespaces(self) -> set[tuple[str, str]]:
        return {(str(chart.at("ClusterName")), str(chart.at("Namespace"))) for chart in self._resources.of_type(CHART)}

    @cached_property
    def namespaces(self) -> set[tuple[str, str]]:
        """Clusters and the namespaces that they get."""
        made = {(found.cluster, found.name) for found in self.of_kind("Namespace")}
        by_charts = {
            (str(chart.at("ClusterName")), str(chart.at("Namespace")))
            for chart in self._resources.of_type(CHART)
            if str(chart.at("CreateNamespace")).lower() != "false"
        }
        clusters = {found.cluster for found in self.all}
        return made | by_charts | {(cluster, name) for cluster in clusters for name in BUILT_IN_NAMESPACES}

    @property
    def pod_templates(self) -> Iterator[PodTemplate]:
        """The pods that the objects make."""
        for found in self.all:
            path = _TEMPLATES.get(found.kind, "")
            template = found.value if found.kind == "Pod" else found.at(path) if path else None
            if isinstance(template, dict):
                labels = _at(template, "metadata.labels") or {}
                yield PodTemplate(found, path, labels, template.get("spec", {}))

    def node_groups(self, cluster: str) -> list[Resource]:
        """Return the node groups of a cluster."""
        return [group for group in self._resources.of_type(NODE_GROUP) if str(group.at("ClusterName")) == cluster]


def _objects(resources: Resources) -> Iterator[KubernetesObject]:
    for resource in resources.of_type(MANIFEST):
        try:
            found = json.loads(str(resource.at("Manifest")))
        except ValueError:
            continue  # its text is put together by CloudFormation
        for index, value in enumerate(found if isinstance(found, list) else [found]):
            yield KubernetesObject(resource, str(resource.at("ClusterName")), index, value)


def _at(value: Any, path: str) -> Any:
    for name in path.split("."):
        value = value.get(name) if isinstance(value, dict) else None
    return value


def finding(found: KubernetesObject, path: str, message: str) -> Finding:
    """Make a finding about a part of an object."""
    return about(found.owner, found.path(path), f"{found.title}: {message}")


def without_account(
    objects: KubernetesObjects, user: KubernetesObject, path: str, namespace: str, name: str
) -> Iterator[Finding]:
    """Yield a finding if an object uses a service account that is not there."""
    if name == DEFAULT_ACCOUNT or objects.has_others(user.cluster, namespace):
        return
    if objects.find(user, "ServiceAccount", name, namespace) is None:
        yield finding(user, path, f"there is no ServiceAccount {namespace}/{name}")


def quantity(text: Any) -> Decimal | None:
    """Return a quantity such as `250m` or `1Gi` as a number; None if it is none."""
    text = str(text)
    suffix = text.lstrip("0123456789.")
    try:
        return Decimal(text.removesuffix(suffix)) * (_SUFFIXES[suffix] if suffix else 1)
    except (InvalidOperation, KeyError):
        return None
