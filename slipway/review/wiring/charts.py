"""Helm charts and add-ons: their values fit the cluster that they go into."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping
from typing import Any

from slipway import facts
from slipway.review.changes.resources import Resource
from slipway.review.wiring.kubernetes_objects import CHART, MANIFEST, NODE_GROUP, KubernetesObjects
from slipway.review.wiring.nodes import instance_types_of, template_of
from slipway.review.wiring.pods import tolerates_all
from slipway.review.wiring.registry import Finding, about, rule
from slipway.review.wiring.resources import Resources, mapping, rows

_ADD_ON, _CLUSTER = "AWS::EKS::Addon", "AWS::EKS::Cluster"
_DURATION = re.compile(r"(\d+)([smh])")
_SECONDS = {"s": 1, "m": 60, "h": 3600}
_ON_THEIR_CLUSTER = ("aws-load-balancer-controller", "cluster-autoscaler", "karpenter")
_EFA_CHART, _NEURON_CHART = "aws-efa-k8s-device-plugin", "neuron-helm-chart"


def _values(resource: Resource) -> Mapping[str, Any]:
    """Return the values of a chart, or of an add-on; none where CloudFormation puts them together."""
    try:
        found = json.loads(str(resource.at("Values") or resource.at("ConfigurationValues")))
    except ValueError:
        return {}
    return found if isinstance(found, dict) else {}


def _leaves(value: Any, path: str = "") -> Iterator[tuple[str, Any]]:
    if isinstance(value, Mapping):
        for key, item in value.items():
            yield from _leaves(item, f"{path}.{key}".lstrip("."))
    else:
        yield path, value


@rule(
    reason="The chart looks for another cluster, or asks another Region's API: it works on nothing.",
    fix="Write the name of its cluster, and the Region of its stack.",
    source="kubernetes/autoscaler, cluster-autoscaler/charts/cluster-autoscaler/README.md, autoDiscovery and awsRegion",
)
def chart_is_for_its_cluster(resources: Resources) -> Iterator[Finding]:
    """The cluster's name and the Region in the values of a chart that works on its cluster are the own ones."""
    of_stack = {stack.name: stack.region for stack in resources.stacks}
    for chart in resources.of_type(CHART):
        if chart.at("Chart") not in _ON_THEIR_CLUSTER:
            continue
        cluster, own = resources.resource(chart.at("ClusterName"), _CLUSTER), of_stack[chart.stack]
        names = {str(chart.at("ClusterName")), str(cluster.at("Name")) if cluster else ""}
        for path, value in _leaves(_values(chart)):
            key = path.rpartition(".")[2]
            if key == "clusterName" and value not in names:
                yield about(chart, "Values", f"{path} is not the name of its cluster: {value}")
            if key in ("awsRegion", "region") and own in facts.regions() and value not in (own, "${AWS::Region}"):
                yield about(chart, "Values", f"{path} is {value}, and the stack is in {own}")


@rule(
    severity="warning",
    reason="An autoscaler simulates the scheduler of its own version: with another it starts nodes that do not help.",
    fix="Write an image of the cluster's minor version.",
    source="kubernetes/autoscaler, cluster-autoscaler/README.md, Releases",
)
def autoscaler_is_of_the_version(resources: Resources) -> Iterator[Finding]:
    """The image of the cluster autoscaler has the minor version of the cluster."""
    for chart in resources.of_type(CHART):
        cluster = resources.resource(chart.at("ClusterName"), _CLUSTER)
        version, image = (cluster.at("Version") if cluster else None), _values(chart).get("image")
        tag = image.get("tag") if isinstance(image, Mapping) else None
        if chart.at("Chart") == "cluster-autoscaler" and version and tag and not str(tag).startswith(f"v{version}."):
            yield about(chart, "Values", f"image.tag is {tag}, and the cluster has {version}")


