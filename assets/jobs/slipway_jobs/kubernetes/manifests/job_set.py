"""The JobSet of a run: its stages, each of which begins when the one before has ended well.

Fields and their rules are those of JobSet 0.12 (kubernetes-sigs/jobset, api/jobset/v1alpha2/jobset_types.go and
pkg/webhooks/jobset_webhook.go). Pods compile and train in one job: so the nodes stay, and Kueue counts them once.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from slipway_jobs.chain.scripts import OTHER_STAGES_HOURS, STOPPED_STATUS, grace_seconds, script
from slipway_jobs.environment import Environment
from slipway_jobs.kubernetes.manifests.names import CONTAINER, QUEUE_LABEL, job_set_name
from slipway_jobs.kubernetes.manifests.placement import single_placement, watcher_placement, worker_placement
from slipway_jobs.kubernetes.manifests.pods import (
    KEPT_SECONDS,
    Pod,
    field,
    labels,
    pod_template,
    worker_deadline_seconds,
    worker_grace_seconds,
)
from slipway_jobs.run import Run, Stage, WorkerRun

WORK = "train"
"""The replicated job that compiles and trains."""

DISRUPTION: dict[str, Any] = {"onPodConditions": [{"type": "DisruptionTarget", "status": "True"}]}
"""A pod that had to leave its node: eviction, drain, Spot interruption, a lost node."""


def job_set(run: Run, environment: Environment, todo: Sequence[Stage], submission: str) -> dict[str, Any]:
    """Return the JobSet of a run.

    Args:
        run: the run.
        environment: where it runs, with Kubernetes.
        todo: stages to do, one at least; what is done before is not looked at again.
        submission: what this submission is called.
    """
    kubernetes = environment.kubernetes
    assert kubernetes is not None
    jobs = _jobs(run, environment, todo, submission)
    spec: dict[str, Any] = {
        # Pods find each other on /fsx: they need no names, and no service that gives them.
        "network": {"enableDNSHostnames": False},
        "successPolicy": {"operator": "All"},
        "failurePolicy": _failure_policy(run, list(jobs)),
        "ttlSecondsAfterFinished": KEPT_SECONDS,
        "replicatedJobs": [
            _replicated_job(name, template, before)
            for (name, template), before in zip(jobs.items(), [None, *jobs], strict=False)
        ],
    }
    known = labels(run, submission)
    # By mpirun, the MPIJob queues: as a child of what queues it would not be counted (kueue, pkg/controller/
    # jobframework: FindAncestorJobManagedByKueue).
    if kubernetes.local_queue and kubernetes.launcher == "torchrun":
        known[QUEUE_LABEL] = kubernetes.local_queue
        spec["suspend"] = True
    return {
        "apiVersion": "jobset.x-k8s.io/v1alpha2",
        "kind": "JobSet",
        "metadata": {"name": job_set_name(run.name), "namespace": kubernetes.namespace, "labels": known},
        "spec": spec,
    }


def _jobs(run: Run, environment: Environment, todo: Sequence[Stage], submission: str) -> dict[str, dict[str, Any]]:
    """Return the job templates by the names of their replicated jobs."""
    jobs: dict[str, dict[str, Any]] = {}
    for stage in todo:
        if stage not in ("compile", "train"):
            pods = pod_template(run, environment, _single_pod(run, environment, stage, submission), submission)
            jobs[stage] = _job_template(pods, 1, [{"action": "Ignore", **DISRUPTION}])
        elif WORK not in jobs and isinstance(run, WorkerRun):
            by_mpi = environment.kubernetes is not None and environment.kubernetes.launcher == "mpi"
            pod = (_mpi_pod if by_mpi else _worker_pod)(run, environment, submission)
            pods = pod_template(run, environment, pod, submission)
            stopped = {"containerName": CONTAINER, "operator": "In", "values": [STOPPED_STATUS]}
            rules: list[dict[str, Any]] = [{"action": "FailJob", "onExitCodes": stopped}]
            rules.append({"action": "FailJob", **DISRUPTION})
            jobs[WORK] = _job_template(pods, 1 if by_mpi else run.hardware.nodes, rules)
    return jobs


def _replicated_job(name: str, template: dict[str, Any], before: str | None) -> dict[str, Any]:
    job = {"name": name, "replicas": 1, "template": template}
    return job | ({"dependsOn": [{"name": before, "status": "Complete"}]} if before else {})


def _failure_policy(run: Run, jobs: Sequence[str]) -> dict[str, Any]:
    """Return when a failed job starts the whole again. A stop does not count, a failure of the training does.

    A job whose pods ended as `podFailurePolicy` says has the reason `PodFailurePolicy`. All pods of the old start are
    gone before one of the new start is there: they may still be writing a checkpoint.
    """
    rules: list[dict[str, Any]] = []
    if WORK in jobs:
        rules = [
            {
                "name": "stopped",
                "action": "RestartJobSetAndIgnoreMaxRestarts",
                "onJobFailureReasons": ["PodFailurePolicy"],
                "targetReplicatedJobs": [WORK],
            },
            {"name": "failed", "action": "RestartJobSet", "targetReplicatedJobs": [WORK]},
        ]
    rules.append({"name": "otherStages", "action": "FailJobSet"})
    return {"maxRestarts": run.restart_limit, "restartStrategy": "BlockingRecreate", "rules": rules}


def _job_template(pods: dict[str, Any], nodes: int, rules: list[dict[str, Any]]) -> dict[str, Any]:
    """Return a job with one pod for each node, which is not started again by itself."""
    return {
        "spec": {
            "parallelism": nodes,
            "completions": nodes,
            "completionMode": "Indexed",
            "backoffLimit": 0,
            "podReplacementPolicy": "Failed",
            "podFailurePolicy": {"rules": rules},
            "template": pods,
        }
    }


def _single_pod(run: Run, environment: Environment, stage: Stage, submission: str) -> Pod:
    return Pod(
        stage=stage,
        command=("/bin/bash", str(script(run, stage))),
        placement=single_placement(run, environment),
        grace_seconds=grace_seconds(run, environment) + 60,
        deadline_seconds=OTHER_STAGES_HOURS * 3600,
        environment=_known_to_pods(submission, 1),
    )


def _worker_pod(run: WorkerRun, environment: Environment, submission: str) -> Pod:
    return Pod(
        stage=WORK,
        command=("/bin/bash", str(script(run, "compile"))),
        placement=worker_placement(run, environment),
        grace_seconds=worker_grace_seconds(run, environment),
        deadline_seconds=worker_deadline_seconds(run, environment),
        environment=_known_to_pods(submission, run.hardware.nodes)
        | {"POD_UID": field("metadata.uid"), "POD_ADDRESS": field("status.podIP")},
    )


def _mpi_pod(run: WorkerRun, environment: Environment, submission: str) -> Pod:
    """Return the pod that has the MPIJob do the work. It has no deadline: the MPIJob may wait for nodes for days."""
    return Pod(
        stage=WORK,
        command=(run.kit_python, "-m", "slipway_jobs.kubernetes.mpi_run", str(run.file)),
        placement=watcher_placement(run, environment),
        # It ends the launcher's pod first, and tidies up after it.
        grace_seconds=worker_grace_seconds(run, environment) + 120,
        deadline_seconds=None,
        environment=_known_to_pods(submission, run.hardware.nodes)
        | {
            "POD_NAME": field("metadata.name"),
            "JOB_NAME": field("metadata.labels['batch.kubernetes.io/job-name']"),
            "JOB_UID": field("metadata.labels['batch.kubernetes.io/controller-uid']"),
            "SLIPWAY_ENVIRONMENT": run.environment_file,
            "AWS_DEFAULT_REGION": run.region,
            "PYTHONPATH": run.kit_directory,
            "PYTHONUNBUFFERED": "1",
        },
        api_token=True,
    )


def _known_to_pods(submission: str, nodes: int) -> dict[str, str | Mapping[str, Any]]:
    return {
        "SLIPWAY_SUBMISSION": submission,
        "SLIPWAY_RESTART": field("metadata.labels['jobset.sigs.k8s.io/restart-attempt']"),
        "SLIPWAY_NODES": str(nodes),
        "SLIPWAY_NODE": field("spec.nodeName"),
    }
