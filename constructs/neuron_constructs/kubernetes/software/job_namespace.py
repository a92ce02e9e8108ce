"""The namespace of the jobs: what its pods may be and reach, and what the jobs' service account may do."""

from neuron_constructs.kubernetes.names import ENVIRONMENT_CONFIG_MAP, JOBS_SERVICE_ACCOUNT, NAMESPACE
from neuron_constructs.kubernetes.software.manifest import (
    Manifest,
    bound_role,
    cluster_object,
    namespaced_object,
    rule,
)

_INSTANCE_METADATA = "169.254.169.254/32"


def job_namespace(kubernetes_version: str) -> list[Manifest]:
    """Return the namespace with its network policy and default rights.

    Pods of jobs and TensorBoard keep the restricted standard, which is audited. What is enforced is the baseline:
    the container of the shell that makes the directories of all users is root.

    Args:
        kubernetes_version: version whose Pod Security Standards hold, so that an upgrade of the cluster stops no job.
    """
    standard = "pod-security.kubernetes.io"
    return [
        cluster_object(
            "v1",
            "Namespace",
            NAMESPACE,
            labels={
                f"{standard}/enforce": "baseline",
                f"{standard}/enforce-version": f"v{kubernetes_version}",
                f"{standard}/audit": "restricted",
                f"{standard}/audit-version": f"v{kubernetes_version}",
            },
        ),
        _network_policy(),
    ]


def _network_policy() -> Manifest:
    """Return the policy of all pods: the namespace's own pods may reach them, and they everything but the node's role.

    Amazon VPC CNI enforces it. The agent of EKS Pod Identity, 169.254.170.23, stays within reach.
    """
    return namespaced_object(
        "networking.k8s.io/v1",
        "NetworkPolicy",
        "jobs",
        spec={
            "podSelector": {},
            "policyTypes": ["Ingress", "Egress"],
            "ingress": [{"from": [{"podSelector": {}}]}],
            "egress": [{"to": [{"ipBlock": {"cidr": "0.0.0.0/0", "except": [_INSTANCE_METADATA]}}]}],
        },
    )


def job_rights(*, mpi: bool, queues: bool) -> list[Manifest]:
    """Return the service account of the jobs and of the shell, and what it may do in the namespace.

    That is what the job kit does (assets/jobs/slipway_jobs/kubernetes), and no more.

    Args:
        mpi: whether it starts training as MPI jobs.
        queues: whether it looks at the queue.
    """
    rules = [
        rule("jobset.x-k8s.io", ["jobsets"], ["create", "delete", "get", "list"]),
        rule("", ["pods"], ["list", "delete"] if mpi else ["list"]),
        *([rule("kubeflow.org", ["mpijobs"], ["create", "delete", "get"])] if mpi else []),
        *([rule("kueue.x-k8s.io", ["workloads"], ["list"])] if queues else []),
    ]
    account = namespaced_object("v1", "ServiceAccount", JOBS_SERVICE_ACCOUNT, automountServiceAccountToken=False)
    return [account, *bound_role(JOBS_SERVICE_ACCOUNT, rules, namespace=NAMESPACE, account_namespace=NAMESPACE)]


def environment_config_map(environment: str) -> Manifest:
    """Return the config map that tells the job kit of its environment.

    Args:
        environment: the environment as JSON.
    """
    return namespaced_object("v1", "ConfigMap", ENVIRONMENT_CONFIG_MAP, data={"environment.json": environment})
