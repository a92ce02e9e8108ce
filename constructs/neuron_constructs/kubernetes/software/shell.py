"""The shell: a pod in which people start and watch jobs, by kubectl exec."""

from neuron_constructs.kubernetes.names import JOBS_SERVICE_ACCOUNT, USER_ID
from neuron_constructs.kubernetes.software.job_space import JobSpace
from neuron_constructs.kubernetes.software.manifest import Manifest
from neuron_constructs.kubernetes.software.pods import (
    ENVIRONMENT_DIRECTORY,
    ENVIRONMENT_VOLUME,
    FSX_MOUNT,
    FSX_VOLUME,
    container_security,
    single_pod_deployment,
)


def shell(space: JobSpace, image: str) -> Manifest:
    """Return the deployment `shell`.

    Args:
        space: whose jobs it starts.
        image: the training image, which holds the job kit.
    """
    mounts = [
        FSX_MOUNT,
        {"name": "environment", "mountPath": ENVIRONMENT_DIRECTORY, "readOnly": True},
    ]
    return single_pod_deployment(
        "shell",
        {
            "serviceAccountName": JOBS_SERVICE_ACCOUNT,
            # slipway-job talks to the cluster.
            "automountServiceAccountToken": True,
            # Each service of the namespace would become environment variables.
            "enableServiceLinks": False,
            # Nothing is lost with it, and sleep does not hear the signal.
            "terminationGracePeriodSeconds": 5,
            "containers": [
                {
                    "name": "shell",
                    "image": image,
                    "command": ["sleep", "infinity"],
                    "env": [{"name": name, "value": value} for name, value in _variables(space).items()],
                    "resources": {"requests": {"cpu": "500m", "memory": "1Gi"}, "limits": {"memory": "4Gi"}},
                    # People work in it: history, editors, files of an afternoon.
                    "securityContext": container_security(space.user_id, writable=True),
                    "volumeMounts": mounts,
                }
            ],
            "volumes": [FSX_VOLUME, ENVIRONMENT_VOLUME],
        },
        namespace=space.namespace,
        # Somebody may be at work in it.
        annotations={"cluster-autoscaler.kubernetes.io/safe-to-evict": "false"},
    )


def _variables(space: JobSpace) -> dict[str, str]:
    """Return the environment variables; the image knows its own user alone, and others need a home and a name."""
    variables = {"SLIPWAY_ENVIRONMENT": f"{ENVIRONMENT_DIRECTORY}/environment.json"}
    if space.user_id != USER_ID:
        variables |= {"HOME": "/tmp", "LOGNAME": space.namespace}
    return variables
