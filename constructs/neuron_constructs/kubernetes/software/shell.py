"""The shell: a pod in which people start and watch jobs, by kubectl exec."""

from neuron_constructs.kubernetes.names import JOBS_SERVICE_ACCOUNT
from neuron_constructs.kubernetes.software.manifest import Manifest
from neuron_constructs.kubernetes.software.pods import (
    ENVIRONMENT_DIRECTORY,
    ENVIRONMENT_VOLUME,
    FSX_VOLUME,
    container_security,
    single_pod_deployment,
)

# As on the head node of a Slurm cluster (assets/cluster/job_kit.sh): whose directory it is keeps its mode.
_MAKE_DIRECTORIES = """\
set -eu
for directory in /fsx/runs /fsx/checkpoints /fsx/prepared; do
  if [ -L "$directory" ]; then
    echo "$directory is a link; jobs need a directory" >&2
    exit 1
  fi
  mkdir -p "$directory"
  if [ -O "$directory" ]; then
    chmod 1777 "$directory"
  else
    echo "WARNING: $directory belongs to another user and keeps its mode" >&2
  fi
done
"""


def shell(image: str) -> Manifest:
    """Return the deployment `shell`.

    Args:
        image: the training image, which holds the job kit.
    """
    mounts = [
        {"name": "fsx", "mountPath": "/fsx"},
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
            "initContainers": [_directories(image)],
            "containers": [
                {
                    "name": "shell",
                    "image": image,
                    "command": ["sleep", "infinity"],
                    "env": [{"name": "SLIPWAY_ENVIRONMENT", "value": f"{ENVIRONMENT_DIRECTORY}/environment.json"}],
                    "resources": {"requests": {"cpu": "500m", "memory": "1Gi"}, "limits": {"memory": "4Gi"}},
                    # People work in it: history, editors, files of an afternoon.
                    "securityContext": container_security(writable=True),
                    "volumeMounts": mounts,
                }
            ],
            "volumes": [FSX_VOLUME, ENVIRONMENT_VOLUME],
        },
        # Somebody may be at work in it.
        annotations={"cluster-autoscaler.kubernetes.io/safe-to-evict": "false"},
    )


def _directories(image: str) -> Manifest:
    """Return the container that makes the directories of all users.

    The file system's root belongs to root, which is why this one container is root, without any capability.
    """
    return {
        "name": "directories",
        "image": image,
        "command": ["/bin/bash", "-c", _MAKE_DIRECTORIES],
        "resources": {"requests": {"cpu": "50m", "memory": "64Mi"}, "limits": {"memory": "64Mi"}},
        "securityContext": container_security(user=0),
        "volumeMounts": [{"name": "fsx", "mountPath": "/fsx"}],
    }
