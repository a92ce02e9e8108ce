"""What the train pod of a run's JobSet does where mpirun starts the training: it makes an MPIJob and ends as that ends.

    python -m slipway_jobs.kubernetes.mpi_run RUN_JSON

The pod's manifest sets SLIPWAY_SUBMISSION and SLIPWAY_RESTART (as for chain.attempt), and JOB_NAME and JOB_UID: the
pod's own Job, which owns the MPIJob. Exit status: 0 finished, `STOPPED_STATUS` stopped and to be started again, else
failed.

MPIJob's conditions and labels: kubeflow/mpi-operator 0.8.2, pkg/apis/kubeflow/v2beta1.
"""

from __future__ import annotations

import contextlib
import os
import signal
import sys
import time
from collections.abc import Callable, Sequence
from functools import partial
from pathlib import Path
from types import FrameType
from typing import Any, NoReturn, TypeVar

from slipway_jobs.chain.record import Attempt, read_attempts, submission_job
from slipway_jobs.chain.scheduler import SchedulerError
from slipway_jobs.chain.scripts import STOPPED_STATUS
from slipway_jobs.environment import read_environment
from slipway_jobs.kubernetes.api import MPI_JOBS, PODS, Api, ApiError, Object
from slipway_jobs.kubernetes.manifests import job_set_name, mpi_job
from slipway_jobs.run import Stage, WorkerRun, read_worker_run

T = TypeVar("T")

POLL_SECONDS = 10.0
"""How often it looks at the MPIJob."""

SILENCE_SECONDS = 900.0
"""How long the API may be away before this pod gives up watching: an upgrade of a control plane takes minutes."""

GONE_SECONDS = 120.0
"""How long the MPIJob of an earlier start may take to end, beyond the time in which its workers may still write a
checkpoint."""

LAUNCHER = "training.kubeflow.org/job-name={},training.kubeflow.org/job-role=launcher"
"""Label selector of the pods in which mpirun runs."""


class Stopped(Exception):  # noqa: N818 (a signal, not an error)
    """The pod was asked to end."""


def run_mpi_job(run: WorkerRun, api: Api, manifest: Object) -> int:
    """Create a run's MPIJob, wait for its end, and return this pod's exit status.

    Raises:
        Stopped: from the signal handler, at any point.
        SchedulerError: the API refuses, or is away for `SILENCE_SECONDS`.
    """
    name, owner = manifest["metadata"]["name"], manifest["metadata"]["ownerReferences"][0]["uid"]
    if run.done_file("train").exists():
        _say("finished already")
        return 0
    _make(api, manifest, name, owner)
    shown = ""
    while True:
        found = _patiently(lambda: api.get(MPI_JOBS, name))
        state = _state(found)
        if state != shown:
            _say(f"MPIJob {name}: {state}")
            shown = state
        if found is None or state.startswith(("Succeeded", "Failed")):
            return outcome(run, os.environ["SLIPWAY_SUBMISSION"], int(os.environ["SLIPWAY_RESTART"]))
        time.sleep(POLL_SECONDS)


def outcome(run: WorkerRun, submission: str, restart: int) -> int:
    """Return the exit status for how the launcher ended, by what its scripts wrote down in this start of the JobSet.

    The Job's conditions tell less: a launcher that was stopped has failed for Kubernetes. One that began and never said
    how it ended went away with its node, which is no failure of the training; `chain.attempt` counts it when that
    happens again and again.
    """
    if run.done_file("train").exists():
        return 0
    last = _last_attempt(run, submission, restart)
    if last is not None and last.outcome in ("stopped", None):
        return STOPPED_STATUS
    return 1


def stop(api: Api, name: str) -> None:
    """End an MPIJob so that a checkpoint is saved: its launcher first, while the workers still run.

    The launcher's script tells all workers to save and ends when they have; the pod's own grace period bounds that.

    Raises:
        SchedulerError: the API does not answer or refuses.
    """
    for launcher in _launchers(api, name):
        _patiently(partial(api.delete, PODS, launcher))
    while _launchers(api, name):
        time.sleep(POLL_SECONDS)
    _patiently(lambda: api.delete(MPI_JOBS, name))


def _launchers(api: Api, name: str) -> list[str]:
    pods = _patiently(lambda: api.list_labelled(PODS, LAUNCHER.format(name)))
    return [pod["metadata"]["name"] for pod in pods]


