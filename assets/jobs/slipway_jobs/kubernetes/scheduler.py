"""Kubernetes as a run's scheduler: one JobSet holds the jobs of all stages that are to do."""

from __future__ import annotations

import contextlib
import secrets
import time
from collections.abc import Mapping, Sequence
from typing import Literal

import yaml

from slipway_jobs.chain.record import submission_job
from slipway_jobs.chain.scheduler import Answer, Job, OutcomeUnknownError, Record, SchedulerError
from slipway_jobs.chain.scripts import render
from slipway_jobs.environment import Environment, Kubernetes
from slipway_jobs.kubernetes.api import JOB_SETS, MPI_JOBS, PAUSE_SECONDS, PODS, WORKLOADS, Api, ApiError, Object
from slipway_jobs.kubernetes.job_states import ended, job_states
from slipway_jobs.kubernetes.manifests import RUN_LABEL, SUBMISSION_LABEL, job_set, job_set_name
from slipway_jobs.run import Run, Stage

CLEAR_SECONDS = 120.0
"""How long the deletion of an ended JobSet may take: its pods run no more."""

LOOKS = 5
"""How often it is looked whether a JobSet is there whose creation was not answered."""


class KubernetesScheduler:
    """The cluster that this pod is in."""

    key: Literal["kubernetes"] = "kubernetes"
    name = "Kubernetes"

    def __init__(self, settings: Kubernetes) -> None:
        self._api = Api(settings.namespace)
        self._queues = settings.local_queue is not None
        self._by_mpi = settings.launcher == "mpi"

    def unfinished_jobs(self, run: str) -> list[Job]:
        """Return the run's JobSet where it has not ended, or is being deleted.

        Raises:
            ApiError: the API does not answer or refuses.
        """
        found = self._api.get(JOB_SETS, job_set_name(run))
        if found is None or (ended(found) and "deletionTimestamp" not in found["metadata"]):
            return []
        return [_job(found)]

    def clear(self, run: str) -> None:
        """Delete the run's ended JobSet: there is one of a name at most.

        Raises:
            SchedulerError: it is not gone in time.
            ApiError: the API does not answer or refuses.
        """
        name = job_set_name(run)
        if self._api.delete(JOB_SETS, name) and not self._api.wait_gone(JOB_SETS, name, CLEAR_SECONDS):
            message = f"the JobSet {name} of an earlier submission is still being deleted after {CLEAR_SECONDS:.0f} s"
            raise SchedulerError(f"{message}: try again, or see what keeps it: kubectl describe jobset {name}")

    def submit(self, run: Run, environment: Environment, todo: Sequence[Stage], record: Record) -> None:
        """Create the run's JobSet in one call, after its jobs are written down.

        So a process that is killed leaves nothing that nobody knows of, also where Kueue starts the JobSet: if it is
        killed before the call, jobs are written down that never were, and `status` shows them as cancelled.

        Raises:
            OutcomeUnknownError: the API went away before it said whether the JobSet is there.
            SchedulerError: the cluster cannot run the training as MPI jobs; nothing is created.
            ApiError: the API refuses; nothing is created.
        """
        if self._by_mpi and "train" in todo and not self._api.knows(MPI_JOBS, job_set_name(run.name)):
            # Else the run would prepare its data, and fail when the train pod creates the MPIJob.
            message = f"the cluster has no {MPI_JOBS.plural}.{MPI_JOBS.group} of version {MPI_JOBS.version}, which"
            message += " `launcher: mpi` needs: the MPI operator is not installed. Deploy the environment again, or"
            raise SchedulerError(f"{message} write `launcher: torchrun` in the `kubernetes` section of its file first")
        submission = secrets.token_hex(4)
        record({stage: submission_job(submission, stage) for stage in todo})
        manifest = job_set(run, environment, todo, submission)
        try:
            self._api.create(JOB_SETS, manifest)
        except ApiError as error:
            if error.refused:
                raise
            self._find(job_set_name(run.name), submission, error)
        except BaseException:
            with contextlib.suppress(ApiError):
                self._api.delete(JOB_SETS, job_set_name(run.name))
            raise

    def cancel(self, run: str) -> list[Job]:
        """Delete the run's JobSet where it has not ended; its pods save a checkpoint before they go.

        Raises:
            ApiError: the API does not answer or refuses.
        """
        jobs = self.unfinished_jobs(run)
        for job in jobs:
            self._api.delete(JOB_SETS, job.name)
        return jobs

    def preview(self, run: Run, environment: Environment, todo: Sequence[Stage]) -> str:
        """Return the scripts and the JobSet."""
        parts = [f"# ---- {file}\n{text}\n" for file, text in render(run, environment).items()]
        if todo:
            manifest = yaml.safe_dump(job_set(run, environment, todo, "SUBMISSION"), sort_keys=False)
            parts.append(f"# ---- JobSet\n{manifest}")
        return "".join(parts)

    def ask(self, jobs: Mapping[str, tuple[Run, Stage]]) -> Answer:
        """Return what JobSets, pods and Kueue's workloads say of these jobs.

        A JobSet that is gone was deleted: nothing else removes one that has not ended.
        """
        if not jobs:
            return Answer(forgotten="cancelled")
        try:
            job_sets = self._api.list_labelled(JOB_SETS, RUN_LABEL)
            pods = self._api.list_labelled(PODS, RUN_LABEL)
            workloads = self._api.list_labelled(WORKLOADS, "") if self._queues else []
        except ApiError as error:
            return Answer(forgotten="cancelled", error=str(error))
        found = {}
        for one in job_sets:
            submission = one["metadata"]["labels"].get(SUBMISSION_LABEL, "")
            own_pods = [pod for pod in pods if pod["metadata"]["labels"].get(SUBMISSION_LABEL) == submission]
            open_stages = [stage for job, (_, stage) in jobs.items() if job == submission_job(submission, stage)]
            for stage, state in job_states(one, own_pods, _workloads_of(one, workloads), open_stages).items():
                found[submission_job(submission, stage)] = state
        return Answer(found, forgotten="cancelled")

    def _find(self, name: str, submission: str, error: ApiError) -> None:
        """See whether a JobSet is there whose creation was not answered.

        Raises:
            ApiError: it is not, so nothing was created.
            OutcomeUnknownError: the API still does not answer.
        """
        for _ in range(LOOKS):
            time.sleep(PAUSE_SECONDS)
            try:
                found = self._api.get(JOB_SETS, name)
            except ApiError as again:
                if again.refused:
                    raise
                continue
            if found is None or found["metadata"].get("labels", {}).get(SUBMISSION_LABEL) != submission:
                raise error
            return
        raise OutcomeUnknownError(str(error)) from None


def _job(found: Object) -> Job:
    metadata = found["metadata"]
    state = "active"
    if "deletionTimestamp" in metadata:
        state = "ending"
    elif found["spec"].get("suspend"):
        state = "suspended"
    return Job(metadata.get("labels", {}).get(SUBMISSION_LABEL, "unknown"), metadata["name"], state, None)


def _workloads_of(found: Object, workloads: Sequence[Object]) -> list[Object]:
    """Return Kueue's workloads of a JobSet and of its MPIJob, which has the same name."""
    name = found["metadata"]["name"]
    return [
        one for one in workloads if any(owner["name"] == name for owner in one["metadata"].get("ownerReferences", []))
    ]
