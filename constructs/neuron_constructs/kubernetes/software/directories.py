"""The pod that makes the directories on /fsx. It runs as root, in a namespace where no user may do anything."""

from collections.abc import Sequence
from pathlib import PurePosixPath

from neuron_constructs.kubernetes.names import CHECKPOINTS_DIRECTORY, FSX_DIRECTORY, RUNS_DIRECTORY
from neuron_constructs.kubernetes.software.job_space import JobSpace
from neuron_constructs.kubernetes.software.manifest import Manifest, cluster_object, namespaced_object
from neuron_constructs.kubernetes.software.pods import (
    FSX_MOUNT,
    FSX_VOLUME,
    container_security,
    single_pod_deployment,
)
from neuron_constructs.kubernetes.software.volume import LustreVolume, volume_and_claim

NAMESPACE = "fsx-directories"
"""Its namespace. A team's begins with `slipway-`."""

_NOBODY = 65534

# As on the head node of a Slurm cluster (assets/cluster/job_kit.sh): whose directory it is keeps its mode.
_MAKE_DIRECTORIES = """\
set -eu
while [ $# -gt 0 ]; do
  owner="$1" mode="$2" directory="$3"
  shift 3
  if [ -L "$directory" ]; then
    echo "$directory is a link; jobs need a directory" >&2
    exit 1
  fi
  mkdir -p "$directory"
  if [ -O "$directory" ]; then
    chmod "$mode" "$directory"
    chown "$owner:$owner" "$directory"
  elif [ "$mode" = 1777 ]; then
    echo "WARNING: $directory belongs to another user and keeps its mode" >&2
  elif [ "$(stat --format %u "$directory")" != "$owner" ]; then
    echo "$directory belongs to another user than $owner: remove it, or give it to $owner" >&2
    exit 1
  fi
done
"""


def directories(
    spaces: Sequence[JobSpace], volume: LustreVolume, image: str, kubernetes_version: str
) -> list[Manifest]:
    """Return the namespace `fsx-directories` with the deployment `directories`, which makes them when it starts.

    Args:
        spaces: whose directories it makes.
        volume: the training file system.
        image: the training image, for its shell.
        kubernetes_version: version whose Pod Security Standards hold.
    """
    standard = "pod-security.kubernetes.io"
    labels = {f"{standard}/enforce": "baseline", f"{standard}/enforce-version": f"v{kubernetes_version}"}
    resources = {"requests": {"cpu": "10m", "memory": "32Mi"}, "limits": {"memory": "64Mi"}}
    maker = {
        "name": "directories",
        "image": image,
        "command": ["/bin/bash", "-c", _MAKE_DIRECTORIES, "directories", *_wanted(spaces)],
        "resources": resources,
        # The file system's root belongs to root.
        "securityContext": container_security(0, capabilities=["CHOWN"]),
        "volumeMounts": [FSX_MOUNT],
    }
    # A deployment and no job: kubectl apply cannot change the pods of a job.
    waiter = {
        "name": "done",
        "image": image,
        "command": ["sleep", "infinity"],
        "resources": resources,
        "securityContext": container_security(_NOBODY),
    }
    pod = {
        "automountServiceAccountToken": False,
        "enableServiceLinks": False,
        "terminationGracePeriodSeconds": 5,
        "initContainers": [maker],
        "containers": [waiter],
        "volumes": [FSX_VOLUME],
    }
    return [
        cluster_object("v1", "Namespace", NAMESPACE, labels=labels),
        *volume_and_claim(volume, NAMESPACE),
        namespaced_object(
            "networking.k8s.io/v1",
            "NetworkPolicy",
            "nothing",
            namespace=NAMESPACE,
            spec={"podSelector": {}, "policyTypes": ["Ingress", "Egress"]},
        ),
        single_pod_deployment(
            "directories",
            pod,
            namespace=NAMESPACE,
            annotations={"cluster-autoscaler.kubernetes.io/safe-to-evict": "true"},
        ),
    ]


def _wanted(spaces: Sequence[JobSpace]) -> list[str]:
    """Return owner, mode and path of each directory, one after the other, parents first."""
    shared = [RUNS_DIRECTORY, CHECKPOINTS_DIRECTORY, f"{FSX_DIRECTORY}/prepared", f"{FSX_DIRECTORY}/data"]
    private = [(space.user_id, path) for space in spaces for path in space.private_directories]
    parents = dict.fromkeys(str(PurePosixPath(path).parent) for _, path in private)
    wanted = [
        *((0, "1777", path) for path in shared),
        *((0, "0755", path) for path in parents),
        *((owner, "0700", path) for owner, path in private),
    ]
    return [str(word) for directory in wanted for word in directory]
