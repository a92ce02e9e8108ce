"""The pods of a run: a container of the training image as the namespace's user, with /fsx and the node's own disk."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from slipway_jobs.chain.scripts import CACHE_SECONDS, OTHER_STAGES_HOURS, START_SECONDS, grace_seconds, time_limit_hours
from slipway_jobs.environment import Environment, Kubernetes
from slipway_jobs.kubernetes.manifests.names import CONTAINER, RUN_LABEL, STAGE_LABEL, SUBMISSION_LABEL
from slipway_jobs.kubernetes.manifests.placement import Placement
from slipway_jobs.run import Run

IMAGE_USER = 1000
"""User and group id of `slipway` in the training image, the only one that it knows by name."""

FSX_DIRECTORY = "/fsx"
"""Where pods have the training file system."""

KEPT_SECONDS = 7 * 24 * 3600
"""How long a finished JobSet or MPIJob stays to be looked at; what it did stays in the run's folder."""


@dataclass(frozen=True, kw_only=True)
class Pod:
    """What differs between the pods of a run."""

    stage: str
    """The stage, for the label."""

    command: Sequence[str]
    """What its container executes."""

    placement: Placement
    """Where it runs."""

    grace_seconds: int
    """How long it has after SIGTERM."""

    deadline_seconds: int | None
    """How long it may run once it is on a node; none for ever."""

    environment: Mapping[str, str | Mapping[str, Any]]
    """Its environment variables; a mapping is what Kubernetes has for `fieldRef`."""

    api_token: bool = False
    """Whether it talks to the cluster's API."""

    container: Mapping[str, Any] | None = None
    """More fields of the container."""


def labels(run: Run, submission: str) -> dict[str, str]:
    """Return the labels of all objects of a submission."""
    return {RUN_LABEL: run.name, SUBMISSION_LABEL: submission}


def worker_grace_seconds(run: Run, environment: Environment) -> int:
    """Return how long a pod that trains has after SIGTERM.

    As long as the work has to end by itself and when it does not, to copy the compile cache, and to write it all down.
    """
    return grace_seconds(run, environment) + 30 + CACHE_SECONDS + 30 + 60


def worker_deadline_seconds(run: Run, environment: Environment) -> int:
    """Return how long a pod that trains may run: its own time limits, and what it waits and stops for.

    A backstop, should its own timer fail. It is the pod's and not its job's, whose time begins before there are nodes.
    """
    hours = OTHER_STAGES_HOURS + time_limit_hours(run, "train")
    return hours * 3600 + START_SECONDS + worker_grace_seconds(run, environment)


def field(path: str) -> dict[str, str]:
    """Return where Kubernetes has a variable's value: a field of the pod itself."""
    return {"fieldPath": path}


def pod_template(run: Run, environment: Environment, pod: Pod, submission: str) -> dict[str, Any]:
    """Return a pod template."""
    return {
        "metadata": {
            "labels": labels(run, submission) | {STAGE_LABEL: pod.stage},
            # It would begin anew on another node, only for the autoscaler to save this one.
            "annotations": {"cluster-autoscaler.kubernetes.io/safe-to-evict": "false"},
        },
        "spec": pod_spec(run, environment, pod),
    }


def pod_spec(run: Run, environment: Environment, pod: Pod) -> dict[str, Any]:
    """Return what a pod is; it satisfies the Pod Security Standard `restricted`."""
    kubernetes = environment.kubernetes
    assert kubernetes is not None
    spec: dict[str, Any] = {
        "restartPolicy": "Never",
        "serviceAccountName": kubernetes.publisher_service_account
        if pod.stage == "publish"
        else kubernetes.service_account,
        "automountServiceAccountToken": pod.api_token,
        # Each service of the namespace would become environment variables.
        "enableServiceLinks": False,
        "terminationGracePeriodSeconds": pod.grace_seconds,
        "nodeSelector": pod.placement.node_selector(),
        "tolerations": pod.placement.tolerations(),
        # No fsGroup: it would change the group of each file on /fsx.
        "securityContext": {
            "runAsNonRoot": True,
            "runAsUser": kubernetes.user_id,
            "runAsGroup": kubernetes.user_id,
            "seccompProfile": {"type": "RuntimeDefault"},
        },
        "containers": [_container(run, kubernetes, pod)],
        "volumes": [
            {"name": "fsx", "persistentVolumeClaim": {"claimName": kubernetes.volume_claim}},
            {"name": "scratch", "emptyDir": {}},
            # Workers hand data to each other there; a container's own has 64 MiB.
            {"name": "shm", "emptyDir": {"medium": "Memory"}},
        ],
    }
    if pod.deadline_seconds is not None:
        spec["activeDeadlineSeconds"] = pod.deadline_seconds
    return spec


def _container(run: Run, kubernetes: Kubernetes, pod: Pod) -> dict[str, Any]:
    variables = dict(pod.environment)
    if kubernetes.user_id != IMAGE_USER:
        # A user without an entry in the image's /etc/passwd: libraries ask for a home and a name.
        variables |= {"HOME": run.scratch_directory, "LOGNAME": kubernetes.namespace}
    return {
        "name": CONTAINER,
        "image": kubernetes.image,
        # A tag never changes its content.
        "imagePullPolicy": "IfNotPresent",
        "command": list(pod.command),
        "workingDir": run.directory,
        "env": [_variable(name, value) for name, value in variables.items()],
        "resources": {"requests": dict(pod.placement.resources), "limits": dict(pod.placement.resources)},
        "securityContext": {"allowPrivilegeEscalation": False, "capabilities": {"drop": ["ALL"]}},
        "volumeMounts": [
            {"name": "fsx", "mountPath": FSX_DIRECTORY},
            {"name": "scratch", "mountPath": run.scratch_directory},
            {"name": "shm", "mountPath": "/dev/shm"},
        ],
        **(pod.container or {}),
    }


def _variable(name: str, value: str | Mapping[str, Any]) -> dict[str, Any]:
    if isinstance(value, str):
        return {"name": name, "value": value}
    return {"name": name, "valueFrom": {"fieldRef": dict(value)}}
