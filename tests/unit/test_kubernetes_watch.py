"""What is watched of a Kubernetes cluster: metrics that are really sent, alarms that say what to do."""

import json
import re
import tarfile
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import aws_cdk as cdk
import pytest
from aws_cdk import assertions
from aws_cdk import aws_sns as sns

from neuron_constructs.operations.compute_fleet import watch_compute_fleet
from neuron_constructs.operations.head_node import watch_head_node
from neuron_constructs.operations.kubernetes_cluster import watch_kubernetes_cluster
from neuron_constructs.operations.kubernetes_neuron_devices import watch_kubernetes_neuron_devices
from neuron_constructs.operations.neuron_devices import watch_neuron_devices
from neuron_constructs.operations.watch import Watch

CLUSTER = "slipway-test-kubernetes"
CORE_NODES = 2

OF_THE_CLUSTER = {
    *("cluster_node_count", "cluster_failed_node_count", "cluster_number_of_running_pods"),
    *("node_cpu_utilization", "node_memory_utilization", "node_filesystem_utilization"),
    "pod_container_status_waiting_reason_crash_loop_back_off",
    "pod_container_status_waiting_reason_image_pull_error",
    *("node_neuron_execution_errors_total", "node_neurondevice_hw_ecc_events_total"),
    *("node_efa_rdma_read_bytes", "node_efa_rdma_write_bytes", "node_efa_rx_bytes", "node_efa_tx_bytes"),
    *("node_efa_rx_dropped", "node_efa_retrans_timeout_events", "node_efa_unresponsive_remote_events"),
}
"""Metrics that aws/amazon-cloudwatch-agent 1.300067 declares with the one dimension ClusterName, among others."""

OF_EACH_NODE = {"node_neuroncore_utilization", "node_neuroncore_memory_usage_total"}
"""Those that it declares with exactly ClusterName, InstanceId and NodeName (both lists: its file
translator/translate/otel/exporter/awsemf/kubernetes.go)."""


@pytest.fixture(scope="module")
def template() -> Mapping[str, Any]:
    """The watch over a Kubernetes cluster beside a Slurm cluster, as in an environment with both."""
    app = cdk.App()
    stack = cdk.Stack(app, "operations", env=cdk.Environment(region="us-west-2"))
    Watch(
        stack,
        "Watch",
        parts=[
            watch_head_node("slurm", "i-0123456789abcdef0"),
            watch_compute_fleet("slurm", 10),
            watch_neuron_devices("slurm"),
            watch_kubernetes_cluster(CLUSTER, CORE_NODES),
            watch_kubernetes_neuron_devices(CLUSTER),
        ],
        topic=sns.Topic(stack, "Topic"),
    )
    found: Mapping[str, Any] = assertions.Template.from_stack(stack).to_json()
    return found


@pytest.fixture(scope="module")
def alarms(template: Mapping[str, Any]) -> Mapping[str, Any]:
    """The alarms of the Kubernetes cluster by name."""
    return {
        re.sub("^Watch|[0-9A-F]{8}$", "", logical_id): resource["Properties"]
        for logical_id, resource in template["Resources"].items()
        if resource["Type"] == "AWS::CloudWatch::Alarm" and logical_id.startswith("WatchKubernetes")
    }


@pytest.fixture(scope="module")
def dashboard(template: Mapping[str, Any]) -> str:
    """The dashboard's text, without the escapes of JSON in JSON."""
    (body,) = (
        resource["Properties"]["DashboardBody"]["Fn::Join"][1]
        for resource in template["Resources"].values()
        if resource["Type"] == "AWS::CloudWatch::Dashboard"
    )
    return "".join(part for part in body if isinstance(part, str)).replace('\\"', '"')


def lines(dashboard: str, namespace: str) -> dict[str, list[str]]:
    """Metric -> dimensions and values, of all lines of graphs of a namespace."""
    found = re.findall(rf'\["{namespace}","([A-Za-z0-9_]+)"((?:,"[^"]+")*)', dashboard)
    return {name: re.findall('"([^"]+)"', rest) for name, rest in found}