def _make(api: Api, manifest: Object, name: str, owner: str) -> None:
    """Create the MPIJob after the end of one of an earlier start.

    Raises:
        SchedulerError: the API refuses or does not answer, or the earlier one does not end.
    """
    there = _patiently(lambda: api.get(MPI_JOBS, name))
    if there is not None and not _is_owned(there, owner):
        _say(f"MPIJob {name} of an earlier start ends")
        _patiently(lambda: api.delete(MPI_JOBS, name))
        worker = manifest["spec"]["mpiReplicaSpecs"]["Worker"]["template"]["spec"]
        seconds = worker["terminationGracePeriodSeconds"] + GONE_SECONDS
        if not _patiently(lambda: api.wait_gone(MPI_JOBS, name, seconds)):
            raise SchedulerError(f"the MPIJob {name} of an earlier start did not end in {seconds:.0f} s")
        there = None
    if there is None:
        _patiently(lambda: _create(api, manifest))


def _create(api: Api, manifest: Object) -> None:
    """Create an object; one that is there was created by a call whose answer was lost.

    Raises:
        ApiError: the API refuses or does not answer.
    """
    try:
        api.create(MPI_JOBS, manifest)
    except ApiError as error:
        if error.status != 409:
            raise


def _patiently(call: Callable[[], T]) -> T:
    """Make a call of the API, over a time in which it does not answer.

    Raises:
        ApiError: the API refuses, or is away for `SILENCE_SECONDS`.
    """
    end = time.monotonic() + SILENCE_SECONDS
    while True:
        try:
            return call()
        except ApiError as error:
            if error.refused or time.monotonic() >= end:
                raise
            _say(f"{error}; trying again")
        time.sleep(POLL_SECONDS)


def _is_owned(found: Object, owner: str) -> bool:
    metadata = found["metadata"]
    owners = [one["uid"] for one in metadata.get("ownerReferences", [])]
    return owner in owners and "deletionTimestamp" not in metadata


def _state(found: Object | None) -> str:
    """Return how an MPIJob is, by the condition that became true last."""
    if found is None:
        return "was deleted"
    conditions = [one for one in found.get("status", {}).get("conditions", []) if one["status"] == "True"]
    for kind in ("Failed", "Succeeded", "Suspended", "Running"):
        for one in conditions:
            if one["type"] == kind:
                return f"{kind}: {' '.join(one.get('message', '').split())}"
    return "waits for its workers"


def _last_attempt(run: WorkerRun, submission: str, restart: int) -> Attempt | None:
    stages: tuple[Stage, ...] = ("compile", "train")
    attempts = [
        one
        for stage in stages
        for one in read_attempts(run, stage)
        if one.job == submission_job(submission, stage) and one.restart == restart
    ]
    return max(attempts, key=lambda one: one.started, default=None)


def _owner() -> dict[str, Any]:
    """Return the reference to this pod's Job.

    It is not the MPIJob's controller, or Kueue would not count its nodes. When the Job is deleted, the garbage
    collector ends launcher and workers at the same time as this pod: a worker then lets its work end before its sshd
    does (its `preStop`), whoever asks first.
    """
    job = {"apiVersion": "batch/v1", "kind": "Job", "name": os.environ["JOB_NAME"], "uid": os.environ["JOB_UID"]}
    return job | {"controller": False, "blockOwnerDeletion": False}


def _on_signal(_number: int, _frame: FrameType | None) -> NoReturn:
    # Once: what follows is the orderly end.
    signal.signal(signal.SIGTERM, signal.SIG_IGN)
    raise Stopped


def _say(message: str) -> None:
    print(time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime()), message, file=sys.stderr, flush=True)


def main(arguments: Sequence[str]) -> int:
    """Run the MPIJob of the run whose file is given; the exit status says how it ended."""
    run = read_worker_run(Path(arguments[0]))
    environment = read_environment(Path(run.environment_file))
    if environment.kubernetes is None:
        _say(f"FAILED: {run.environment_file} describes no Kubernetes cluster")
        return 1
    submission, restart = os.environ["SLIPWAY_SUBMISSION"], int(os.environ["SLIPWAY_RESTART"])
    api = Api(environment.kubernetes.namespace)
    try:
        signal.signal(signal.SIGTERM, _on_signal)
        return run_mpi_job(run, api, mpi_job(run, environment, _owner(), submission, restart))
    except Stopped:
        _say("asked to end: the launcher saves a checkpoint")
        try:
            stop(api, job_set_name(run.name))
        except SchedulerError as error:
            _say(f"{error}; the MPIJob ends with this pod's Job")
        return STOPPED_STATUS
    except SchedulerError as error:
        _say(f"FAILED: {error}")
        # A failed Job that is kept would keep the MPIJob, and its nodes.
        with contextlib.suppress(SchedulerError):
            api.delete(MPI_JOBS, job_set_name(run.name))
        return 1


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
