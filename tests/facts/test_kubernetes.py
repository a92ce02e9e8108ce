"""The facts about Amazon EKS: versions and their add-ons, and what is left of a node for a pod."""

import re
from collections.abc import Callable

import pytest

from slipway import facts

# What the cluster installs as EKS add-ons; the constructs ask for these by name.
ADD_ONS = {
    "vpc-cni",
    "coredns",
    "kube-proxy",
    "eks-pod-identity-agent",
    "eks-node-monitoring-agent",
    "aws-fsx-csi-driver",
    "amazon-cloudwatch-observability",
}
CHARTS = {"neuron", "efa", "jobset", "kueue", "cluster-autoscaler"}
# efa-only interfaces and pods' addresses agree from this version of the VPC CNI on (terraform-aws-eks, README).
FIRST_VPC_CNI_WITH_EFA_ONLY = (1, 18, 5)

EACH_VERSION = pytest.mark.parametrize("version", facts.kubernetes_versions().values(), ids=lambda row: row.name)
EACH_TYPE = pytest.mark.parametrize("instance_type", facts.instance_types())


@EACH_VERSION
def test_a_version_pins_every_add_on(version: facts.KubernetesVersion) -> None:
    assert set(version.add_ons) == ADD_ONS
    assert all(re.fullmatch(r"v\d+\.\d+\.\d+-eksbuild\.\d+", pin) for pin in version.add_ons.values())


@EACH_VERSION
def test_images_and_proxy_are_of_the_version(version: facts.KubernetesVersion) -> None:
    releases = [*version.ami_releases]
    assert all(re.fullmatch(rf"{re.escape(version.name)}\.\d+-\d{{8}}", release) for release in releases)
    assert releases == sorted(releases, reverse=True), "the newest is not the first"
    assert version.add_ons["kube-proxy"].startswith(f"v{version.name}.")


@EACH_VERSION
def test_vpc_cni_knows_interfaces_for_efa_alone(version: facts.KubernetesVersion) -> None:
    numbers = version.add_ons["vpc-cni"].removeprefix("v").partition("-")[0].split(".")
    assert tuple(map(int, numbers)) >= FIRST_VPC_CNI_WITH_EFA_ONLY


@EACH_VERSION
def test_extended_support_is_the_year_after_standard_support(version: facts.KubernetesVersion) -> None:
    standard = version.standard_support_until
    assert version.extended_support_until == standard.replace(year=standard.year + 1)


def test_charts_and_images_are_pinned() -> None:
    assert set(facts.helm_charts()) == CHARTS
    for chart in facts.helm_charts().values():
        assert re.fullmatch(r"v?\d+\.\d+\.\d+", chart.version), chart.name
        assert chart.repository.startswith(("https://", "oci://")), chart.name
        assert not chart.repository.startswith("oci://") or chart.repository.endswith(f"/{chart.chart}"), chart.name
    for image in facts.cluster_images().values():
        assert re.search(r":\d[\w.]*$|@sha256:[0-9a-f]{64}$", image.image), image.name


def test_every_instance_type_is_described_as_a_node() -> None:
    assert set(facts.kubernetes_nodes()) == set(facts.instance_types())


@EACH_TYPE
def test_a_node_has_less_than_its_machine(instance_type: str) -> None:
    machine, node = facts.instance_type(instance_type), facts.kubernetes_node(instance_type)
    assert 0.9 * machine.vcpus * 1000 < node.cpu_millicores < machine.vcpus * 1000
    assert 0.75 * machine.memory_gib * 1024 < node.memory_mib < 0.93 * machine.memory_gib * 1024


def reserved_millicores(vcpus: int) -> int:
    """What kubelet reserves by nodeadm's rule, in thousandths of each core from the first on."""
    ranges = ((0, 1, 60), (1, 2, 10), (2, 4, 5), (4, vcpus, 2.5))
    return int(sum(max(0, min(vcpus, last) - first) * share for first, last, share in ranges))


@EACH_TYPE
def test_cpu_agrees_with_the_rule_of_the_images(instance_type: str) -> None:
    machine, node = facts.instance_type(instance_type), facts.kubernetes_node(instance_type)
    assert machine.vcpus * 1000 - node.cpu_millicores == reserved_millicores(machine.vcpus)


@EACH_TYPE
def test_a_pod_for_the_whole_node_leaves_room_for_the_nodes_own(instance_type: str) -> None:
    node, pod = facts.kubernetes_node(instance_type), facts.pod_resources(instance_type)
    own = [row for row in facts.daemon_pods().values() if row.runs_on(instance_type)]
    assert pod.cpu_millicores + sum(row.cpu_millicores for row in own) == node.cpu_millicores
    assert pod.memory_mib + sum(row.memory_mib for row in own) == node.memory_mib
    assert pod.cpu_millicores > 0
    assert pod.memory_mib > 0


@pytest.mark.parametrize(
    ("instance_type", "plug_ins"),
    [
        ("m6i.2xlarge", set()),
        ("trn1.2xlarge", {"neuron-device-plugin", "neuron-monitor"}),
        ("trn1.32xlarge", {"neuron-device-plugin", "neuron-monitor", "aws-efa-k8s-device-plugin"}),
    ],
)
def test_device_plug_ins_run_where_the_devices_are(instance_type: str, plug_ins: set[str]) -> None:
    own = {row.name for row in facts.daemon_pods().values() if row.nodes != "all" and row.runs_on(instance_type)}
    assert own == plug_ins


@pytest.mark.parametrize(
    "look_up", [facts.kubernetes_version, facts.helm_chart, facts.cluster_image, facts.kubernetes_node]
)
def test_an_unknown_key_is_refused(look_up: Callable[[str], object]) -> None:
    with pytest.raises(facts.UnknownFact, match="nonesuch"):
        look_up("nonesuch")