@rule(
    reason="The pods of the chart get no credentials: they run as another account than the association is for.",
    fix="Write the same service account into the chart's values and the association.",
    source='Amazon EKS user guide, "Learn how EKS Pod Identity grants pods access to AWS services"',
)
def pod_identity_is_for_the_charts_account(resources: Resources) -> Iterator[Finding]:
    """An association for which no manifest has a service account is for one that a chart's values name."""
    found = KubernetesObjects(resources).of_kind("ServiceAccount")
    accounts = {(one.cluster, one.namespace, one.name) for one in found}
    for association in resources.of_type("AWS::EKS::PodIdentityAssociation"):
        home = tuple(str(association.at(part)) for part in ("ClusterName", "Namespace", "ServiceAccount"))
        charts = [
            chart
            for chart in resources.of_type(CHART)
            if (str(chart.at("ClusterName")), str(chart.at("Namespace"))) == home[:2]
        ]
        named = [
            str(value)
            for chart in charts
            for path, value in _leaves(_values(chart))
            if path.endswith(("serviceAccount.name", "serviceAccountName"))
        ]
        if home not in accounts and named and home[2] not in named:
            yield about(association, "ServiceAccount", f"charts in {home[1]} use {', '.join(named)}, not {home[2]}")


@rule(
    severity="warning",
    reason="Nodes offer no devices: pods that ask for them stay pending.",
    fix="Let the plugin's chart choose all these nodes and tolerate their taints.",
    source="aws/eks-charts, stable/aws-efa-k8s-device-plugin/values.yaml; AWS Neuron documentation, "
    '"Neuron Helm chart", neuronInstances',
)
def device_plugin_runs_on_its_nodes(resources: Resources) -> Iterator[Finding]:
    """The device plugins for Neuron and EFA are there, and run on all nodes with such devices."""
    for group in resources.of_type(NODE_GROUP):
        charts = [each for each in resources.of_type(CHART) if each.at("ClusterName") == group.at("ClusterName")]
        # A cluster whose software is elsewhere is not ours to judge.
        for name in (_NEURON_CHART, _EFA_CHART) if charts and _is_known(resources, group) else ():
            needs = _types_with_neuron(resources, group) if name == _NEURON_CHART else _has_efa(resources, group)
            own = [each for each in charts if each.at("Chart") == name]
            if needs and not own:
                yield about(group, "LaunchTemplate", f"no chart {name} offers pods the devices of its nodes")
            for chart in own if needs else ():
                yield from _left_out(chart, group, _types_with_neuron(resources, group))


def _is_known(resources: Resources, group: Resource) -> bool:
    return template_of(resources, group) is not None


def _types_with_neuron(resources: Resources, group: Resource) -> list[str]:
    known = facts.instance_types()
    return [each for each in instance_types_of(resources, group) if each in known and known[each].neuron_devices]


def _has_efa(resources: Resources, group: Resource) -> bool:
    template = template_of(resources, group)
    interfaces = rows(template.at("LaunchTemplateData.NetworkInterfaces")) if template else []
    return any(str(each.get("InterfaceType", "")).startswith("efa") for each in interfaces)


def _left_out(chart: Resource, group: Resource, types: list[str]) -> Iterator[Finding]:
    values = _values(chart)
    if chart.at("Chart") == _NEURON_CHART:
        named: list[Any] | None = values.get("neuronInstances")
        for name in types if named is not None else ():
            if name not in (named or ()):
                yield about(chart, "Values", f"neuronInstances lacks {name} of {group.logical_id}")
        if mapping(values.get("devicePlugin")).get("enabled") is False:
            yield about(chart, "Values", "devicePlugin is off")
        return
    labels = mapping(group.at("Labels"))
    chosen = mapping(values.get("supportedInstanceLabels"))
    wanted = [labels.get(key) for key in chosen.get("keys", [])]
    allowed: list[Any] = chosen.get("values", [])
    if wanted and not any(label in allowed for label in wanted):
        yield about(chart, "Values", f"supportedInstanceLabels leaves out {group.logical_id}")
    if "tolerations" in values and not tolerates_all(values["tolerations"], rows(group.at("Taints"))):
        yield about(chart, "Values", f"it does not tolerate the taints of {group.logical_id}")


