"""How the stages of a run are, by its JobSet, its pods and Kueue's workloads."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from slipway_jobs.chain.scheduler import JobState, Pod
from slipway_jobs.kubernetes.api import Object
from slipway_jobs.kubernetes.manifests import STAGE_LABEL
from slipway_jobs.run import STAGES, Stage

_EXPLAINED = {
    "Unschedulable": "waits for free nodes, or for the autoscaler to start them",
    "SchedulingGated": "waits until all of the run can start",
    "ContainerCreating": "its node fetches the image and mounts /fsx",
    "PodInitializing": "its node prepares it",
    "ErrImagePull": "the training image cannot be fetched",
    "ImagePullBackOff": "the training image cannot be fetched",
    "InvalidImageName": "the training image's name is wrong",
    "CreateContainerConfigError": "its manifest names what is not there",
}
"""Frequent reasons of a pod that does not run, in plain words: conditions and waiting states of the core/v1 API and of
the kubelet."""


def ended(job_set: Object) -> bool:
    """Tell whether a JobSet has completed or failed: the controller then leaves it alone."""
    return any(_is_true(job_set, kind) for kind in ("Completed", "Failed"))


def job_states(
    job_set: Object, pods: Sequence[Object], workloads: Sequence[Object], stages: Sequence[Stage]
) -> dict[Stage, JobState]:
    """Tell how stages are.

    Args:
        job_set: the run's JobSet.
        pods: its pods, and those of its MPIJob.
        workloads: Kueue's workloads for it; none without Kueue.
        stages: its stages that have not finished.
    """
    todo = [stage for stage in STAGES if stage in stages]
    if not todo:
        return {}
    first, *later = todo
    if _is_true(job_set, "Completed"):
        # Without the stage's file its work was not done.
        return dict.fromkeys(todo, JobState("failed", "Completed"))
    if _is_true(job_set, "Failed"):
        failed = next((stage for stage in todo if _replicated_job(stage) in _failed(job_set)), first)
        after = JobState("cancelled", "Failed", "a stage before it failed")
        message = " ".join(_condition(job_set, "Failed").get("message", "").split())
        return dict.fromkeys(todo, after) | {failed: JobState("failed", "Failed", message or None)}
    if "deletionTimestamp" in job_set["metadata"]:
        ending = _placed(pods, first)
        now = JobState("running", "Terminating", pods=ending) if ending else JobState("cancelled", "Terminating")
        return dict.fromkeys(later, JobState("cancelled", "Terminating")) | {first: now}
    waits = JobState("waiting", "Waiting", "waits for the stage before")
    return dict.fromkeys(later, waits) | {first: _under_way(job_set, _of(pods, first), workloads)}


def _under_way(job_set: Object, pods: Sequence[Object], workloads: Sequence[Object]) -> JobState:
    """Tell how the stage is that the JobSet is in."""
    if queued := next(_queued(workloads), None):
        return JobState("pending", "Queued", queued)
    if job_set["spec"].get("suspend"):
        return JobState("pending", "Suspended", "its JobSet is suspended: kubectl patch, or Kueue, lets it go on")
    active = [pod for pod in pods if pod["status"].get("phase") in ("Pending", "Running")]
    placed = tuple(_pod(pod) for pod in active if pod["spec"].get("nodeName"))
    for pod in active:
        if pod["status"]["phase"] == "Pending":
            word, reason = _why_pending(pod)
            return JobState("pending", word, reason, placed)
    if active:
        return JobState("running", "Running", pods=placed)
    return JobState("pending", "Starting", "its pods are not made yet")


def _why_pending(pod: Object) -> tuple[str, str]:
    status = pod["status"]
    waiting = [
        one["state"]["waiting"]
        for one in [*status.get("initContainerStatuses", []), *status.get("containerStatuses", [])]
        if "waiting" in one.get("state", {})
    ]
    conditions = status.get("conditions", [])
    unplaced = [one for one in conditions if one["type"] == "PodScheduled" and one["status"] != "True"]
    for one in [*unplaced, *waiting]:
        word = one.get("reason", "Pending")
        said = [text for text in (_EXPLAINED.get(word), one.get("message")) if text]
        return word, " ".join(": ".join([word, *said]).split())
    return "Pending", "Pending: its node has not begun with it"


def _queued(workloads: Sequence[Object]) -> Iterator[str]:
    """Give why Kueue does not let a workload start; its conditions: kueue.sigs.k8s.io/docs/concepts/workload."""
    for one in workloads:
        if not _is_true(one, "Admitted") and not _is_true(one, "Finished"):
            message = _condition(one, "QuotaReserved").get("message", "")
            yield " ".join(f"Kueue: {message or 'has not looked at it yet'}".split())


def _replicated_job(stage: Stage) -> Stage:
    """Return the replicated job of a stage: the nodes of train compile first."""
    return "train" if stage == "compile" else stage


def _failed(job_set: Object) -> set[str]:
    rows = job_set.get("status", {}).get("replicatedJobsStatus", [])
    return {row["name"] for row in rows if row.get("failed", 0) > 0}


def _of(pods: Sequence[Object], stage: Stage) -> list[Object]:
    return [pod for pod in pods if pod["metadata"]["labels"].get(STAGE_LABEL) == _replicated_job(stage)]


def _placed(pods: Sequence[Object], stage: Stage) -> tuple[Pod, ...]:
    own = _of(pods, stage)
    return tuple(_pod(pod) for pod in own if pod["status"].get("phase") == "Running" and pod["spec"].get("nodeName"))


def _pod(pod: Object) -> Pod:
    return Pod(pod["metadata"]["name"], pod["metadata"]["namespace"], pod["spec"]["nodeName"])


def _condition(found: Object, kind: str) -> Object:
    conditions = found.get("status", {}).get("conditions", [])
    return next((one for one in conditions if one["type"] == kind), {})


def _is_true(found: Object, kind: str) -> bool:
    return _condition(found, kind).get("status") == "True"
