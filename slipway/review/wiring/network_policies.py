"""Network policies: what pods may reach, and what may reach them."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from ipaddress import ip_address, ip_network
from typing import Any

from slipway.review.wiring.charts import chart_values
from slipway.review.wiring.kubernetes_objects import KubernetesObject, KubernetesObjects, finding
from slipway.review.wiring.registry import Finding, about, rule
from slipway.review.wiring.resources import Resources, rows, texts

_METADATA_SERVICE, _POD_IDENTITY_AGENT = "169.254.169.254", "169.254.170.23"


@rule(
    severity="warning",
    reason="The pods behind the service accept no connections.",
    fix="Add an ingress rule for the clients of the service.",
    source='Kubernetes documentation, "Network Policies"',
)
def service_lets_somebody_in(resources: Resources) -> Iterator[Finding]:
    """If network policies select the pods of a service, at least one of them has an ingress rule."""
    objects = KubernetesObjects(resources)
    policies = _policies(objects, "Ingress")
    for service in objects.of_kind("Service"):
        wanted: Mapping[str, str] = service.at("spec.selector") or {}
        chosen = [
            policy
            for policy in policies
            if policy.home == service.home and _chooses(policy.at("spec.podSelector"), wanted)
        ]
        if wanted and chosen and not any(policy.at("spec.ingress") for policy in chosen):
            yield finding(chosen[0], "spec.ingress", f"no client may reach the pods of {service.title}")


def _chooses(selector: Any, labels: Mapping[str, str]) -> bool:
    wanted: Mapping[str, str] = (selector or {}).get("matchLabels", {})
    return wanted.items() <= labels.items()


def _policies(objects: KubernetesObjects, kind: str) -> list[KubernetesObject]:
    return [each for each in objects.of_kind("NetworkPolicy") if kind in texts(each.at("spec.policyTypes"))]


@rule(
    severity="warning",
    reason="A job can read the credentials of its node.",
    fix="Add 169.254.169.254/32 to `except`.",
    source='Amazon EKS user guide, "Restrict access to the instance profile assigned to the worker node"',
)
def pods_do_not_reach_the_metadata_service(resources: Resources) -> Iterator[Finding]:
    """No network policy allows pods to reach the instance metadata service."""
    objects = KubernetesObjects(resources)
    for policy in _policies(objects, "Egress"):
        if any(_holds(block, _METADATA_SERVICE) for block in _blocks(policy)):
            yield finding(policy, "spec.egress", f"pods may reach {_METADATA_SERVICE}")


@rule(
    reason="Pods get no AWS credentials.",
    fix="Allow egress to 169.254.170.23, port 80.",
    source='Amazon EKS user guide, "Learn how EKS Pod Identity grants pods access to AWS services"',
)
def pods_reach_their_credentials(resources: Resources) -> Iterator[Finding]:
    """Network policies of namespaces with Pod Identities allow pods to reach the Pod Identity agent."""
    objects = KubernetesObjects(resources)
    homes = {
        (str(each.at("ClusterName")), str(each.at("Namespace")))
        for each in resources.of_type("AWS::EKS::PodIdentityAssociation")
    }
    for home in homes:
        policies = [each for each in _policies(objects, "Egress") if each.home == home]
        blocks = [block for policy in policies for block in _blocks(policy)]
        everywhere = any("to" not in row for policy in policies for row in rows(policy.at("spec.egress")))
        if policies and not everywhere and not any(_holds(block, _POD_IDENTITY_AGENT) for block in blocks):
            yield finding(policies[0], "spec.egress", f"pods may not reach {_POD_IDENTITY_AGENT}")


def _blocks(policy: KubernetesObject) -> Iterator[Mapping[str, Any]]:
    for row in rows(policy.at("spec.egress")):
        for peer in rows(row.get("to")):
            if "ipBlock" in peer:
                yield peer["ipBlock"]


def _holds(block: Mapping[str, Any], address: str) -> bool:
    wanted = ip_address(address)
    try:
        inside = wanted in ip_network(block["cidr"])
        return inside and not any(wanted in ip_network(each) for each in texts(block.get("except")))
    except ValueError:
        return False


@rule(
    severity="warning",
    reason="Network policies have no effect: every pod can reach every other.",
    fix='Write `enableNetworkPolicy: "true"` into the values of the add-on vpc-cni.',
    source='Amazon EKS user guide, "Limit Pod traffic with Kubernetes network policies"',
)
def network_policies_are_enforced(resources: Resources) -> Iterator[Finding]:
    """The vpc-cni add-on of a cluster with network policies enforces them."""
    with_policies = {each.cluster for each in KubernetesObjects(resources).of_kind("NetworkPolicy")}
    for add_on in resources.of_type("AWS::EKS::Addon"):
        is_on = str(chart_values(add_on).get("enableNetworkPolicy")).lower() == "true"
        if add_on.at("AddonName") == "vpc-cni" and str(add_on.at("ClusterName")) in with_policies and not is_on:
            yield about(add_on, "ConfigurationValues", "it does not enforce network policies")
