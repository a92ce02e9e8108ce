"""What the cluster's API refuses, whoever asks: things in the account that would outlive the cluster."""

from neuron_constructs.kubernetes.software.manifest import Manifest, cluster_object

_API = "admissionregistration.k8s.io/v1"


def admission_policies() -> list[Manifest]:
    """Return the policies with their bindings, which hold in every namespace.

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
    ]


def _refusal(name: str, resource: str, operations: list[str], allowed: str, message: str) -> list[Manifest]:
    """Return a policy and its binding: what is not `allowed` (a CEL expression) is refused with the message."""
    rules = [{"apiGroups": [""], "apiVersions": ["v1"], "operations": operations, "resources": [resource]}]
    return [
        cluster_object(
            _API,
            "ValidatingAdmissionPolicy",
            name,
            spec={
                "failurePolicy": "Fail",
                "matchConstraints": {"resourceRules": rules},
                "validations": [{"expression": allowed, "message": message}],
            },
        ),
        cluster_object(
            _API,
            "ValidatingAdmissionPolicyBinding",
            name,
            spec={"policyName": name, "validationActions": ["Deny"]},
        ),
    ]
