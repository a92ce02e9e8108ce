"""The MPI operator, for training that mpirun starts: its resource definition, its rights, its deployment."""

from neuron_constructs.kubernetes.names import NAMESPACE
from neuron_constructs.kubernetes.software.manifest import (
    Manifest,
    bound_role,
    cluster_object,
    namespaced_object,
    rule,
    service_account,
)
from neuron_constructs.kubernetes.software.mpi_job_definition import mpi_job_definition
from neuron_constructs.kubernetes.software.pods import container_security, single_pod_deployment
from slipway import facts

_NAME = "mpi-operator"
_API = "rbac.authorization.k8s.io/v1"
_NONROOT = 65532
_ACCOUNT = service_account(_NAME, _NAME)

# What pkg/controller/mpi_job_controller.go calls, and what its caches list and watch (kubeflow/mpi-operator @caa3c47,
# v0.8.2); upstream's role holds for all namespaces and allows more.
_RULES = [
    rule("kubeflow.org", ["mpijobs"], ["list", "watch"]),
    rule("kubeflow.org", ["mpijobs/status", "mpijobs/finalizers"], ["update"]),
    rule("", ["configmaps", "secrets", "services"], ["create", "update", "list", "watch"]),
    rule("", ["pods"], ["create", "delete", "list", "watch"]),
    rule("batch", ["jobs"], ["create", "update", "list", "watch"]),
    rule("batch", ["jobs/status"], ["update"]),
    rule("", ["events"], ["create", "patch"]),
]
_LEADER_RULES = [
    rule("coordination.k8s.io", ["leases"], ["create", "get", "update"]),
    rule("", ["events"], ["create", "patch"]),
]


def mpi_operator_base(kubernetes_version: str) -> list[Manifest]:
    """Return what the operator needs before it starts: its resource definition, its namespace, rights outside of jobs.

    It has a namespace of its own: whoever may start pods beside it could take its rights.

    Args:
        kubernetes_version: version whose Pod Security Standards hold.
    """
    standard = "pod-security.kubernetes.io"
    labels = {f"{standard}/enforce": "restricted", f"{standard}/enforce-version": f"v{kubernetes_version}"}
    return [
        mpi_job_definition(),
        cluster_object("v1", "Namespace", _NAME, labels=labels),
        namespaced_object("v1", "ServiceAccount", _NAME, namespace=_NAME),
        *bound_role(_NAME, _LEADER_RULES, namespace=_NAME, subject=_ACCOUNT),
        *_right_to_read_priorities(),
    ]


def mpi_operator() -> list[Manifest]:
    """Return the operator, which looks after MPI jobs in the namespace of the jobs only, and its rights there.

    Raises:
        slipway.facts.UnknownFact: the facts have no image of the operator.
    """
    return [*bound_role(_NAME, _RULES, namespace=NAMESPACE, subject=_ACCOUNT), _deployment()]


def _right_to_read_priorities() -> list[Manifest]:
    """Return the only right beyond the two namespaces: it ends itself when it cannot list priority classes."""
    rules = [rule("scheduling.k8s.io", ["priorityclasses"], ["list", "watch"])]
    return [
        cluster_object(_API, "ClusterRole", _NAME, rules=rules),
        cluster_object(
            _API,
            "ClusterRoleBinding",
            _NAME,
            roleRef={"apiGroup": "rbac.authorization.k8s.io", "kind": "ClusterRole", "name": _NAME},
            subjects=[_ACCOUNT],
        ),
    ]


def _deployment() -> Manifest:
    container = {
        "name": _NAME,
        "image": facts.cluster_image(_NAME).image,
        "args": [f"--namespace={NAMESPACE}", f"--lock-namespace={_NAME}"],
        "ports": [{"name": "health", "containerPort": 8080}],
        "livenessProbe": {"httpGet": {"path": "/healthz", "port": "health"}, "periodSeconds": 20},
        "resources": {"requests": {"cpu": "100m", "memory": "128Mi"}, "limits": {"memory": "256Mi"}},
        "securityContext": container_security(_NONROOT),
    }
    return single_pod_deployment(
        _NAME, {"serviceAccountName": _NAME, "containers": [container]}, annotations={}, namespace=_NAME
    )
