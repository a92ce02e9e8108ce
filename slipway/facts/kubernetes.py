"""Amazon EKS: Kubernetes versions with their support dates and pinned add-ons, charts, images, what nodes can hold."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import date
from functools import cache
from typing import Annotated, Literal

from pydantic import Field

from slipway.facts.hardware import instance_type
from slipway.facts.neuron import drivers_for
from slipway.facts.rows import FrozenMapping, Row, Text, find, load_rows

_Count = Annotated[int, Field(ge=1)]


class KubernetesVersion(Row):
    """One Kubernetes version of Amazon EKS, with everything that is pinned to it.

    Attributes:
        name: Minor version, for example ``1.35``.
        standard_support_until: Last day of standard support; the control plane costs more afterwards.
        extended_support_until: Last day of extended support; EKS upgrades the cluster by itself afterwards.
        ami_releases: Neuron driver of each release of the EKS optimized Amazon Linux 2023 images, by the release as a
            managed node group names it, the newest first.
        kernel: Linux kernel of the images.
        cluster_autoscaler: Tag of the cluster autoscaler's image, whose minor version is that of the cluster.
        add_ons: Versions of the EKS add-ons, by the add-on's name.
    """

    name: Text
    standard_support_until: date
    extended_support_until: date
    ami_releases: FrozenMapping[Text]
    kernel: Text
    cluster_autoscaler: Text
    add_ons: FrozenMapping[Text]

    @property
    def newest_ami_release(self) -> str:
        """The release for nodes without Neuron devices."""
        return next(iter(self.ami_releases))

    def ami_release_for(self, runtime: str) -> str | None:
        """Return the newest release whose Neuron driver works with a runtime library, or None if there is none.

        Args:
            runtime: Version of the library in the nodes' containers.
        """
        drivers = drivers_for(runtime)
        return next((release for release, driver in self.ami_releases.items() if drivers.has(driver)), None)


class HelmChart(Row):
    """A Helm chart that is installed in the cluster.

    Attributes:
        name: Slipway's name for it.
        repository: Address of the repository; an ``oci://`` address names the chart too.
        chart: Name of the chart.
        version: Version of the chart.
    """

    name: Text
    repository: Text
    chart: Text
    version: Text


class ClusterImage(Row):
    """A container image that a cluster of Kubernetes or Amazon ECS runs, outside of charts, add-ons and engines.

    Attributes:
        name: Slipway's name for it.
        image: Reference with a tag or a digest.
    """

    name: Text
    image: Text


class KubernetesNode(Row):
    """What pods can have of a node of one instance type (``status.allocatable`` of the Kubernetes node).

    Attributes:
        name: EC2 instance type.
        cpu_millicores: Thousandths of a virtual CPU.
        memory_mib: Memory.
        pods: Most pods.
    """

    name: Text
    cpu_millicores: _Count
    memory_mib: _Count
    pods: _Count


class DaemonPod(Row):
    """A pod that nodes run for themselves, of a daemon set.

    Attributes:
        name: Name of the daemon set.
        nodes: Which nodes run it: ``all``, or those whose instance type has Neuron devices or EFA interfaces.
        cpu_millicores: Thousandths of a virtual CPU that all its containers ask for.
        memory_mib: Memory that all its containers ask for.
    """

    name: Text
    nodes: Literal["all", "neuron", "efa"]
    cpu_millicores: Annotated[int, Field(ge=0)]
    memory_mib: Annotated[int, Field(ge=0)]

    def runs_on(self, instance_type_name: str) -> bool:
        """Return whether nodes of an instance type run it.

        Raises:
            UnknownFact: Slipway knows no such instance type.
        """
        kind = instance_type(instance_type_name)
        return {"all": True, "neuron": kind.neuron_devices > 0, "efa": kind.efa_interfaces > 0}[self.nodes]


@dataclass(frozen=True, kw_only=True)
class PodResources:
    """What one pod may ask for.

    Attributes:
        cpu_millicores: Thousandths of a virtual CPU.
        memory_mib: Memory.
    """

    cpu_millicores: int
    memory_mib: int


@cache
def kubernetes_versions() -> Mapping[str, KubernetesVersion]:
    """Return every Kubernetes version by name."""
    return load_rows(KubernetesVersion, "kubernetes_versions.yaml")


def kubernetes_version(name: str) -> KubernetesVersion:
    """Return one Kubernetes version.

    Raises:
        UnknownFact: Slipway knows no such version.
    """
    return find("Kubernetes version", name, kubernetes_versions())


@cache
def helm_charts() -> Mapping[str, HelmChart]:
    """Return every Helm chart by name."""
    return load_rows(HelmChart, "helm_charts.yaml")


def helm_chart(name: str) -> HelmChart:
    """Return one Helm chart.

    Raises:
        UnknownFact: Slipway knows no such chart.
    """
    return find("Helm chart", name, helm_charts())


@cache
def cluster_images() -> Mapping[str, ClusterImage]:
    """Return every container image of the cluster by name."""
    return load_rows(ClusterImage, "cluster_images.yaml")


def cluster_image(name: str) -> ClusterImage:
    """Return one container image of the cluster.

    Raises:
        UnknownFact: Slipway knows no such image.
    """
    return find("container image", name, cluster_images())


@cache
def kubernetes_nodes() -> Mapping[str, KubernetesNode]:
    """Return what pods can have of a node, by instance type."""
    return load_rows(KubernetesNode, "kubernetes_nodes.yaml")


def kubernetes_node(instance_type: str) -> KubernetesNode:
    """Return what pods can have of a node of this instance type.

    Raises:
        UnknownFact: Slipway does not know it.
    """
    return find("Kubernetes node", instance_type, kubernetes_nodes())


@cache
def daemon_pods() -> Mapping[str, DaemonPod]:
    """Return the pods that nodes run for themselves, by their daemon set's name."""
    return load_rows(DaemonPod, "daemon_pods.yaml")


def pod_resources(instance_type_name: str) -> PodResources:
    """Return what one pod may ask for that takes a whole node: what the node has, less what its own pods ask for.

    Raises:
        UnknownFact: Slipway does not know the instance type.
    """
    node = kubernetes_node(instance_type_name)
    own = [pod for pod in daemon_pods().values() if pod.runs_on(instance_type_name)]
    return PodResources(
        cpu_millicores=node.cpu_millicores - sum(pod.cpu_millicores for pod in own),
        memory_mib=node.memory_mib - sum(pod.memory_mib for pod in own),
    )