@rule(
    severity="warning",
    reason="The policies of the manifests have no effect: every pod reaches every other.",
    fix='Write `enableNetworkPolicy: "true"` into the values of the add-on vpc-cni.',
    source='Amazon EKS user guide, "Limit Pod traffic with Kubernetes network policies"',
)
def network_policies_are_enforced(resources: Resources) -> Iterator[Finding]:
    """A cluster with network policies has a vpc-cni that enforces them."""
    with_policies = {each.cluster for each in KubernetesObjects(resources).of_kind("NetworkPolicy")}
    for add_on in resources.of_type(_ADD_ON):
        is_on = str(_values(add_on).get("enableNetworkPolicy")).lower() == "true"
        if add_on.at("AddonName") == "vpc-cni" and str(add_on.at("ClusterName")) in with_policies and not is_on:
            yield about(add_on, "ConfigurationValues", "it does not enforce the network policies of the manifests")


@rule(
    reason="The API server refuses objects of the whole cluster: the stack fails.",
    fix="Give the role that applies manifests AmazonEKSClusterAdminPolicy, for the whole cluster.",
    source='Amazon EKS user guide, "Review access policy permissions"',
)
def kubectl_is_an_administrator(resources: Resources) -> Iterator[Finding]:
    """If a cluster's creator is not its administrator, an access entry gives a function's role that access."""
    for cluster in resources.of_type(_CLUSTER):
        named = f"${{{cluster.key}}}"
        applied = any(each.at("ClusterName") == named for each in resources.of_type(MANIFEST, CHART))
        creator = cluster.at("AccessConfig.BootstrapClusterCreatorAdminPermissions")
        entries = [each for each in resources.of_type("AWS::EKS::AccessEntry") if each.at("ClusterName") == named]
        roles = [each for each in entries if resources.resource(each.at("PrincipalArn"), "AWS::IAM::Role")]
        if applied and creator is False and roles and not any(_is_admin(each) for each in roles):
            yield about(roles[0], "AccessPolicies", "no role of the stacks may apply objects of the whole cluster")


def _is_admin(entry: Resource) -> bool:
    return any(
        "AmazonEKSClusterAdminPolicy" in str(policy.get("PolicyArn"))
        and mapping(policy.get("AccessScope")).get("Type") == "cluster"
        for policy in rows(entry.at("AccessPolicies"))
    )


@rule(
    reason="EKS refuses the access entries: kubectl and the nodes have no access.",
    fix="Write `AuthenticationMode: API`.",
    source='Amazon EKS user guide, "Change authentication mode to use access entries"',
)
def cluster_takes_access_entries(resources: Resources) -> Iterator[Finding]:
    """A cluster with access entries takes them."""
    for entry in resources.of_type("AWS::EKS::AccessEntry"):
        cluster = resources.resource(entry.at("ClusterName"), _CLUSTER)
        if cluster and "API" not in str(cluster.at("AccessConfig.AuthenticationMode")):
            yield about(cluster, "AccessConfig.AuthenticationMode", f"{entry.logical_id} needs the mode API")


@rule(
    severity="warning",
    reason="Nodes that nobody uses run on for hours, and are billed.",
    fix="Write some minutes.",
    source="kubernetes/autoscaler, cluster-autoscaler/FAQ.md, scale-down-unneeded-time (10 minutes)",
)
def idle_nodes_end_soon(resources: Resources) -> Iterator[Finding]:
    """The autoscaler ends a node that nobody uses within an hour."""
    for chart in resources.of_type(CHART):
        for path, value in _leaves(_values(chart)):
            found = _DURATION.fullmatch(str(value)) if path.endswith("scale-down-unneeded-time") else None
            if found and int(found[1]) * _SECONDS[found[2]] > _SECONDS["h"]:
                yield about(chart, "Values", f"{path} is {value}")