def test_every_metric_of_the_agent_is_one_that_it_sends(alarms: Mapping[str, Any], dashboard: str) -> None:
    alarmed = {alarm["MetricName"] for alarm in alarms.values() if alarm["Namespace"] == "ContainerInsights"}
    shown = lines(dashboard, "ContainerInsights")
    searched = re.findall(
        rf'{{ContainerInsights,([A-Za-z,]+)}} MetricName="([a-z_]+)" ClusterName="{CLUSTER}"', dashboard
    )

    assert alarmed | set(shown) == OF_THE_CLUSTER
    assert all(dimensions == ["ClusterName", CLUSTER] for dimensions in shown.values())
    assert {name for _, name in searched} == OF_EACH_NODE
    assert {dimensions for dimensions, _ in searched} == {"ClusterName,InstanceId,NodeName"}


def test_every_metric_of_eks_is_one_that_the_cdk_lists(alarms: Mapping[str, Any], dashboard: str) -> None:
    archive = next((Path(cdk.__file__).parent / "_jsii").glob("aws-cdk-lib@*.tgz"))
    with tarfile.open(archive) as package:
        listed_file = package.extractfile("package/aws-eks-v2/lib/eks-canned-metrics.generated.js")
        assert listed_file
        listed = set(re.findall('namespace:"AWS/EKS",metricName:"([A-Za-z0-9_]+)"', listed_file.read().decode()))
    shown = lines(dashboard, "AWS/EKS")
    used = {alarm["MetricName"] for alarm in alarms.values() if alarm["Namespace"] == "AWS/EKS"} | set(shown)

    assert len(used) == 3
    assert used <= listed
    assert all(dimensions == ["ClusterName", CLUSTER] for dimensions in shown.values())


def test_every_alarm_is_about_this_cluster_and_says_what_to_do(alarms: Mapping[str, Any]) -> None:
    assert set(alarms) == {
        "KubernetesNodesMissing",
        "KubernetesNodesFailed",
        "KubernetesPodsWithoutNode",
        "KubernetesPodsCrash",
        "KubernetesImagesNotPulled",
        "KubernetesNeuronErrors",
    }
    for alarm in alarms.values():
        assert alarm["Dimensions"] == [{"Name": "ClusterName", "Value": CLUSTER}]
        assert len(alarm["AlarmDescription"].split()) >= 8
        assert len(alarm["AlarmDescription"]) <= 1024


def test_only_missing_nodes_are_told_when_nothing_is_measured_any_more(alarms: Mapping[str, Any]) -> None:
    told = {name for name, alarm in alarms.items() if "InsufficientDataActions" in alarm}
    alarm = alarms["KubernetesNodesMissing"]

    assert told == {"KubernetesNodesMissing"}
    assert alarm["InsufficientDataActions"] == alarm["AlarmActions"]


def test_no_alarm_fires_before_the_first_measurement(alarms: Mapping[str, Any]) -> None:
    """In the first half hour of a cluster the CloudWatch agent has not counted nodes yet."""
    assert {alarm["TreatMissingData"] for alarm in alarms.values()} == {"missing", "notBreaching"}


def test_fewer_nodes_than_core_nodes_are_missing(alarms: Mapping[str, Any]) -> None:
    alarm = alarms["KubernetesNodesMissing"]

    assert (alarm["ComparisonOperator"], alarm["Threshold"]) == ("LessThanThreshold", CORE_NODES)


def test_a_node_may_take_an_hour_to_come_and_an_image_an_hour_to_be_built(alarms: Mapping[str, Any]) -> None:
    patience = {
        name: alarms[name]["EvaluationPeriods"] * alarms[name]["Period"]
        for name in ("KubernetesPodsWithoutNode", "KubernetesImagesNotPulled")
    }

    assert set(patience.values()) == {3600}


def test_counts_that_come_every_minute_are_not_added_up(dashboard: str) -> None:
    waiting = re.findall(r'"scheduler_pending_pods_UNSCHEDULABLE",[^\]]*(\{[^}]*\})', dashboard)

    assert waiting
    assert all(json.loads(line)["period"] == 60 for line in waiting)
