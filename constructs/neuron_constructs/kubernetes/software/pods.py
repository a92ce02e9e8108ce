"""What the pods beside the jobs have in common: the shell, TensorBoard, and the one that makes directories."""

from collections.abc import Sequence

from neuron_constructs.kubernetes.names import ENVIRONMENT_CONFIG_MAP, FSX_CLAIM, FSX_DIRECTORY
from neuron_constructs.kubernetes.software.manifest import Manifest, namespaced_object

ENVIRONMENT_DIRECTORY = "/etc/slipway"
"""Where the config map is mounted."""

FSX_VOLUME: Manifest = {"name": "fsx", "persistentVolumeClaim": {"claimName": FSX_CLAIM}}
"""The training file system."""

FSX_MOUNT: Manifest = {"name": "fsx", "mountPath": FSX_DIRECTORY}
"""Where containers have it."""

ENVIRONMENT_VOLUME: Manifest = {"name": "environment", "configMap": {"name": ENVIRONMENT_CONFIG_MAP}}
"""The environment as the job kit reads it."""

TEMPORARY_VOLUME: Manifest = {"name": "tmp", "emptyDir": {"sizeLimit": "1Gi"}}
"""A directory of the pod's own."""


def container_security(user: int, *, writable: bool = False, capabilities: Sequence[str] = ()) -> Manifest:
    """Return the security context of a container.

    Args:
        user: user and group id.
        writable: whether it may write outside of its volumes.
        capabilities: those that it has.
    """
    return {
        "runAsUser": user,
        "runAsGroup": user,
        "runAsNonRoot": user != 0,
        "allowPrivilegeEscalation": False,
        "readOnlyRootFilesystem": not writable,
        "capabilities": {"drop": ["ALL"], **({"add": list(capabilities)} if capabilities else {})},
        "seccompProfile": {"type": "RuntimeDefault"},
    }


def single_pod_deployment(name: str, pod: Manifest, *, namespace: str, annotations: dict[str, str]) -> Manifest:
    """Return a deployment of one pod, whose label `app` is its name; a new pod starts when the old one is gone.

    Args:
        name: its name.
        pod: the pod's spec.
        namespace: its namespace.
        annotations: the pod's annotations.
    """
    labels = {"app": name}
    return namespaced_object(
        "apps/v1",
        "Deployment",
        name,
        namespace=namespace,
        labels=labels,
        spec={
            "replicas": 1,
            "strategy": {"type": "Recreate"},
            "selector": {"matchLabels": labels},
            "template": {"metadata": {"labels": labels, "annotations": annotations}, "spec": pod},
        },
    )
