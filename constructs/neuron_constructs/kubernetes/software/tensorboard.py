"""TensorBoard over all runs, reached by kubectl port-forward only."""

from neuron_constructs.kubernetes.software.job_space import JobSpace
from neuron_constructs.kubernetes.software.manifest import Manifest, namespaced_object
from neuron_constructs.kubernetes.software.pods import (
    FSX_MOUNT,
    FSX_VOLUME,
    TEMPORARY_VOLUME,
    container_security,
    single_pod_deployment,
)

_PORT = 6006


def tensorboard(space: JobSpace, image: str, training_stack: str) -> list[Manifest]:
    """Return the deployment and the service `tensorboard`.

    Args:
        space: whose runs it shows.
        image: the training image, whose training environment holds TensorBoard.
        training_stack: name of that environment.
    """
    pod = {
        "automountServiceAccountToken": False,
        "enableServiceLinks": False,
        "containers": [_container(space, image, training_stack)],
        "volumes": [FSX_VOLUME, TEMPORARY_VOLUME],
    }
    return [
        # It only reads, and can be anywhere.
        single_pod_deployment(
            "tensorboard",
            pod,
            namespace=space.namespace,
            annotations={"cluster-autoscaler.kubernetes.io/safe-to-evict": "true"},
        ),
        namespaced_object(
            "v1",
            "Service",
            "tensorboard",
            namespace=space.namespace,
            spec={
                "type": "ClusterIP",
                "selector": {"app": "tensorboard"},
                "ports": [{"name": "http", "port": _PORT, "targetPort": "http"}],
            },
        ),
    ]


def _container(space: JobSpace, image: str, training_stack: str) -> Manifest:
    return {
        "name": "tensorboard",
        "image": image,
        # The network policy keeps other namespaces away from the port.
        "command": [
            f"/apps/neuron/{training_stack}/bin/python",
            "-m",
            "tensorboard.main",
            f"--logdir={space.runs_directory}",
            "--bind_all",
            f"--port={_PORT}",
        ],
        "ports": [{"name": "http", "containerPort": _PORT}],
        "readinessProbe": {"httpGet": {"path": "/", "port": "http"}, "periodSeconds": 10, "timeoutSeconds": 5},
        "resources": {"requests": {"cpu": "250m", "memory": "512Mi"}, "limits": {"memory": "2Gi"}},
        "securityContext": container_security(space.user_id),
        "volumeMounts": [
            FSX_MOUNT | {"readOnly": True},
            {"name": "tmp", "mountPath": "/tmp"},
        ],
    }
