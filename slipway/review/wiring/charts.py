"""Helm charts: their values fit the cluster that they are installed in."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from typing import Any

from slipway import facts
from slipway.review.changes.resources import Resource
from slipway.review.wiring.interfaces import efa_interfaces, launch_template
from slipway.review.wiring.kubernetes_objects import CHART, NODE_GROUP, KubernetesObjects
from slipway.review.wiring.nodes import known_types_of
from slipway.review.wiring.pods import tolerates_all
from slipway.review.wiring.registry import Finding, about, rule
from slipway.review.wiring.resources import Resources, mapping, rows

_ADD_ON, _CLUSTER = "AWS::EKS::Addon", "AWS::EKS::Cluster"
_ON_THEIR_CLUSTER = ("aws-load-balancer-controller", "cluster-autoscaler", "karpenter")
_MPI_JOBS, _MPI_FRAMEWORK = "mpijobs.kubeflow.org", "kubeflow.org/mpijob"
_EFA_CHART, _NEURON_CHART = (facts.helm_chart(name).chart for name in ("efa", "neuron"))


def chart_values(resource: Resource) -> Mapping[str, Any]:
    """Return the values of a chart or an add-on; an empty object if they are no JSON."""
    try:
        found = json.loads(str(resource.at("Values") or resource.at("ConfigurationValues")))
    except ValueError:
        return {}
    return found if isinstance(found, dict) else {}


def leaves(value: Any, path: str = "") -> Iterator[tuple[str, Any]]:
    """Yield the single values of a chart, each with its dotted path."""
    if isinstance(value, Mapping):
        for key, item in value.items():
            yield from leaves(item, f"{path}.{key}".lstrip("."))
    else:
        yield path, value


@rule(
    reason="The chart looks for another cluster, or calls the API of another Region, and has no effect.",
    fix="Write the name of the chart's cluster, and the Region of its stack.",
    source="kubernetes/autoscaler, cluster-autoscaler/charts/cluster-autoscaler/README.md, autoDiscovery and awsRegion",
)
def chart_is_for_its_cluster(resources: Resources) -> Iterator[Finding]:
    """The cluster name and the Region in a chart's values are those of its cluster."""
    for chart in resources.of_type(CHART):
        if chart.at("Chart") not in _ON_THEIR_CLUSTER:
            continue
        cluster, own = resources.resource(chart.at("ClusterName"), _CLUSTER), resources.region_of(chart)
        names = {str(chart.at("ClusterName")), str(cluster.at("Name")) if cluster else ""}
        for path, value in leaves(chart_values(chart)):
            key = path.rpartition(".")[2]
            if key == "clusterName" and value not in names:
                yield about(chart, "Values", f"{path} is not the name of its cluster: {value}")
            if key in ("awsRegion", "region") and own in facts.regions() and value not in (own, "${AWS::Region}"):
                yield about(chart, "Values", f"{path} is {value}, and the stack is in {own}")


@rule(
    severity="warning",
    reason="The autoscaler simulates the scheduler of its own version, and can start nodes that do not help.",
    fix="Write an image tag of the cluster's minor version.",
    source="kubernetes/autoscaler, cluster-autoscaler/README.md, Releases",
)
def autoscaler_is_of_the_version(resources: Resources) -> Iterator[Finding]:
    """The cluster autoscaler's image has the minor version of the cluster."""
    for chart in resources.of_type(CHART):
        cluster = resources.resource(chart.at("ClusterName"), _CLUSTER)
        version, image = (cluster.at("Version") if cluster else None), chart_values(chart).get("image")
        tag = image.get("tag") if isinstance(image, Mapping) else None
        if chart.at("Chart") == "cluster-autoscaler" and version and tag and not str(tag).startswith(f"v{version}."):
            yield about(chart, "Values", f"image.tag is {tag}, and the cluster has {version}")


