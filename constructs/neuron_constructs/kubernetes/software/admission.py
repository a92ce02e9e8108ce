"""What the cluster's API refuses, whoever asks: things that would outlive the cluster, and pods as another's user."""

from collections.abc import Mapping

from neuron_constructs.kubernetes.names import USER_ID_LABEL
from neuron_constructs.kubernetes.software.manifest import Manifest, cluster_object

_API = "admissionregistration.k8s.io/v1"
_POD = "object.spec.securityContext"


def admission_policies() -> list[Manifest]:
    """Return the policies with their bindings. Nobody who is no administrator can change them, or a namespace's label.

    Nothing of CloudFormation knows of a load balancer or a volume that Kubernetes made: its network interfaces would
    keep the VPC from being deleted, and it would be paid on.
    """
    return [
        *_refusal(
            "slipway-no-load-balancers",
            "services",
            ["CREATE", "UPDATE"],
            "object.spec.type != 'LoadBalancer'",
            "A service of type LoadBalancer makes a load balancer that outlives the cluster. Use kubectl port-forward.",
        ),
        *_refusal(
            "slipway-no-dynamic-volumes",
            "persistentvolumeclaims",
            # A claim cannot be changed to another volume.
            ["CREATE"],
            "has(object.spec.volumeName) && object.spec.volumeName != ''",
            "A claim without volumeName makes a volume that outlives the cluster. Use /fsx or an emptyDir.",
        ),
        *_own_user(),
    ]


def _own_user() -> list[Manifest]:
    """Return the policy that pods of a namespace with the label `slipway/user-id` are that user and group, always.

    The restricted standard refuses root and no other user, and /fsx tells people apart by user ids alone. The variables
    of CEL are those of https://kubernetes.io/docs/reference/access-authn-authz/validating-admission-policy/.
    """
    ids = ("runAsUser", "runAsGroup")
    own = " && ".join(
        f"(has(c.securityContext) && has(c.securityContext.{key}) ? c.securityContext.{key} : variables.{key})"
        " == variables.user"
        for key in ids
    )
    lists = ("containers", "initContainers", "ephemeralContainers")
    variables = {
        "user": f"int(namespaceObject.metadata.labels['{USER_ID_LABEL}'])",
        # What containers have that name none of their own; without it, the image would decide.
        **{key: f"has({_POD}) && has({_POD}.{key}) ? {_POD}.{key} : -1" for key in ids},
    }
    message = f"This namespace's pods are the user and group of its label {USER_ID_LABEL}, in all their containers."
    return [
        *_policy(
            "slipway-own-user",
            {
                "namespaceSelector": {"matchExpressions": [{"key": USER_ID_LABEL, "operator": "Exists"}]},
                "resourceRules": [
                    {
                        "apiGroups": [""],
                        "apiVersions": ["v1"],
                        "operations": ["CREATE", "UPDATE"],
                        "resources": ["pods", "pods/ephemeralcontainers"],
                    }
                ],
            },
            [
                *(f"!has(object.spec.{each}) || object.spec.{each}.all(c, {own})" for each in lists),
                f"!has({_POD}) || !has({_POD}.fsGroup) || {_POD}.fsGroup == variables.user",
                f"!has({_POD}) || !has({_POD}.supplementalGroups) || "
                f"{_POD}.supplementalGroups.all(g, g == variables.user)",
            ],
            message,
            variables,
        )
    ]


def _refusal(name: str, resource: str, operations: list[str], allowed: str, message: str) -> list[Manifest]:
    """Return a policy and its binding: what is not `allowed` (a CEL expression) is refused with the message."""
    rules = [{"apiGroups": [""], "apiVersions": ["v1"], "operations": operations, "resources": [resource]}]
    return _policy(name, {"resourceRules": rules}, [allowed], message)


def _policy(
    name: str, matches: Manifest, allowed: list[str], message: str, variables: Mapping[str, str] | None = None
) -> list[Manifest]:
    """Return a policy and its binding: what does not satisfy all expressions is refused with the message."""
    spec: Manifest = {
        "failurePolicy": "Fail",
        "matchConstraints": matches,
        "validations": [{"expression": expression, "message": message} for expression in allowed],
    }
    if variables:
        spec["variables"] = [{"name": key, "expression": expression} for key, expression in variables.items()]
    return [
        cluster_object(_API, "ValidatingAdmissionPolicy", name, spec=spec),
        cluster_object(
            _API,
            "ValidatingAdmissionPolicyBinding",
            name,
            spec={"policyName": name, "validationActions": ["Deny"]},
        ),
    ]
