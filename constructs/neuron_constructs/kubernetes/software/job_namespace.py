"""A namespace of jobs: what its pods may be and reach, what the jobs' service account may do, and what its users."""

from neuron_constructs.kubernetes.names import (
    ENVIRONMENT_CONFIG_MAP,
    JOBS_SERVICE_ACCOUNT,
    PUBLISHER_SERVICE_ACCOUNT,
    USER_ID_LABEL,
)
from neuron_constructs.kubernetes.software.job_space import JobSpace
from neuron_constructs.kubernetes.software.manifest import (
    Manifest,
    bound_role,
    cluster_object,
    group,
    namespaced_object,
    rule,
    service_account,
)

_INSTANCE_METADATA = "169.254.169.254/32"


def job_namespace(space: JobSpace, kubernetes_version: str) -> list[Manifest]:
    """Return the namespace with its network policy.

    All its pods keep the restricted standard. Which user they are is no part of that: the admission policy
    `slipway-own-user` reads it from the label `slipway/user-id`.

    Args:
        space: the namespace.
        kubernetes_version: version whose Pod Security Standards hold, so that an upgrade of the cluster stops no job.
    """
    standard = "pod-security.kubernetes.io"
    return [
        cluster_object(
            "v1",
            "Namespace",
            space.namespace,
            labels={
                f"{standard}/enforce": "restricted",
                f"{standard}/enforce-version": f"v{kubernetes_version}",
                USER_ID_LABEL: str(space.user_id),
            },
        ),
        _network_policy(space),
    ]


def _network_policy(space: JobSpace) -> Manifest:
    """Return the policy of all pods: the namespace's own pods may reach them, and they everything but the node's role.

    Amazon VPC CNI enforces it. The agent of EKS Pod Identity, 169.254.170.23, stays within reach.
    """
    return namespaced_object(
        "networking.k8s.io/v1",
        "NetworkPolicy",
        "jobs",
        namespace=space.namespace,
        spec={
            "podSelector": {},
            "policyTypes": ["Ingress", "Egress"],
            "ingress": [{"from": [{"podSelector": {}}]}],
            "egress": [{"to": [{"ipBlock": {"cidr": "0.0.0.0/0", "except": [_INSTANCE_METADATA]}}]}],
        },
    )


def job_rights(space: JobSpace, *, mpi: bool, queues: bool) -> list[Manifest]:
    """Return the service account of the jobs and of the shell, what it may do in the namespace, and the publisher's.

    The publisher's may do nothing there. The other may do what the job kit does (assets/jobs/slipway_jobs/kubernetes),
    and no more.

    Args:
        space: the namespace.
        mpi: whether it starts training as MPI jobs.
        queues: whether it looks at the queue.
    """
    rules = [
        rule("jobset.x-k8s.io", ["jobsets"], ["create", "delete", "get", "list"]),
        rule("", ["pods"], ["list", "delete"] if mpi else ["list"]),
        *([rule("kubeflow.org", ["mpijobs"], ["create", "delete", "get"])] if mpi else []),
        *([rule("kueue.x-k8s.io", ["workloads"], ["list"])] if queues else []),
    ]
    account = service_account(JOBS_SERVICE_ACCOUNT, space.namespace)
    return [
        *(
            namespaced_object(
                "v1", "ServiceAccount", name, namespace=space.namespace, automountServiceAccountToken=False
            )
            for name in (JOBS_SERVICE_ACCOUNT, PUBLISHER_SERVICE_ACCOUNT)
        ),
        *bound_role(JOBS_SERVICE_ACCOUNT, rules, namespace=space.namespace, subject=account),
    ]


def user_rights(space: JobSpace, *, mpi: bool, queues: bool) -> list[Manifest]:
    """Return what the namespace's users may do: look at everything of a run, and use the shell and TensorBoard.

    They start and cancel runs in the shell, with the rights of its service account. They cannot read a secret, change
    the job kit's environment, or make a pod other than the job kit's service account can.

    Args:
        space: the namespace.
        mpi: whether training starts as MPI jobs.
        queues: whether runs wait in a queue.
    """
    look = ["get", "list", "watch"]
    # kubectl opens a web socket by GET, and Kubernetes 1.35 asks for `create` besides (KEP-4006).
    connect = ["create", "get"]
    rules = [
        rule("jobset.x-k8s.io", ["jobsets"], look),
        rule("batch", ["jobs"], look),
        rule("apps", ["deployments"], look),
        rule("", ["pods", "events", "services"], look),
        rule("", ["pods/log"], ["get"]),
        rule("", ["pods/exec", "pods/portforward"], connect),
        *([rule("kubeflow.org", ["mpijobs"], look)] if mpi else []),
        *([rule("kueue.x-k8s.io", ["workloads", "localqueues"], look)] if queues else []),
    ]
    return bound_role("users", rules, namespace=space.namespace, subject=group(space.namespace))


def environment_config_map(space: JobSpace, environment: str) -> Manifest:
    """Return the config map that tells the job kit of its environment.

    Args:
        space: the namespace.
        environment: the environment as JSON.
    """
    return namespaced_object(
        "v1",
        "ConfigMap",
        ENVIRONMENT_CONFIG_MAP,
        namespace=space.namespace,
        data={"environment.json": environment},
    )
