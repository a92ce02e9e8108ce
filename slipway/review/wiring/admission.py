"""Admission policies of Kubernetes: their conditions can be true."""

from __future__ import annotations

import re
from collections.abc import Iterator

from slipway.review.wiring.kubernetes_objects import KubernetesObjects, finding
from slipway.review.wiring.registry import Finding, rule
from slipway.review.wiring.resources import Resources, rows

_COMPARED_TYPE = re.compile(r"spec\.type\s*[!=]=\s*'(\w+)'")
_SERVICE_TYPES = ("ClusterIP", "NodePort", "LoadBalancer", "ExternalName")


@rule(
    reason="The condition is true, or false, for every Service.",
    fix="Write ClusterIP, NodePort, LoadBalancer or ExternalName.",
    source="Kubernetes API reference 1.35, ServiceSpec, type",
)
def admission_policy_names_a_type_that_exists(resources: Resources) -> Iterator[Finding]:
    """An admission policy for Services compares `spec.type` with a type of Services."""
    for policy in KubernetesObjects(resources).of_kind("ValidatingAdmissionPolicy"):
        is_for_services = "services" in str(policy.at("spec.matchConstraints"))
        for index, validation in enumerate(rows(policy.at("spec.validations"))):
            for name in _COMPARED_TYPE.findall(str(validation.get("expression"))):
                if is_for_services and name not in _SERVICE_TYPES:
                    yield finding(policy, f"spec.validations[{index}]", f"Services have no type {name}")
