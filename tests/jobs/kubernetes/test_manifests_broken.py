"""An MPIJob with a mistake is refused; for JobSets, see tests/kubernetes/test_job_manifests.py."""

from __future__ import annotations

from typing import Any

import pytest

from slipway_jobs.kubernetes.manifests import mpi_job
from tests.jobs.kubernetes.manifest_case import OWNER, placed
from tests.kubernetes.manifest_validation import errors_of

REPLICAS = ("spec", "mpiReplicaSpecs")
WORKER = (*REPLICAS, "Worker")
POD = (*WORKER, "template", "spec")
CONTAINER = (*POD, "containers", 0)


def made() -> dict[str, Any]:
    run, environment = placed("llama-3-8b", "mpi", local_queue="jobs")
    return mpi_job(run, environment, OWNER, "s", 0)


def test_the_whole_one_is_taken() -> None:
    assert errors_of(made(), "1.35") == []


@pytest.mark.parametrize(
    ("path", "value"),
    [
        (("spec", "slots"), 1),
        (("spec", "slotsPerWorker"), "one"),
        (("spec", "mpiImplementation"), "openmpi"),
        (("spec", "launcherCreationPolicy"), "WaitForWorkers"),
        (("spec", "sshAuthMountPath"), ""),
        (("spec", "runPolicy", "cleanPodPolicy"), "Finished"),
        (("spec", "runPolicy", "backoffLimit"), -1),
        (("spec", "runPolicy", "retries"), 1),
        ((*REPLICAS, "worker"), {}),
        ((*REPLICAS, "Launcher", "replicas"), 2),
        ((*WORKER, "replicas"), 0),
        ((*WORKER, "restartPolicy"), "Always"),
        ((*POD, "containers"), []),
        ((*POD, "nodeSelectors"), {}),
        ((*POD, "volumes", 0, "persistentVolumeClaims"), {}),
        ((*CONTAINER, "lifecycle", "beforeStop"), {}),
        ((*CONTAINER, "securityContext", "capability"), {}),
    ],
)
def test_a_broken_one_is_refused(path: tuple[str | int, ...], value: object) -> None:
    manifest = made()
    place: Any = manifest
    for part in path[:-1]:
        place = place[part]
    place[path[-1]] = value

    assert errors_of(manifest, "1.35") != []