@rule(
    reason="The chart's pods get no credentials: the association is for another service account.",
    fix="Write the same service account into the chart's values and the association.",
    source='Amazon EKS user guide, "Learn how EKS Pod Identity grants pods access to AWS services"',
)
def pod_identity_is_for_the_charts_account(resources: Resources) -> Iterator[Finding]:
    """A Pod Identity association without a ServiceAccount in the manifests is for one that a chart's values name."""
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
            for path, value in leaves(chart_values(chart))
            if path.endswith(("serviceAccount.name", "serviceAccountName"))
        ]
        if home not in accounts and named and home[2] not in named:
            yield about(association, "ServiceAccount", f"charts in {home[1]} use {', '.join(named)}, not {home[2]}")


@rule(
    severity="warning",
    reason="The nodes offer no devices: pods that request them stay pending.",
    fix="Let the chart select all these nodes and tolerate their taints.",
    source="aws/eks-charts, stable/aws-efa-k8s-device-plugin/values.yaml; AWS Neuron documentation, "
    '"Neuron Helm chart", neuronInstances',
)
def device_plugin_runs_on_its_nodes(resources: Resources) -> Iterator[Finding]:
    """The device plugins for Neuron and EFA are installed, and run on all nodes with such devices."""
    for group in resources.of_type(NODE_GROUP):
        charts = [each for each in resources.of_type(CHART) if each.at("ClusterName") == group.at("ClusterName")]
        template = launch_template(resources, group)
        neuron = [kind.name for kind in known_types_of(resources, group) if kind.neuron_devices]
        needs = {_NEURON_CHART: bool(neuron), _EFA_CHART: bool(efa_interfaces(template))}
        # Software of a cluster without charts is installed in another way.
        for name in [name for name, is_needed in needs.items() if is_needed and charts and template]:
            own = [each for each in charts if each.at("Chart") == name]
            if not own:
                yield about(
                    group, "LaunchTemplate", f"the chart {name}, which offers its devices to pods, is not installed"
                )
            for chart in own:
                yield from _left_out(chart, group, neuron)


def _left_out(chart: Resource, group: Resource, types: list[str]) -> Iterator[Finding]:
    values = chart_values(chart)
    if chart.at("Chart") == _NEURON_CHART:
        named: list[Any] | None = values.get("neuronInstances")
        for name in types if named is not None else ():
            if name not in (named or ()):
                yield about(chart, "Values", f"neuronInstances does not have {name} of {group.logical_id}")
        if mapping(values.get("devicePlugin")).get("enabled") is False:
            yield about(chart, "Values", "devicePlugin is off")
        return
    labels = mapping(group.at("Labels"))
    chosen = mapping(values.get("supportedInstanceLabels"))
    wanted = [labels.get(key) for key in chosen.get("keys", [])]
    allowed: list[Any] = chosen.get("values", [])
    if wanted and not any(label in allowed for label in wanted):
        yield about(chart, "Values", f"supportedInstanceLabels does not select {group.logical_id}")
    if "tolerations" in values and not tolerates_all(values["tolerations"], rows(group.at("Taints"))):
        yield about(chart, "Values", f"it does not tolerate the taints of {group.logical_id}")


@rule(
    severity="warning",
    reason="Kueue does not see these jobs: they start without a quota, and half-started jobs block each other.",
    fix="Write the kind into `integrations.frameworks` of Kueue's configuration.",
    source='Kueue documentation, "Run a MPIJob" and "Kueue Configuration API", Integrations',
)
def kueue_manages_the_jobs_of_the_operator(resources: Resources) -> Iterator[Finding]:
    """Kueue manages MPIJobs if the MPI Operator's resource definition is installed beside it."""
    for definition in KubernetesObjects(resources).of_kind("CustomResourceDefinition"):
        for chart in resources.of_type(CHART) if definition.name == _MPI_JOBS else ():
            configuration = mapping(chart_values(chart).get("managerConfig")).get("controllerManagerConfigYaml")
            is_beside = chart.at("ClusterName") == definition.cluster and configuration is not None
            if is_beside and _MPI_FRAMEWORK not in str(configuration):
                yield about(chart, "Values", f"integrations.frameworks does not have {_MPI_FRAMEWORK}")
