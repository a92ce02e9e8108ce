"""What the pods beside the jobs have in common: the shell and TensorBoard."""

from typing import Any

from neuron_constructs.kubernetes.names import ENVIRONMENT_CONFIG_MAP, FSX_CLAIM
from neuron_constructs.kubernetes.software.manifest import Manifest, namespaced_object

ENVIRONMENT_DIRECTORY = "/etc/slipway"
"""Where the config map is mounted."""

FSX_VOLUME: Manifest = {"name": "fsx", "persistentVolumeClaim": {"claimName": FSX_CLAIM}}
"""The training file system."""

ENVIRONMENT_VOLUME: Manifest = {"name": "environment", "configMap": {"name": ENVIRONMENT_CONFIG_MAP}}
"""The environment as the job kit reads it."""

TEMPORARY_VOLUME: Manifest = {"name": "tmp", "emptyDir": {"sizeLimit": "1Gi"}}
"""A directory of the pod's own."""

_USER = 1000


def container_security(*, user: int = _USER, writable: bool = False) -> Manifest:
    """Return the security context of a container without capabilities.

    Args:
        user: user and group id; the image's user by default.
        writable: whether it may write outside of its volumes.
    """
    return {
        "runAsUser": user,
        "runAsGroup": user,
        "runAsNonRoot": user != 0,
        "allowPrivilegeEscalation": False,
        "readOnlyRootFilesystem": not writable,
        "capabilities": {"drop": ["ALL"]},
        "seccompProfile": {"type": "RuntimeDefault"},
    }


def single_pod_deployment(name: str, pod: Manifest, *, annotations: dict[str, str], **metadata: Any) -> Manifest:
    """Return a deployment of one pod, whose label `app` is its name; a new pod starts when the old one is gone.

    Args:
        name: its name.
        pod: the pod's spec.
        annotations: the pod's annotations.
        metadata: `namespace`, where it is not that of the jobs.
    """
    labels = {"app": name}
    return namespaced_object(
        "apps/v1",
        "Deployment",
        name,
        **metadata,
        labels=labels,
        spec={
            "replicas": 1,
            "strategy": {"type": "Recreate"},
            "selector": {"matchLabels": labels},
            "template": {"metadata": {"labels": labels, "annotations": annotations}, "spec": pod},
        },
    )
