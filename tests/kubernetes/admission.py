"""What the API server of the cluster decides: its admission policies, by a CEL that is not ours, and its role bindings.

The expressions run in `common-expression-language`, which is Rust's CEL; the API server has Go's. What it hands to them
is in https://kubernetes.io/docs/reference/access-authn-authz/validating-admission-policy/. Rights add up, and nothing
takes one away: https://kubernetes.io/docs/reference/access-authn-authz/rbac/.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import cel

Object = Mapping[str, Any]
Right = tuple[str, str, str]
"""Verb, API group and resource."""


@dataclass(frozen=True)
class ApiServer:
    """An API server that has these objects."""

    objects: Sequence[Object]

    def namespace(self, name: str) -> Object:
        """Return a namespace."""
        (found,) = (each for each in self.of_kind("Namespace") if each["metadata"]["name"] == name)
        return found

    def of_kind(self, *kinds: str) -> list[Object]:
        """Return all objects of these kinds."""
        return [each for each in self.objects if each["kind"] in kinds]

    def refusals(self, pod: Object, namespace: str) -> list[str]:
        """Return the names of the policies that refuse to create a pod."""
        bound = {each["spec"]["policyName"] for each in self.of_kind("ValidatingAdmissionPolicyBinding")}
        return [
            policy["metadata"]["name"]
            for policy in self.of_kind("ValidatingAdmissionPolicy")
            if policy["metadata"]["name"] in bound
            and self._matches_pods(policy, namespace)
            and not self._satisfies(policy["spec"], pod, namespace)
        ]

    def rights(self, subject: Object) -> dict[str, set[Right]]:
        """Return what a subject may do, by namespace; in every namespace by the key `*`."""
        found: dict[str, set[Right]] = {}
        for binding in self.of_kind("RoleBinding", "ClusterRoleBinding"):
            if any(subject.items() <= one.items() for one in binding["subjects"]):
                where = binding["metadata"].get("namespace", "*")
                found.setdefault(where, set()).update(self._rules(binding["roleRef"], where))
        return found

    def _rules(self, reference: Object, namespace: str) -> Iterator[Right]:
        (role,) = (
            each
            for each in self.of_kind(reference["kind"])
            if each["metadata"]["name"] == reference["name"]
            and (reference["kind"] == "ClusterRole" or each["metadata"]["namespace"] == namespace)
        )
        for rule in role["rules"]:
            for group in rule["apiGroups"]:
                yield from ((verb, group, resource) for verb in rule["verbs"] for resource in rule["resources"])

    def _matches_pods(self, policy: Object, namespace: str) -> bool:
        matches = policy["spec"]["matchConstraints"]
        labels = self.namespace(namespace)["metadata"].get("labels", {})
        selected = matches.get("namespaceSelector", {}).get("matchExpressions", [])
        assert all(expression["operator"] == "Exists" for expression in selected)
        return all(expression["key"] in labels for expression in selected) and any(
            "pods" in rule["resources"] and "CREATE" in rule["operations"] for rule in matches["resourceRules"]
        )

    def _satisfies(self, spec: Object, pod: Object, namespace: str) -> bool:
        """An expression that fails refuses, too: `failurePolicy: Fail`."""
        assert spec["failurePolicy"] == "Fail"
        known: dict[str, Any] = {"object": pod, "namespaceObject": self.namespace(namespace)}
        variables: dict[str, Any] = {}
        try:
            for variable in spec.get("variables", []):
                variables[variable["name"]] = cel.evaluate(variable["expression"], known | {"variables": variables})
            known["variables"] = variables
            return all(cel.evaluate(each["expression"], known) for each in spec["validations"])
        except (KeyError, TypeError, ValueError, RuntimeError):
            return False
