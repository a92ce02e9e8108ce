"""The MPIJob of a run whose processes mpirun starts: workers that wait for a login, and a launcher that logs in.

Fields and their rules are those of the MPI operator 0.8.2 (kubeflow/mpi-operator, pkg/apis/kubeflow/v2beta1/types.go
and pkg/apis/kubeflow/validation). The operator makes the keys, the list of hosts, and starts the launcher when all
workers are ready.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from slipway_jobs.chain.scripts import SSH_PORT, node_script, script
from slipway_jobs.environment import Environment
from slipway_jobs.kubernetes.manifests.names import QUEUE_LABEL, job_set_name
from slipway_jobs.kubernetes.manifests.placement import watcher_placement, worker_placement
from slipway_jobs.kubernetes.manifests.pods import (
    KEPT_SECONDS,
    Pod,
    field,
    labels,
    pod_template,
    worker_deadline_seconds,
    worker_grace_seconds,
)
from slipway_jobs.run import WorkerRun

HOME = "/home/slipway"
"""Home of the user in the training image, which has the sshd's configuration."""


def mpi_job(
    run: WorkerRun, environment: Environment, owner: Mapping[str, Any], submission: str, restart: int
) -> dict[str, Any]:
    """Return the MPIJob of a run.

    Args:
        run: the run.
        environment: where it runs, with Kubernetes.
        owner: the ownerReference: the job that waits for it.
        submission: what this submission is called.
        restart: how often the JobSet had started before.
    """
    kubernetes = environment.kubernetes
    assert kubernetes is not None
    known = labels(run, submission)
    policy: dict[str, Any] = {
        # Workers would wait for ever for another login.
        "cleanPodPolicy": "Running",
        "ttlSecondsAfterFinished": KEPT_SECONDS,
        # The JobSet decides whether it goes on.
        "backoffLimit": 0,
    }
    if kubernetes.local_queue:
        known[QUEUE_LABEL] = kubernetes.local_queue
        policy["suspend"] = True
    launcher = _launcher(run, environment, submission, restart)
    worker = _worker(run, environment)
    nodes = run.hardware.nodes
    return {
        "apiVersion": "kubeflow.org/v2beta1",
        "kind": "MPIJob",
        "metadata": {
            "name": job_set_name(run.name),
            "namespace": kubernetes.namespace,
            "labels": known,
            "ownerReferences": [dict(owner)],
        },
        "spec": {
            "slotsPerWorker": 1,
            "mpiImplementation": "OpenMPI",
            "launcherCreationPolicy": "WaitForWorkersReady",
            "sshAuthMountPath": f"{HOME}/.ssh",
            "runPolicy": policy,
            "mpiReplicaSpecs": {
                "Launcher": _replicas(1, pod_template(run, environment, launcher, submission)),
                "Worker": _replicas(nodes, pod_template(run, environment, worker, submission)),
            },
        },
    }


def _replicas(number: int, template: dict[str, Any]) -> dict[str, Any]:
    # The operator has the policy here, and warns of one in the pod.
    del template["spec"]["restartPolicy"]
    return {"replicas": number, "restartPolicy": "Never", "template": template}


def _launcher(run: WorkerRun, environment: Environment, submission: str, restart: int) -> Pod:
    """Return the pod that runs the stages' scripts, each of which starts its work on all workers."""
    return Pod(
        stage="train",
        command=("/bin/bash", str(script(run, "compile"))),
        placement=watcher_placement(run, environment),
        grace_seconds=worker_grace_seconds(run, environment),
        deadline_seconds=worker_deadline_seconds(run, environment),
        environment={
            "SLIPWAY_SUBMISSION": submission,
            "SLIPWAY_RESTART": str(restart),
            "SLIPWAY_NODES": str(run.hardware.nodes),
            "SLIPWAY_NODE": field("spec.nodeName"),
        },
    )


def _worker(run: WorkerRun, environment: Environment) -> Pod:
    """Return a pod with a node's devices and an sshd. Before that one ends, what was started by it has to stop."""
    grace = worker_grace_seconds(run, environment)
    return Pod(
        stage="train",
        command=("/usr/sbin/sshd", "-De", "-f", f"{HOME}/.sshd_config"),
        placement=worker_placement(run, environment),
        grace_seconds=grace,
        # It starts before the launcher and has to outlive it.
        deadline_seconds=worker_deadline_seconds(run, environment) + grace,
        environment={},
        container={
            "ports": [{"containerPort": SSH_PORT, "name": "ssh"}],
            "readinessProbe": {"tcpSocket": {"port": "ssh"}, "periodSeconds": 5},
            "lifecycle": {"preStop": {"exec": {"command": ["/bin/bash", str(node_script(run)), "stop"]}}},
        },
    )
